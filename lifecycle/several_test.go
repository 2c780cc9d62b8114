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
