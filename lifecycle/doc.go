// Package lifecycle is the centre of Fleetglass: what can happen to a message, what a set of observations proves about it, and the
// questions people ask of that. It imports the standard library only.
//
// Observations become events ([Event]). Events are joined into facts ([MessageFacts], [TaskFacts]): a join is commutative,
// associative and idempotent, because captures arrive late, repeated, and in any order. Only then are facts judged
// ([Judge]): one ordered table gives the state. Nothing here reads a clock: callers pass now where a rule needs it.
//
// The unit of storage is the message (stream and sequence). The unit of display is the task: all messages with one task id,
// in generation order.
package lifecycle
