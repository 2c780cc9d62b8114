package query_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/web/webtest"
)

// One task a minute, and thirty seconds after each a task of another agent.
func TestNeighboursAreTheNearestOnBothSides(t *testing.T) {
	t.Parallel()
	story := webtest.NewStory(noon)
	for i := range 40 {
		at := time.Duration(i-80) * time.Minute
		story.Publish(fmt.Sprintf("t-%02d", i), "cto", "code_review", "One of many", at, "")
		story.Publish(fmt.Sprintf("other-%02d", i), "cso", "code_review", "Of another agent", at+30*time.Second, "")
	}
	now := func() time.Time { return noon }
	store, err := webtest.Store(t.Context(), t.TempDir(), now, story.Batch)
	if err != nil {
		t.Fatal(err)
	}
	ask, err := query.New(query.Config{Store: store, AgentOf: fleet.AgentOfWorker, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ask.Close(); _ = store.Close() })
	for at, want := range map[string][]string{
		"t-20": {"t-22", "t-21", "t-19", "t-18"},
		"t-39": {"t-38", "t-37", "t-36", "t-35"}, // Nothing is later.
		"t-00": {"t-04", "t-03", "t-02", "t-01"},
	} {
		record, err := store.Task(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		near, err := ask.Neighbours(t.Context(), record.Summary, 4)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range near.Rows {
			got = append(got, r.TaskID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("neighbours of %s are %q, want %q", at, got, want)
		}
	}
	if near, err := ask.Neighbours(t.Context(), lifecycle.TaskSummary{TaskID: "orphan"}, 4); err != nil || len(near.Rows) > 0 {
		t.Errorf("a task without an agent has neighbours %v, error %v", near.Rows, err)
	}
}
