package views

import (
	"strings"
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

func TestAnAttemptSaysHowManyThereMayBe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state          lifecycle.State
		attempt, allow int
		want           string
	}{
		{lifecycle.StatePublished, 0, 3, "0/3"},
		{lifecycle.StatePublished, 0, 0, "0"},
		{lifecycle.StateRemoved, 0, 3, "0/3"},
		{lifecycle.StateProcessing, 2, 3, "2/3"},
		{lifecycle.StateProcessing, 2, 0, "2"},
		{lifecycle.StateExhausted, 3, 2, "3"}, // Fewer are allowed by now.
		{lifecycle.StateOutcomeUnknown, 0, 3, "–"},
		{lifecycle.StateCompleted, 0, 0, "–"},
	} {
		r := TaskRow{TaskSummary: lifecycle.TaskSummary{State: c.state, Attempt: c.attempt}, MaxDeliver: c.allow}
		if got := r.attemptText(); got != c.want {
			t.Errorf("%s, attempt %d of %d reads %q, want %q", c.state, c.attempt, c.allow, got, c.want)
		}
		if open := !strings.Contains(c.want, "/"); open != (r.attemptMeaning() != "") {
			t.Errorf("%q means %q", c.want, r.attemptMeaning())
		}
	}
}
