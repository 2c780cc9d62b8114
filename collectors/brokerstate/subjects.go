package brokerstate

import (
	"time"

	"fleetglass/lifecycle"
)

// served says that nobody serves the subject of a message, or that somebody does again. Workers that are just being set up get grace.
func served(look Look, c *Consumer, m lifecycle.MessageFacts, grace time.Duration) []lifecycle.Event {
	if m.Stored == nil || m.Stored.Subject == "" {
		return nil
	}
	orphan := m.OrphanedAt > m.AdoptedAt
	switch {
	case c == nil && !orphan && m.Stored.At.Add(grace) <= look.ConsumersAt:
		at := max(look.ConsumersAt.Truncate(time.Second), m.Stored.At.Add(grace), m.AdoptedAt+1)
		return []lifecycle.Event{newEvent(lifecycle.Orphaned, m, nil, at, uint64(m.AdoptedAt))}
	case c != nil && orphan:
		at := c.CreatedAt
		if at <= m.OrphanedAt { // Its filter was changed.
			at = max(look.ConsumersAt.Truncate(time.Second), m.OrphanedAt+1)
		}
		return []lifecycle.Event{newEvent(lifecycle.Adopted, m, c, at, uint64(m.OrphanedAt))}
	}
	return nil
}

// recreated says that the consumer of a message was created anew after the message had been delivered: its attempts start again.
func recreated(c Consumer, m lifecycle.MessageFacts) []lifecycle.Event {
	first := firstSign(m)
	if !first.Known() || first >= c.CreatedAt || m.RecreatedAt >= c.CreatedAt {
		return nil
	}
	return []lifecycle.Event{newEvent(lifecycle.ConsumerRecreated, m, &c, c.CreatedAt)}
}
