package reconcile_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fleetglass/lifecycle"
	"fleetglass/reconcile"
	"fleetglass/store/storetest"
)

// TestWhatWasPublishedBeforeAnybodyWatchedDoesNotCount gives a store that came to a stream of which 2 and 5 were left, saw 8 and 10, and missed 9.
func TestWhatWasPublishedBeforeAnybodyWatchedDoesNotCount(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, s storetest.Store) {
		begin := lifecycle.MicrosOf(time.Now().Add(-time.Hour))
		var events []lifecycle.Event
		for _, seq := range []uint64{2, 5, 8, 10} {
			e := published(seq, begin.Add(time.Duration(seq)*time.Minute))
			if seq < 8 {
				e.Kind, e.Provenance = lifecycle.Repaired, lifecycle.Broker
			}
			events = append(events, e)
		}
		if _, err := s.Append(t.Context(), lifecycle.Batch{Events: events}); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			from      time.Duration // Since begin.
			published int64
			notes     int // One where sequences before 8 may be of the period.
		}{{0, 5, 1}, {3 * time.Minute, 4, 1}, {7 * time.Minute, 3, 1}, {9 * time.Minute, 2, 0}} {
			got := reportOn(t, s, reconcile.Period{From: begin.Add(c.from)})
			told := slices.DeleteFunc(slices.Clone(got.Notes), func(n string) bool { return !strings.Contains(n, "before sequence 8 does not count") })
			if len(told) != c.notes {
				t.Errorf("from %s: notes %q, want %d that says where the count begins", c.from, got.Notes, c.notes)
			}
			if got.Total.Published != c.published || got.Total.NeverSeen != 1 || got.List(reconcile.NeverSeen).Rows[0].Message.Seq != 9 {
				t.Errorf("from %s: %+v with %+v; want %d published, and 9 never seen", c.from, got.Total, got.List(reconcile.NeverSeen), c.published)
			}
		}
	})
}

// TestTheStreamTellsWhatWasLostAtItsEnd has a stream that gave out two more sequences than the store knows.
func TestTheStreamTellsWhatWasLostAtItsEnd(t *testing.T) {
	t.Parallel()
	s := stocked(t, newSQLite(t), 5)
	now := lifecycle.MicrosOf(time.Now())
	cfg := quiet(s)
	for _, c := range []struct {
		name      string
		lastAt    lifecycle.Micros
		published int64
	}{{"an hour ago", now.Add(-time.Hour + time.Second), 7}, {"a moment ago", now.Add(-time.Second), 5}} {
		cfg.Stock = stockWith(reconcile.Stock{Stream: lifecycle.StreamID{Name: "TASKS"}, At: now, LastSeq: 7, LastAt: c.lastAt})
		if got := reconciled(t, cfg).Total; got.Published != c.published || got.NeverSeen != c.published-5 {
			t.Errorf("the last one stored %s: %+v, want %d published", c.name, got, c.published)
		}
	}
}
