//go:build linux

package torture

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"fleetglass/internal/testkit"

	"github.com/nats-io/nats.go/jetstream"
)

// shown is how many differences a failure tells of; the rest is counted.
const shown = 15

// quiet waits until no worker has anything in hand or due, and Fleetglass has read every line.
func quiet(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	testkit.Eventually(t, patience, func() error {
		tasks, err := js.Stream(t.Context(), "TASKS")
		if err != nil {
			return err
		}
		workers := tasks.ListConsumers(t.Context())
		for w := range workers.Info() {
			if w.NumPending > 0 || w.NumAckPending > 0 {
				err = fmt.Errorf("%s has %d in hand and %d to do", w.Name, w.NumAckPending, w.NumPending)
			}
		}
		if err := errors.Join(err, workers.Err()); err != nil {
			return err
		}
		upTo, err := marks(t.Context(), js)
		if err != nil {
			return err
		}
		return reached(t.Context(), js, upTo)
	})
}

// settle is how long Fleetglass may take, once everything is quiet, until its answers are final; and how long they must then stay.
const (
	settle  = 60 * time.Second
	remains = 2 * time.Second
)

// verdict compares every task until there is no difference, and then once more. What is left when time is up fails the test.
func verdict(t *testing.T, c client, truth map[string]*told, compare func(*told, *seen) []difference) {
	t.Helper()
	began := time.Now()
	open := truth
	var found, last []difference
	for len(open) > 0 {
		last = found
		open, found = differing(t, c, open, compare)
		if len(open) > 0 && time.Since(began) > settle {
			break
		}
		if len(open) > 0 {
			time.Sleep(100 * time.Millisecond)
		}
	}
	settled := time.Since(began)
	if len(found) == 0 && settled > 5*time.Second {
		t.Logf("the last answers to become final: %v", last[:min(3, len(last))])
	}
	if len(found) == 0 {
		time.Sleep(remains)
		_, found = differing(t, c, truth, compare)
	}
	t.Logf("%d tasks compared, %d differences; the answers were final after %s", len(truth), len(found), settled.Round(time.Millisecond))
	for i, d := range found {
		if i == shown {
			t.Errorf("… and %d more differences", len(found)-shown)
			break
		}
		t.Errorf("%s", d)
	}
	for i, id := range sortedKeys(open) {
		if i < 3 {
			t.Logf("both stories of %s:\n%s", id, stories(t.Context(), c, truth[id]))
		}
	}
}

// differing compares tasks and returns those that differ. Of a task that Fleetglass does not know under its name compare is given nil.
func differing(t *testing.T, c client, truth map[string]*told, compare func(*told, *seen) []difference) (map[string]*told, []difference) {
	t.Helper()
	open := map[string]*told{}
	var found []difference
	for _, id := range sortedKeys(truth) {
		s, err := c.task(t.Context(), id)
		if err != nil {
			s = nil
		}
		d := compare(truth[id], s)
		if err != nil && len(d) > 0 {
			d = append(d, difference{id, "task", "known", err})
		}
		if len(d) > 0 {
			open[id] = truth[id]
			found = append(found, d...)
		}
	}
	return open, found
}

// stories are what the fleet and what Fleetglass tells of a task.
func stories(ctx context.Context, c client, t *told) string {
	out := fmt.Sprintf("  the fleet: %s, seq %d, published %d (%d duplicates, %d unanswered), recorded %d, reports %v\n", t.Fate, t.Seq, t.Publishes,
		t.Duplicates, t.Unanswered, t.Recorded, t.Reports)
	for _, n := range sortedKeys(t.Attempts) {
		out += fmt.Sprintf("    attempt %d: %+v\n", n, *t.Attempts[n])
	}
	s, err := c.task(ctx, t.ID)
	if err != nil {
		return out + "  Fleetglass: " + err.Error()
	}
	out += fmt.Sprintf("  Fleetglass: %s (%s), attempts %d, anomalies %v, gaps %v\n", s.State, s.Rule, s.Attempts, s.Anomalies, s.Gaps)
	for _, m := range s.Messages {
		out += fmt.Sprintf("    message %s: %v\n", m.Seq, m.Attempts)
	}
	for _, e := range s.Events {
		out += fmt.Sprintf("    %s %s attempt %d seq %s delivery %s from %s:%s\n", e.At, e.Kind, e.Attempt, e.Seq, e.ConsumerSeq, e.Source, e.SourceSeq)
	}
	return out
}

func sortedKeys[K interface{ ~int | ~string }, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
