package fleet

import (
	"maps"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// OnlyEntries reports whether a stream with these subjects takes dead-letter entries and nothing else.
func (c Contract) OnlyEntries(subjects []string) bool {
	return !slices.ContainsFunc(subjects, func(subject string) bool { return !strings.HasPrefix(subject, c.Prefix+".dlq.") })
}

// withQueues adds the streams of dead-letter entries that the fleet has under names of its own. Where one of them takes all entries, DLQ could not exist
// beside it, and is not created.
func (s Streams) withQueues(existing map[string]map[string]any) Streams {
	for _, name := range slices.Sorted(maps.Keys(existing)) {
		subjects := asTexts(existing[name]["subjects"])
		if _, _, takes := overlap(subjects, []string{s.Contract.DLQSubjects()}); !takes || s.wantsDLQ(name) {
			continue
		}
		if existing[name]["retention"] == "limits" {
			s.queues = append(s.queues, s.queueReader(name, subjects))
		} else {
			s.emptied = append(s.emptied, name)
		}
		s.queued = s.queued || len(s.DLQAgents) == 0 && existing[StreamDLQ] == nil &&
			slices.ContainsFunc(subjects, func(subject string) bool { return SubjectCovers(subject, s.Contract.DLQSubject("*", ">")) })
	}
	return s
}

// wantsDLQ reports whether a stream is one of [Streams.dlqs].
func (s Streams) wantsDLQ(name string) bool {
	return slices.ContainsFunc(s.dlqs(), func(c jetstream.StreamConfig) bool { return c.Name == name })
}

// queueReader reads the entries of a stream, and nothing else of it.
func (s Streams) queueReader(name string, subjects []string) Reader {
	r := Reader{Stream: name, Source: deadLetterSource, By: s.By}
	if !s.Contract.OnlyEntries(subjects) {
		r.Subject = s.Contract.DLQSubjects()
	}
	return r
}

// planQueues is the plan for the streams of entries under names of the fleet's own: nothing of them is changed.
func (s Streams) planQueues() []Change {
	var out []Change
	for _, r := range s.queues {
		out = append(out, Change{Stream: r.Stream, Action: ActionNone})
	}
	for _, name := range s.emptied {
		out = append(out, Change{Stream: name, Action: ActionBlock, Problems: []string{
			"it drops entries once they are read, so they are not read: give it the retention limits",
		}})
	}
	return out
}
