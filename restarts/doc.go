// Package restarts groups the messages that were in hand when something went away: Fleetglass, the broker, or workers. It follows each of them until it is
// known again what became of it, and so measures how long the fleet took to recover (SPEC 3).
//
// The scan runs at the start of the program, before anything new is taken in, and then all the time. It decides nothing: what may be done with a message is
// the decision of recovery in package dlqtriage.
package restarts
