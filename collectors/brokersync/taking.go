package brokersync

import (
	"slices"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// taking is which subjects a stream takes, since when it is there and was not seen to take others, and who takes from it what it keeps for nobody else.
type taking struct {
	subjects  []string
	since     lifecycle.Micros
	interest  bool // It keeps only what a consumer takes (Interest retention).
	consumers []Consumer
}

func (s taking) covers(subject string) bool {
	return slices.ContainsFunc(s.subjects, func(pattern string) bool { return fleet.SubjectCovers(pattern, subject) })
}

// keepsNothing reports whether the stream keeps nothing of a subject that it takes, because no consumer does.
func (s taking) keepsNothing(subject string) bool {
	taken := func(c Consumer) bool { return lifecycle.MatchesAny(c.Filters, subject) }
	return s.interest && s.covers(subject) && !slices.ContainsFunc(s.consumers, taken)
}

// noteTaking notes which subjects a stream takes, as it was looked at.
func (c *Collector) noteTaking(name string, o Observation) {
	if o.Absent {
		delete(c.taking, name)
		return
	}
	was, now := c.taking[name], taking{o.Subjects, o.Created, o.Interest, o.Consumers}
	if was.since >= o.Created {
		if now.since = was.since; !slices.Equal(was.subjects, o.Subjects) {
			now.since = o.At
		}
	}
	c.taking[name] = now
}

// tookAllAlong reports whether a stream took the subject of a task since before its first publish attempt. No other stream can have stored one then: the
// broker lets no two take one subject. Else a stream may have, and be gone.
func (c *Collector) tookAllAlong(t lifecycle.TaskFacts) bool {
	subject := c.cfg.Contract.TaskSubject(t.Agent, t.Type)
	for _, s := range c.taking {
		if s.since <= t.FirstAt && s.covers(subject) {
			return true
		}
	}
	return false
}

// keptForNobody reports whether the stream that takes the subject of a task keeps nothing of it, as it was looked at last.
func (c *Collector) keptForNobody(t lifecycle.TaskFacts) bool {
	subject := c.cfg.Contract.TaskSubject(t.Agent, t.Type)
	for _, s := range c.taking {
		if s.keepsNothing(subject) {
			return true
		}
	}
	return false
}
