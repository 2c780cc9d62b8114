// Package sessions keeps people signed in. A cookie names a session, and the session says who its owner is. With a store all replicas know the
// sessions, and they outlast a restart; each replica holds them in memory, follows the store every second, and needs it to begin or to end one.
//
// It is a map and a cookie of its own because the store of alexedwards/scs starts a goroutine that cannot be stopped safely: the channel
// that stops it is made by that goroutine.
package sessions
