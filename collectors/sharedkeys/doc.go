// Package sharedkeys finds messages of several tasks that have one idempotency key, and tells each of these tasks what became of the
// others. It stands between the collectors and the store ([Wrap]), because nothing that crosses the wire says that two tasks are one piece of work.
package sharedkeys
