package lifecycle

import "testing"

func TestAGapOfOneStreamConcernsNoOther(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		source, stream       string
		concerns, everywhere bool
	}{
		{"OBS_ACK", "TASKS", true, true},
		{Uncaptured("TASKS_VIP"), "TASKS_VIP", true, false},
		{Uncaptured("TASKS_VIP"), "TASKS", false, false},
		{Clock("TASKS"), "TASKS", true, false},
		{Clock("TASKS"), "TASKS_VIP", false, false},
	} {
		g := Gap{Source: tc.source}
		if g.Concerns(tc.stream) != tc.concerns || g.Everywhere() != tc.everywhere {
			t.Errorf("%s and %s: concerns %v, everywhere %v; want %v, %v", tc.source, tc.stream, g.Concerns(tc.stream), g.Everywhere(), tc.concerns, tc.everywhere)
		}
	}
}
