package crashpoints

import (
	"context"
	"fmt"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"
)

// soon is how quickly a leaked duplicate must be seen, counted from the second completion.
const soon = 5 * time.Second

func TestAnAttemptThatIsOvertakenAndCompletesAllTheSame(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name       string
		kind       kind
		overwrites bool
		row        string
	}{
		{"it says so", kind{reports: true}, false, "completed, execution 1"},
		{"it overwrites the record", kind{}, true, "completed, execution 1"},
		{"it is refused", kind{reserves: true, reports: true}, false, "completed"},
		{"it is refused and says nothing", kind{reserves: true}, false, "completed"},
		{"it says so, with records in Firestore", kind{reports: true, firestore: true}, false, "completed, execution 1"},
		{"it overwrites the record in Firestore", kind{firestore: true}, true, "completed, execution 1"},
		{"it is refused by Firestore", kind{reserves: true, reports: true, firestore: true}, false, "completed"},
		{"it is refused by Firestore and says nothing", kind{reserves: true, firestore: true}, false, "completed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			g := newGlass(t, tc.kind)
			a := g.agent(t, tc.kind, "overtaken")
			overtaken, ended := make(chan struct{}), make(chan time.Time, 1)
			slow := brisk
			slow.Heartbeat = 0
			for range 2 {
				p := a.process("", slow)
				p.overwrites = tc.overwrites
				p.act = func(ctx context.Context, d fleet.Delivery) error {
					if d.Attempt > 1 {
						return g.knowsAttempt(ctx, d)
					}
					select {
					case <-overtaken:
					case <-ctx.Done():
						return ctx.Err()
					}
					ended <- time.Now()
					return nil
				}
				p.start()
			}
			a.submit(t, "overtaken")
			a.gone()
			close(overtaken)
			second := <-ended
			testkit.Eventually(t, soon, func() error {
				if got := g.row(t.Context(), a.name); got != tc.row || a.effects.Load() != 2 {
					return fmt.Errorf("%d effects, ledger %q, want %q\n%s", a.effects.Load(), got, tc.row, g.story(t.Context(), a.name))
				}
				return nil
			})
			t.Logf("seen %s after the second completion", time.Since(second).Round(time.Millisecond))
			g.settle(t)
			if got := g.row(t.Context(), a.name); got != tc.row {
				t.Errorf("later the ledger says %q, want %q\n%s", got, tc.row, g.story(t.Context(), a.name))
			}
		})
	}
}

// submit publishes the agent's task under a message id of its own.
func (a *agent) submit(t *testing.T, msgID string) {
	t.Helper()
	a.submitBody(t, msgID, fmt.Sprintf(`{"taskId":%q,"assignee":%q,"type":"code_review","version":1}`, a.name, a.name))
}
