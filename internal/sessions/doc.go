// Package sessions keeps people signed in. A cookie names a session, and the session says who its owner is. Sessions are kept in memory:
// after a restart people sign in again.
//
// It is a map and a cookie of its own because the store of alexedwards/scs starts a goroutine that cannot be stopped safely: the channel
// that stops it is made by that goroutine.
package sessions
