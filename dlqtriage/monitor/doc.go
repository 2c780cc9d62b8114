// Package monitor makes sure that each message that died is in the dead-letter queue once, with all that is needed to decide about it.
//
// A death that the store proves becomes an effect of the queue [Queue] (package decision). Whoever claims the effect looks whether an entry exists,
// publishes one on the condition that nothing was added to the queue since it looked, and then removes the message from the stream of tasks
// where nobody will take it any more. The condition, and not the window in which the broker catches repeated ids, makes the entry single: crashes,
// replicas and another monitor at any distance of time change nothing about it.
package monitor
