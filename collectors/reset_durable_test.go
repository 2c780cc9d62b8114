package collectors_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/internal/health"
	"fleetglass/internal/testkit"
)

// resetDurable lets an operator set the durable to a line.
func (b *bench) resetDurable(seq uint64) {
	b.t.Helper()
	answer, err := b.js.Conn().Request("$JS.API.CONSUMER.RESET.LINES.fleetglass-lines", fmt.Appendf(nil, `{"seq":%d}`, seq), patience)
	if err != nil || strings.Contains(string(answer.Data), `"error"`) {
		b.t.Fatalf("reset the durable: %s, %v", answer.Data, err)
	}
}

// Who resets the durable to before what was read has it read again: nothing counts twice.
func TestADurableThatIsResetIsReadOn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.createStream(jetstream.StreamConfig{})
	c, _ := b.start()
	b.publish(numbered(1, 20)...)
	b.waitFor(20)
	b.waitAcked()
	b.resetDurable(1)
	b.publish("line 000021")
	b.waitFor(21)
	b.waitAcked()
	if p := c.Health()[0]; p.State != health.OK {
		t.Errorf("health %+v", p)
	}
}

// A durable that is reset beyond the end of its stream would skip the lines that come next. It is read anew by the next start.
func TestADurableThatIsResetBeyondTheEndIsReadAnew(t *testing.T) {
	t.Parallel()
	for _, running := range []bool{true, false} {
		t.Run(fmt.Sprintf("running %t", running), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.createStream(jetstream.StreamConfig{})
			c, stop := b.start()
			b.publish(numbered(1, 20)...)
			b.waitFor(20)
			b.waitAcked()
			if !running {
				stop()
			}
			b.resetDurable(100)
			b.publish("line 000021")
			if running {
				testkit.Eventually(t, patience, func() error {
					if p := c.Health()[0]; p.State != health.Down || !strings.Contains(p.Detail, "or it was reset") {
						return fmt.Errorf("health %+v", p)
					}
					return nil
				})
				stop()
			}
			b.start()
			b.waitFor(21)
			b.publish("line 000022")
			b.waitFor(22)
		})
	}
}

// An observer that may make no durables says that it is blind, as long as that lasts.
func TestAnObserverOfADurableThatIsResetBeyondTheEndIsDown(t *testing.T) {
	t.Parallel()
	b, url := readByAnOperator(t)
	b.resetDurable(100)
	b.useBroker(url, "observer")
	c, _ := b.start()
	b.publish("line 000021")
	testkit.Eventually(t, patience, func() error {
		if p := c.Health()[0]; p.State != health.Down || !strings.Contains(p.Detail, "nats consumer reset LINES fleetglass-lines --sequence 1") {
			return fmt.Errorf("health %+v", p)
		}
		return nil
	})
	b.resetDurable(1)
	b.waitFor(21)
}
