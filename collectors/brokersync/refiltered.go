package brokersync

import (
	"slices"

	"fleetglass/lifecycle"
)

// refilteredNow is [lifecycle.Refiltered] of a consumer that is seen once more. What it has in hand as its filters change it keeps, and delivers again.
func refilteredNow(old lifecycle.ConsumerState, c Consumer, at lifecycle.Micros) lifecycle.Refiltered {
	r, same := old.Refiltered, old.CreatedAt == c.CreatedAt
	if len(old.Filters) > 0 && !slices.Equal(old.Filters, c.Filters) {
		filters := append(slices.Clone(r.Filters), old.Filters...)
		slices.Sort(filters)
		fewer := slices.ContainsFunc(old.Filters, func(f string) bool { return !slices.Contains(c.Filters, f) })
		r = lifecycle.Refiltered{At: at, Filters: slices.Compact(filters), Again: again(old, c), Seq: old.DeliveredSeq, Strays: r.Strays || fewer}
	}
	if !same {
		r.Seq = 0
	}
	r.Strays = r.Strays && same && c.AckPending > 0
	return r
}

// again are the filters that a consumer had, was seen without, and has once more.
func again(old lifecycle.ConsumerState, c Consumer) (out []string) {
	for _, f := range c.Filters {
		returns := slices.Contains(old.Refiltered.Filters, f) && !slices.Contains(old.Filters, f)
		if returns || slices.Contains(old.Refiltered.Again, f) {
			out = append(out, f)
		}
	}
	return out
}

// skipped reports whether a consumer began behind a message, or was past it before it took its subject: then it never delivers it.
func (c Consumer) skipped(m lifecycle.MessageFacts) bool {
	r := c.Refiltered
	return c.beganBehind(m) || m.Stored != nil && m.Key.Seq <= r.Seq && !lifecycle.MatchesAny(r.Filters, m.Stored.Subject)
}

// mayHaveSkipped reports whether a consumer may never deliver a message that is behind the last one that it delivered: it came to take the subject later, and how far it had
// looked through the stream by then nobody can tell.
func (c Consumer) mayHaveSkipped(m lifecycle.MessageFacts) bool {
	r := c.Refiltered
	if m.Stored == nil || m.Stored.At > r.At {
		return false
	}
	returned := len(r.Again) > 0 && lifecycle.MatchesAny(r.Again, m.Stored.Subject)
	if lifecycle.MatchesAny(r.Filters, m.Stored.Subject) && !returned {
		return false
	}
	return m.Key.Seq != c.DeliveredSeq && len(evidenceOf(m, c)) == 0
}

// took reports whether a consumer can have taken a message by filters that it has no more.
func (c Consumer) took(m lifecycle.MessageFacts) bool {
	return m.Stored != nil && c.Refiltered.Took(m.Stored)
}

// strayedWith reports whether a workers' consumer may have a message in hand that it takes no more.
func (c Consumer) strayedWith(m lifecycle.MessageFacts) bool {
	return !c.Watches && c.Refiltered.Strays && c.took(m) && deliveredBy(c, m.Key.Seq)
}

// strayOf is the consumer that may have a message in hand that it takes no more; nil where there is none.
func (v view) strayOf(m lifecycle.MessageFacts) *Consumer {
	i := slices.IndexFunc(v.Consumers, func(c Consumer) bool { return c.strayedWith(m) })
	if i < 0 {
		return nil
	}
	return &v.Consumers[i]
}

// tookOver reports whether lines of a message that the consumer takes name another one: that is deleted, or takes other subjects now.
func (c *Consumer) tookOver(m lifecycle.MessageFacts) bool {
	return c != nil && m.Consumer != "" && m.Consumer != c.Name
}

// spokenOf is the consumer itself, unless lines of the message speak of another one: then nil, for it says nothing of that one's attempts.
func (c *Consumer) spokenOf(m lifecycle.MessageFacts) *Consumer {
	if c.tookOver(m) {
		return nil
	}
	return c
}

// tookBefore reports whether another consumer than the given one can have taken a message by filters that it has no more.
func (v view) tookBefore(c *Consumer, s *lifecycle.StoredFacts) bool {
	other := func(o lifecycle.ConsumerState) bool { return (c == nil || o.Name != c.Name) && o.Refiltered.Took(s) }
	return slices.ContainsFunc(v.Consumers, func(o Consumer) bool { return other(o.ConsumerState) }) || slices.ContainsFunc(v.Gone, other)
}

// keptForWorkers reports whether a workers' consumer has taken a message ever since it was stored, so that a stream with Interest retention keeps it until that one answers.
func (v view) keptForWorkers(m lifecycle.MessageFacts) bool {
	return m.Stored == nil || slices.ContainsFunc(v.Consumers, func(c Consumer) bool {
		return !c.Watches && c.Made() <= m.Stored.At && c.Refiltered.At < m.Stored.At && lifecycle.MatchesAny(c.Filters, m.Stored.Subject)
	})
}
