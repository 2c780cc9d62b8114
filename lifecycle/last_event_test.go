package lifecycle

import (
	"slices"
	"testing"
)

// The last event of a task is named whatever order its events come in, and whether it is about the message or about the task itself.
func TestTheLastEventIsNamed(t *testing.T) {
	t.Parallel()
	const published = "published 0s seq=1 task=T1 msgid=T1\n"
	for _, c := range []struct {
		name, events string
		want         Kind
	}{
		{"published", published, Published},
		{"heartbeat", published + "delivered 1s seq=1 n=1 cseq=1\nheartbeat 2s seq=1 n=1 cseq=1\n", Heartbeat},
		{"an acknowledgement and its confirmation at one instant", published + "acked 2s seq=1 n=1 cseq=1\nack_confirmed 2s seq=1 n=1 cseq=1\n", AckConfirmed},
		{"a record after the acknowledgement", published + "acked 2s seq=1 n=1 cseq=1\ncompletion_recorded 3s task=T1\n", CompletionRecorded},
		{"the acknowledgement after the record", published + "completion_recorded 2s task=T1\nacked 3s seq=1 n=1 cseq=1\n", Acked},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			events := parseScenario(t, c.events)
			backward := slices.Clone(events)
			slices.Reverse(backward)
			for _, order := range [][]Event{events, backward} {
				s := foldAll([][]Event{order}).record("T1").Summary
				if last := events[len(events)-1].At; s.LastEvent != c.want || s.LastEventAt != last {
					t.Errorf("the last event is %q at %v, want %q at %v", s.LastEvent, s.LastEventAt, c.want, last)
				}
			}
		})
	}
}
