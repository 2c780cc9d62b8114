package brokersync

import (
	"slices"

	"fleetglass/lifecycle"
)

// noteGoneConsumers stores that consumers are gone which lines of open messages name, and that were never observed: they came and went between two
// polls, or before the first one.
func (st *step) noteGoneConsumers() {
	noted := false
	for _, o := range st.known.open {
		for _, m := range o.Message.Parts() {
			if m.Consumer == "" || m.Stored == nil || m.CurrentAttempt() == 0 || st.view.lists(m.Consumer) {
				continue
			}
			c, known := st.next.Consumers[consumerKey{st.view.Stream, m.Consumer}]
			if known && (c.CreatedAt.Known() || lifecycle.MatchesAny(c.Filters, m.Stored.Subject)) {
				continue
			}
			if !noted {
				st.next.Consumers, noted = copied(st.next.Consumers), true
			}
			c.Stream, c.Name, c.ObservedAt, c.Gone = st.view.Stream, m.Consumer, max(st.view.At, c.ObservedAt+1), true
			c.Filters = append(slices.Clip(c.Filters), m.Stored.Subject) // All that is known of what it took.
			st.next.Consumers[consumerKey{c.Stream, c.Name}] = c
			st.batch.Consumers = append(slices.DeleteFunc(st.batch.Consumers, func(old lifecycle.ConsumerState) bool { return old.Name == c.Name }), c)
		}
	}
}

// lists reports whether the broker listed a consumer of that name.
func (v view) lists(name string) bool {
	return slices.ContainsFunc(v.Consumers, func(c Consumer) bool { return c.Name == name })
}
