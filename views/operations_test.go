package views

import (
	"testing"

	"fleetglass/dlqtriage"
)

func TestAnOperationThatEndedSaysWhatIsLeft(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status    dlqtriage.ActionStatus
		counts    dlqtriage.Counts
		look, far string
	}{
		{dlqtriage.ActionSucceeded, dlqtriage.Counts{Selected: 3, Done: 3}, "succeeded", "3 of 3: 3 done, 0 blocked"},
		{dlqtriage.ActionSucceeded, dlqtriage.Counts{Selected: 3, Done: 2, Blocked: 1}, "ended, some blocked", "3 of 3: 2 done, 1 blocked"},
		{dlqtriage.ActionSucceeded, dlqtriage.Counts{Selected: 3, Blocked: 3}, "ended, all blocked", "3 of 3: 0 done, 3 blocked"},
		{dlqtriage.ActionSucceeded, dlqtriage.Counts{Selected: 3, Done: 1, Blocked: 1, Failed: 1}, "ended, some failed", "3 of 3: 1 done, 1 blocked, 1 failed"},
		{dlqtriage.ActionCancelled, dlqtriage.Counts{Selected: 3, Done: 1}, "cancelled", "1 of 3: 1 done, 0 blocked, 2 left alone"},
	} {
		o := dlqtriage.Operation{Bulk: true}
		o.Status, o.Counts = c.status, c.counts
		if got := operationLook(o).Word; got != c.look {
			t.Errorf("%+v looks %q, want %q", c.counts, got, c.look)
		}
		if got := farWords(o); got != c.far {
			t.Errorf("%+v: got %q, want %q", c.counts, got, c.far)
		}
	}
	killed := dlqtriage.Operation{Bulk: true, Counting: true}
	killed.Status, killed.Counts = dlqtriage.ActionCancelled, dlqtriage.Counts{Selected: 3, Done: 1}
	if got, want := farWords(killed), "1 of 3: 1 done, 0 blocked; those acted on last are being counted"; got != want {
		t.Errorf("a server was killed: got %q, want %q", got, want)
	}
}
