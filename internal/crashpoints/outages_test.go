package crashpoints

import (
	"context"
	"fmt"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/internal/firestoretest"
	"fleetglass/internal/testkit"

	"google.golang.org/grpc/codes"
)

// outages says for every place at which Firestore can fail an agent what that costs, and what the ledger must say in the end.
var outages = []struct {
	name      string
	before    func(*firestoretest.Server) // When the task is published.
	atAttempt func(*firestoretest.Server) // When the first attempt has begun its work.
	effects   int32
	row       string
}{
	{
		name:   "unreadable",
		before: func(s *firestoretest.Server) { s.Fail(firestoretest.BatchGetDocuments, codes.PermissionDenied, 2) }, effects: 1, row: "completed",
	},
	{
		name:   "not-reserved",
		before: func(s *firestoretest.Server) { s.Fail(firestoretest.Commit, codes.PermissionDenied, 2) }, effects: 1, row: "completed",
	},
	{
		name:      "not-recorded", // A retry: what was done is not known to anybody.
		atAttempt: func(s *firestoretest.Server) { s.Fail(firestoretest.BeginTransaction, codes.PermissionDenied, 1) }, effects: 2, row: "completed",
	},
	{
		name:      "unheard", // Nor does the agent know that it recorded; its next attempt finds out.
		atAttempt: func(s *firestoretest.Server) { s.Lose(firestoretest.Commit, codes.Canceled, 1) }, effects: 1, row: "completed, idempotency 1",
	},
}

func TestWhereverFirestoreFailsAnAgentTheRowIsRight(t *testing.T) {
	t.Parallel()
	for _, k := range []kind{{reserves: true, firestore: true}, {reserves: true, reports: true, firestore: true}} {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()
			g := newGlass(t, k)
			agents := map[string]*agent{}
			for _, o := range outages { // One after the other: what fails, fails for all.
				a := g.agent(t, k, o.name)
				agents[o.name] = a
				timing := brisk
				timing.Heartbeat = 0 // A renewal would meet the fault that is meant for a confirmation.
				p := a.process("", timing)
				p.memory.effects = nil
				p.act = func(ctx context.Context, d fleet.Delivery) error {
					err := g.knowsAttempt(ctx, d)
					await(ctx, time.Second) // Within its wait, and long against an attempt that finds a record.
					if o.atAttempt != nil && a.effects.Load() == 0 {
						o.atAttempt(g.fire)
					}
					return err
				}
				if o.before != nil {
					o.before(g.fire)
				}
				a.submit(t, o.name)
				p.start()
				testkit.Eventually(t, patience, func() error {
					if n := a.effects.Load(); n < o.effects {
						return fmt.Errorf("%s: %d effects", o.name, n)
					}
					return nil
				})
				a.gone()
				g.fire.Heal()
			}
			g.settle(t)
			for _, o := range outages {
				a := agents[o.name]
				if got := g.row(t.Context(), a.name); k.caught(got) != o.row || a.effects.Load() != o.effects {
					t.Errorf("%s: %d effects, ledger %q; want %d, %q\n%s", o.name, a.effects.Load(), got, o.effects, o.row, g.story(t.Context(), a.name))
				}
			}
		})
	}
}
