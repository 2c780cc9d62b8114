package brokersync

import (
	"slices"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// taking is which subjects a stream takes, and since when it is there and was not seen to take others.
type taking struct {
	subjects []string
	since    lifecycle.Micros
}

// noteTaking notes which subjects a stream takes, as it was looked at.
func (c *Collector) noteTaking(name string, o Observation) {
	if o.Absent {
		delete(c.taking, name)
		return
	}
	was, now := c.taking[name], taking{o.Subjects, o.Created}
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
		covers := func(pattern string) bool { return fleet.SubjectCovers(pattern, subject) }
		if s.since <= t.FirstAt && slices.ContainsFunc(s.subjects, covers) {
			return true
		}
	}
	return false
}
