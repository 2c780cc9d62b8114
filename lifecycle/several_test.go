package lifecycle_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fleetglass/lifecycle"
	"fleetglass/views"
)

// TestAttemptsOfSeveralConsumersAreNamed holds the picture and the list of events of a message that two consumers take to whose attempts they are.
func TestAttemptsOfSeveralConsumersAreNamed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/scenarios/several-consumers-one-gets-it-again.txt")
	if err != nil {
		t.Fatal(err)
	}
	given, _, _ := strings.Cut(string(text), "\n---\n")
	s := lifecycle.Stories(lifecycle.ScenarioEvents(t, given))[0]
	trace := lifecycle.AssembleTrace(lifecycle.TraceInput{Record: s.Record, Now: s.Record.Summary.LastEventAt})
	href := func(lifecycle.EventID) string { return "" }
	placed := views.Arrange(s.Events, trace)
	var lanes, groups []string
	for _, l := range views.LayoutTimeline(trace, placed, time.UTC, false, href).Lanes {
		lanes = append(lanes, l.Name)
	}
	for _, r := range views.EventRows(placed, trace, 0, false, href) {
		if r.Group != "" {
			groups = append(groups, r.Group)
		}
	}
	want := []string{"Message 1", "Attempt 1, marketing-task-worker", "Attempt 2, marketing-task-worker", "Attempt 1, sales-task-worker"}
	if d := cmp.Diff(want, lanes); d != "" {
		t.Errorf("lanes (-want +got):\n%s", d)
	}
	want = []string{
		"TASKS:1", "TASKS:1 · attempt 1, marketing-task-worker · nak", "TASKS:1 · attempt 2, marketing-task-worker · acked",
		"TASKS:1 · attempt 1, sales-task-worker · acked",
	}
	if d := cmp.Diff(want, groups); d != "" {
		t.Errorf("heads of events (-want +got):\n%s", d)
	}
}

// TestAMessageThatAnotherConsumerIsStillToDeliverSaysWhatIsKnown holds the answers to naming who answered, and whose worker comes next.
func TestAMessageThatAnotherConsumerIsStillToDeliverSaysWhatIsKnown(t *testing.T) {
	t.Parallel()
	consumer := func(name string) lifecycle.ConsumerState {
		return lifecycle.ConsumerState{Stream: lifecycle.StreamID{Name: "TASKS"}, Name: name + "-task-worker"}
	}
	for _, tc := range []struct{ answer, did, receipt string }{
		{"acked", "A worker of marketing-task-worker acknowledged it; second-task-worker takes it too", "The acknowledgement of marketing-task-worker."},
		{"terminated", "A worker of marketing-task-worker gave it up; second-task-worker takes it too", "Stored as TASKS:1"},
		{"max_deliveries", "marketing-task-worker has used up its attempts; second-task-worker takes it too", "Stored as TASKS:1"},
	} {
		s := lifecycle.Stories(lifecycle.ScenarioEvents(t, "published 0s seq=1 task=T\n"+tc.answer+" 1s seq=1 n=1 cseq=1 worker=marketing beside=second"))[0]
		got := lifecycle.AssembleTrace(lifecycle.TraceInput{
			Record: s.Record, Consumers: []lifecycle.ConsumerState{consumer("marketing"), consumer("second")}, Now: s.Record.Summary.LastEventAt,
		}).Answers
		if !strings.Contains(got.Ownership.Text, tc.did) || !strings.Contains(got.LastReceipt.Text, tc.receipt) {
			t.Errorf("%s: got %+v and %+v", tc.answer, got.Ownership, got.LastReceipt)
		}
		if !strings.Contains(got.Recovery.Text, "second-task-worker") || strings.Contains(got.Recovery.Text, "marketing") {
			t.Errorf("%s: got %+v", tc.answer, got.Recovery)
		}
	}
}

// TestACompletedMessageSaysWhoElseTakesIt holds the answers to naming a consumer that takes the message too and gave no sign of it.
func TestACompletedMessageSaysWhoElseTakesIt(t *testing.T) {
	t.Parallel()
	const acked = "published 0s seq=1 task=T\nacked 1s seq=1 n=1 cseq=1"
	silent := lifecycle.ConsumerState{Stream: lifecycle.StreamID{Name: "TASKS"}, Name: "second-task-worker"}
	past, gone, elsewhere, watches := silent, silent, silent, silent
	past.FloorSeq, gone.Gone, elsewhere.Filters, watches.Watches = 1, true, []string{"other.>"}, true
	for _, tc := range []struct {
		name, given string
		other       lifecycle.ConsumerState
		named       bool
	}{
		{"no sign of the other", acked + " worker=marketing", silent, true},
		{"the other is past it", acked + " worker=marketing", past, false},
		{"the other is deleted", acked + " worker=marketing", gone, false},
		{"the other takes other subjects", acked + " worker=marketing", elsewhere, false},
		{"the other only watches", acked + " worker=marketing", watches, false},
		{"the other acknowledged too", acked + " worker=marketing\nacked 2s seq=1 n=1 cseq=1 worker=second", silent, false},
		{"the message has left", acked + " worker=marketing\nvanished 9s seq=1", silent, false},
		{"a work queue", acked, silent, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := lifecycle.Stories(lifecycle.ScenarioEvents(t, tc.given))[0]
			now := s.Record.Summary.LastEventAt
			got := lifecycle.AssembleTrace(lifecycle.TraceInput{Record: s.Record, Consumers: []lifecycle.ConsumerState{tc.other}, Now: now}).Answers
			if named := strings.Contains(got.Recovery.Text, tc.other.Name); named != tc.named {
				t.Errorf("got %+v, want the other consumer named: %t", got.Recovery, tc.named)
			}
			if nobody := strings.Contains(got.Ownership.Headline, "Nobody"); nobody == tc.named {
				t.Errorf("got %+v, want nobody to have it: %t", got.Ownership, !tc.named)
			}
		})
	}
}

// TestWhoHandedAMessageBackIsSaidOfItsOwnAttempt holds that somebody who hands back what one consumer's worker has is not said to have done so for another's.
func TestWhoHandedAMessageBackIsSaidOfItsOwnAttempt(t *testing.T) {
	t.Parallel()
	events := lifecycle.ScenarioEvents(t, "published 0s seq=1 task=T msgid=T\nnaked 3s seq=1 n=1 cseq=1 worker=marketing\nnaked 4s seq=1 n=1 cseq=1 worker=sales\nreleased 4s seq=1 rev=1 action=release actor=ann")
	released := &events[len(events)-1]
	released.Detail.OfN, released.Detail.OfConsumer = 1, "sales-task-worker"
	s := lifecycle.Stories(events)[0]
	trace := lifecycle.AssembleTrace(lifecycle.TraceInput{Record: s.Record, Now: s.Record.Summary.LastEventAt})
	for _, p := range trace.Messages[0].Parts() {
		byAnn := strings.Contains(p.Attempts[0].Reason, "ann")
		if byAnn != (p.Facts.Consumer == "sales-task-worker") {
			t.Errorf("attempt 1 of %s ended because %q", p.Facts.Consumer, p.Attempts[0].Reason)
		}
	}
}
