package reservetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"fleetglass/fleet"
)

// runRecords tests the records of an implementation by themselves, as agents use them that reserve nothing.
func runRecords(t *testing.T, open Open) {
	for name, test := range map[string]func(*testing.T, *world){
		"a completion is found as it was recorded": found,
		"the first of many completions stays":      firstStays,
		"records that cannot be asked":             silent,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newWorld(t, open))
		})
	}
}

func found(t *testing.T, w *world) {
	for _, id := range []string{"t-1", "a b", "日本", "a/=b", "a~=2", "=a", "..", "__a__", "TASKS:7", "t-1-2"} {
		for _, version := range []string{"", "2", "3"} {
			r := w.record("done " + id + version)
			if r.TaskID, r.NatsStreamSeq = id, 7; version != "" {
				r.IdempotencyKey = fleet.IdempotencyKey(id, version)
			}
			if got, err := w.Records.Find(t.Context(), id, r.IdempotencyKey); got != nil || err != nil {
				t.Errorf("%q: found %+v, %v before it was recorded", r.IdempotencyKey, got, err)
			}
			if err := w.Records.Complete(t.Context(), r); err != nil {
				t.Errorf("%q: %v", r.IdempotencyKey, err)
			}
			if got, err := w.Records.Find(t.Context(), id, r.IdempotencyKey); err != nil || got == nil || *got != r {
				t.Errorf("found %+v, %v; want %+v", got, err, r)
			}
		}
	}
}

func firstStays(t *testing.T, w *world) {
	var mu sync.Mutex
	var first []fleet.Record
	var wg sync.WaitGroup
	for i := range 10 {
		r := w.record(fmt.Sprintf("attempt %d", i))
		wg.Go(func() {
			err := w.Records.Complete(context.WithoutCancel(t.Context()), r)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				first = append(first, r)
			} else if !errors.Is(err, fleet.ErrRecorded) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(first) != 1 {
		t.Fatalf("%d were the first", len(first))
	}
	if got, err := w.Records.Find(t.Context(), "t-1", ""); err != nil || got == nil || *got != first[0] {
		t.Errorf("found %+v, %v; want %+v", got, err, first[0])
	}
	w.expectReply(t, claim("reserving"), first[0])
}

func silent(t *testing.T, w *world) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := w.Records.Find(ended, "t-1", ""); err == nil || got != nil {
		t.Errorf("found %+v, %v", got, err)
	}
	if err := w.Records.Complete(ended, w.record("done")); err == nil || errors.Is(err, fleet.ErrRecorded) {
		t.Errorf("recorded: %v", err)
	}
}
