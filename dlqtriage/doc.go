// Package dlqtriage is about messages that died: what is known of each, why it died, what should happen next, and what is done about it.
//
// An [Entry] is a projection of lifecycle facts: whoever commits events gets the entries that follow from them, in whatever order the events
// come. What somebody decides goes through package decision, and comes back as events.
package dlqtriage
