package pipeline

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/internal/health"
	"fleetglass/internal/testkit"
)

// resetRetries lets an operator reset the durable of RETRY to a sequence.
func resetRetries(t *testing.T, js jetstream.JetStream, seq uint64) {
	t.Helper()
	answer, err := js.Conn().Request("$JS.API.CONSUMER.RESET.RETRY.fleetglass-retry", fmt.Appendf(nil, `{"seq":%d}`, seq), patience)
	if err != nil || strings.Contains(string(answer.Data), `"error"`) {
		t.Fatalf("reset the durable: %s, %v", answer.Data, err)
	}
}

// ready waits until retries are sent.
func (w *world) ready() {
	w.t.Helper()
	testkit.Eventually(w.t, patience, func() error {
		if part := w.pipe.Health()[0]; part.State != health.OK {
			return fmt.Errorf("health %+v", part)
		}
		return nil
	})
}

// Whoever resets the durable beyond the end of RETRY keeps no retry from being sent, whether it was parked before or is parked after that.
func TestRetriesAreSentAlthoughTheirDurableIsReset(t *testing.T) {
	t.Parallel()
	for name, parkedBefore := range map[string]bool{"parked before": true, "parked after": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			js := broker(t)
			w := newWorld(t, js, temporary(t), func(c *Config) { c.Grace = 200 * time.Millisecond })
			w.runs()
			w.ready()
			r := retryOf(w.dead("t1"), "k1")
			delay := int64(1000)
			r.Params.DelayMS = &delay
			if !parkedBefore {
				resetRetries(t, js, 100)
			}
			a := w.act(r)
			if parkedBefore {
				testkit.Eventually(t, patience, func() error {
					if info, err := js.Stream(t.Context(), fleet.StreamRetry); err != nil || info.CachedInfo().State.Msgs != 1 {
						return fmt.Errorf("it is not parked yet: %w", err)
					}
					return nil
				})
				resetRetries(t, js, 100)
			}
			w.sentOnce("t1", w.ended(a.ID))
		})
	}
}
