package views

import (
	"testing"

	"fleetglass/lifecycle"
)

func TestAPublishedTaskReadsPublished(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state      lifecycle.State
		last       lifecycle.Kind
		duplicates int
		want       lifecycle.Kind
	}{
		{lifecycle.StatePublished, lifecycle.PublishAttempted, 0, lifecycle.Published},
		{lifecycle.StatePublished, lifecycle.PublishAttempted, 1, lifecycle.PublishAttempted}, // The stream caught one more.
		{lifecycle.StateCompleted, lifecycle.PublishAttempted, 0, lifecycle.PublishAttempted},
		{lifecycle.StatePublished, lifecycle.Orphaned, 0, lifecycle.Orphaned},
	} {
		r := TaskRow{TaskSummary: lifecycle.TaskSummary{State: c.state, LastEvent: c.last, Duplicates: c.duplicates}}
		if got := r.shownLast(); got != c.want {
			t.Errorf("%s after %s with %d duplicates reads %q, want %q", c.state, c.last, c.duplicates, got, c.want)
		}
	}
}
