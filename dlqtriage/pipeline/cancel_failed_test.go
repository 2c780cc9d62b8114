package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/store/sqlite"
)

// refusing is a store in which no cancellation can be committed.
type refusing struct{ *sqlite.Store }

var errAway = errors.New("the database is away")

func (s refusing) Decide(ctx context.Context, d decision.Decision) (decision.Made, error) {
	if strings.HasSuffix(d.ID, "/cancel") {
		return decision.Made{}, errAway
	}
	return s.Store.Decide(ctx, d)
}

// Who is told that an operation could not be cancelled has to find that it goes on.
func TestAnOperationGoesOnWhereItCouldNotBeCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, broker(t), temporary(t), nil)
	const entries = 20
	for i := range entries {
		w.dead(fmt.Sprintf("t%02d", i))
	}
	s, err := dlqtriage.NewOperations(dlqtriage.OperationsConfig{Actions: w.actions, Store: refusing{w.store}})
	if err != nil {
		t.Fatal(err)
	}
	o, err := s.Start(t.Context(), bulk(dlqtriage.ActionDiscard, 0))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Cancel(t.Context(), o.ID, decision.Actor{Name: "ceo", Via: decision.ViaAPI}, "too many"); !errors.Is(err, errAway) {
		t.Fatalf("Cancel() = %v, want %v", err, errAway)
	}
	w.works(s)
	if o = w.finishedOperation(s, o.ID); o.Status != dlqtriage.ActionSucceeded || o.Counts.Done != entries {
		t.Errorf("operation %s %+v, want it to have succeeded on %d", o.Status, o.Counts, entries)
	}
}
