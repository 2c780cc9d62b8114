package dlqtriage

import (
	"testing"
	"time"

	"fleetglass/lifecycle"
)

// A slice that comes to an operation that was cancelled before it acts on nothing: the operation never began.
func TestAnOperationThatWasCancelledBeforeItBeganHasNoBeginning(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var cancelled, queued Operation
	cancelled.Status, cancelled.EndedAt = ActionCancelled, lifecycle.MicrosOf(began.Add(-time.Second))
	queued.Status = ActionQueued
	w := walk{began: began}
	if o := w.progress(cancelled, lifecycle.MicrosOf(began)); o.StartedAt.Known() {
		t.Errorf("it ended at %v and began at %v", o.EndedAt, o.StartedAt)
	}
	w.items = []Item{{Entry: "e", Status: ItemDone}}
	if o := w.progress(cancelled, lifecycle.MicrosOf(began)); o.StartedAt != lifecycle.MicrosOf(began) {
		t.Errorf("it acted, and began at %v", o.StartedAt)
	}
	w.items = nil
	if o := w.progress(queued, lifecycle.MicrosOf(began)); o.StartedAt != lifecycle.MicrosOf(began) {
		t.Errorf("its first slice came, and it began at %v", o.StartedAt)
	}
}
