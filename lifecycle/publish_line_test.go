package lifecycle

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Of publish lines that differ the one of the stream itself counts, else the first; whatever the order in which they are joined.
func TestOfPublishLinesThatDifferOneCounts(t *testing.T) {
	t.Parallel()
	key := MessageKey{Stream: StreamID{Name: "TASKS"}, Seq: 7}
	line := func(kind Kind, seq uint64, agent, hash string) Event {
		e := Event{ID: NewEventID("line", agent, hash), Kind: kind, At: 100, Message: key, SourceSeq: seq, Agent: agent, Source: "OBS_PUB", TaskID: "T"}
		e.Detail.Subject, e.Detail.PayloadHash = "genbrain.agents."+agent+".tasks.x", hash
		return e
	}
	genuine, again, forged, read := line(Published, 5, "cto", "a"), line(Published, 9, "cto", "a"), line(Published, 8, "abe", "b"), line(Repaired, 0, "cto", "a")
	early, delivered := line(Published, 2, "abe", "b"), Event{Kind: Delivered, At: 200, Message: key, Agent: "zoe", ConsumerSeq: 1}
	tests := []struct {
		name   string
		lines  []Event
		agent  string
		hash   string
		forged bool
	}{
		{"one line", []Event{genuine, delivered}, "cto", "a", false},
		{"the same line twice", []Event{genuine, again, delivered}, "cto", "a", false},
		{"another comes later", []Event{genuine, forged, again, delivered}, "cto", "a", true},
		{"another came first", []Event{early, genuine}, "abe", "b", true},
		{"another came first, and the stream was read", []Event{early, genuine, read, delivered}, "cto", "a", true},
		{"no line is known", []Event{delivered}, "zoe", "", false},
	}
	for _, tt := range tests {
		var want MessageFacts
		for i := range 2 * len(tt.lines) {
			var m MessageFacts
			order := slices.Clone(tt.lines)
			order = append(order[i%len(order):], order[:i%len(order)]...)
			if i >= len(order) {
				slices.Reverse(order)
			}
			for _, e := range order {
				m.Join(e)
			}
			hash := ""
			if m.Stored != nil {
				hash = m.Stored.PayloadHash
			}
			if m.Agent != tt.agent || hash != tt.hash || m.Forged != tt.forged {
				t.Errorf("%s: agent %q, fingerprint %q, forged %t; want %q, %q, %t", tt.name, m.Agent, hash, m.Forged, tt.agent, tt.hash, tt.forged)
			}
			if i == 0 {
				want = m
			} else if diff := cmp.Diff(want, m); diff != "" {
				t.Errorf("%s: the order of the lines matters (-first +another):\n%s", tt.name, diff)
			}
		}
	}
}

// The payload that another line brought is kept aside, with its bytes.
func TestAPayloadOfAnotherLineIsKeptAside(t *testing.T) {
	t.Parallel()
	key := MessageKey{Stream: StreamID{Name: "TASKS"}, Seq: 7}
	f := NewFold()
	e := Event{ID: 1, Kind: Published, At: 100, Message: key, SourceSeq: 5, TaskID: "T", Source: "OBS_PUB"}
	e.Detail.PayloadHash = "a"
	events := []Event{e}
	f.Assign(events)
	f.Add(events[0])
	f.Changes()
	own, foreign := Payload{Message: key, At: 100, Hash: "a", Body: []byte("own")}, Payload{Message: key, At: 100, Hash: "b", Body: []byte("foreign")}
	kept, displaced := f.Displaced([]Payload{own, foreign})
	if len(kept) != 1 || string(kept[0].Body) != "own" {
		t.Errorf("kept %+v", kept)
	}
	if len(displaced) != 1 || string(displaced[0].Body) != "foreign" || displaced[0].Reason == "" {
		t.Errorf("kept aside %+v", displaced)
	}
}
