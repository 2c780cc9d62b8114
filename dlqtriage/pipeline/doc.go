// Package pipeline does on the broker what actions on dead letters decided (SPEC 5, "Pipeline").
//
// A retry goes three ways. The relay claims its effect and parks a message in the stream RETRY. The sender takes that message when it is due,
// takes the effect over from the relay, publishes to the stream of tasks, and settles the effect. Each step may be repeated: whoever takes a
// step again finds out first whether it was taken.
//
// The store is the truth. A parked message says which effect is due and nothing else: where it is lost, the relay claims the effect again and
// parks another one; where there are two, the second one finds the effect settled.
package pipeline
