// Package brokersync is the synchronizer: every second or so it asks the broker for its own state and turns the difference with the
// lifecycle store into events. It sees what no line says: deliveries that nobody answered, leases that ran out, messages that left
// the stream without a word, subjects that nobody serves, and publishes whose line was lost.
//
// It only says what is proved. One poll asks in this order, because each answer bounds the next: consumers, stream, positions of the
// collectors (all lines captured before that are stored, or the poll knows up to when they are), store. A decision that needs
// missing knowledge waits for a later poll. All times are the broker's. Ids of events derive from what decided them, their time included,
// so that another replica, or the next start, finds the same events. Where only a look bounds the time, two replicas may date one conclusion
// apart; then it is two events, of which the facts keep what both prove.
//
// What it concludes is a pure function, [Rules.Step]: from the state after the poll before, one [Observation] of the broker and the
// [Facts] of the store it makes the events, the next state, and the [Questions] that must be answered first. observe.go and answer.go
// do all the asking; poll.go steps until no question is left, then commits. testdata/scenarios shows what follows from what.
package brokersync
