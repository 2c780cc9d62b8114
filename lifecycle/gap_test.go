package lifecycle

import "testing"

func TestAGapOfAnswersConcernsNoMessageWhoseAnswersWereSeen(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]bool{"OBS_ACK": true, "A/hub/OBS_ACK": true, "OBS_PUB": false, Uncaptured("TASKS"): false, away: false} {
		if got := (Gap{Source: source}).OfAnswers(); got != want {
			t.Errorf("%s: a gap of answers %v, want %v", source, got, want)
		}
	}
	const stored = "published 0s seq=1 task=T\n"
	for given, want := range map[string]bool{
		stored: false,
		stored + "heartbeat 1s seq=1 n=1 cseq=1\n":                                                   false,
		stored + "acked 1s seq=1 n=1 cseq=1\n":                                                       true,
		stored + "terminated 1s seq=1 n=1 cseq=1\n":                                                  true,
		stored + "acked 9s seq=1 n=2 cseq=2\n":                                                       false,
		stored + "naked 1s seq=1 n=1 cseq=1\nacked 9s seq=1 n=2 cseq=2\n":                            true,
		stored + "heartbeat 1s seq=1 n=1 cseq=1\nacked 9s seq=1 n=2 cseq=2\n":                        false,
		stored + "delivered 1s seq=1 cseq=1\ndelivered 5s seq=1 cseq=2\nacked 9s seq=1 n=1 cseq=1\n": false,
		stored + "acked 1s seq=1 n=1 cseq=1\nack_refuted 9s seq=1\n":                                 false,
	} {
		m := foldAll([][]Event{parseScenario(t, given)}).record("T").Messages[0]
		if got := m.Answered(); got != want {
			t.Errorf("answered %v, want %v:\n%s", got, want, given)
		}
	}
}

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
