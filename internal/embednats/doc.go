// Package embednats runs nats-server with JetStream inside the process, configured for one fleet: an account that imports its own
// task subjects, so that every publish attempt is seen, and a listener for agents that live elsewhere.
package embednats
