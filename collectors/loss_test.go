package collectors_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/internal/health"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

// gap waits for the only gap of the recorder to satisfy the check, and returns it.
func (b *bench) gap(check func(lifecycle.Gap) bool) lifecycle.Gap {
	b.t.Helper()
	var found lifecycle.Gap
	testkit.Eventually(b.t, patience, func() error {
		var err error
		b.rec.look(func(r *recorder) {
			if len(r.gaps) != 1 {
				err = fmt.Errorf("%d gaps, want one: %v", len(r.gaps), r.gaps)
				return
			}
			for _, g := range r.gaps {
				if found = g; !check(g) {
					err = fmt.Errorf("gap %+v", g)
				}
			}
		})
		return err
	})
	return found
}

func TestLinesDiscardedBeforeTheyWereReadAreAGap(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.createStream(jetstream.StreamConfig{MaxMsgs: 100})
	_, stop := b.start()
	b.publish(numbered(1, 10)...)
	b.waitFor(10)
	stop()
	b.publish(numbered(11, 150)...) // 51 to 150 are left.
	b.start()
	b.waitFor(110)
	g := b.gap(func(lifecycle.Gap) bool { return true })
	if g.Source != "LINES" || g.FromSeq != 11 || g.ToSeq != 50 || !g.From.Known() || g.To <= g.From {
		t.Errorf("gap %+v, want lines 11 to 50", g)
	}
	if g.Reason != "40 lines were discarded before they were read" {
		t.Errorf("reason %q", g.Reason)
	}
}

func TestAMissingCaptureStreamIsAnOpenGapUntilItIsThere(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c, stop := b.start()
	open := b.gap(func(g lifecycle.Gap) bool { return g.To == 0 })
	testkit.Eventually(t, patience, func() error {
		if p := c.Health()[0]; p.State != health.Down {
			return fmt.Errorf("health %+v", p)
		}
		return nil
	})
	stop()
	c, _ = b.start() // A restart does not open another gap.
	b.createStream(jetstream.StreamConfig{})
	b.publish("at last")
	b.waitFor(1)
	closed := b.gap(func(g lifecycle.Gap) bool { return g.To.Known() })
	if closed.From != open.From {
		t.Errorf("the gap from %d was closed as %+v", open.From, closed)
	}
	if p := c.Health()[0]; p.State != health.OK {
		t.Errorf("health %+v", p)
	}
}

func TestAnOptionalCaptureStreamMayBeMissing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.src.Optional = true
	c, _ := b.start()
	testkit.Eventually(t, patience, func() error {
		if p := c.Health()[0]; p.State != health.NotConfigured {
			return fmt.Errorf("health %+v", p)
		}
		return nil
	})
	b.createStream(jetstream.StreamConfig{})
	b.publish("line")
	b.waitFor(1)
	b.rec.look(func(r *recorder) {
		if len(r.gaps) != 0 {
			t.Errorf("gaps %v", r.gaps)
		}
	})
}

func TestACaptureStreamCreatedAgainStartsAnew(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.createStream(jetstream.StreamConfig{})
	b.start()
	b.publish("line 1", "line 2")
	b.waitFor(2)
	b.waitAcked()
	if err := b.js.DeleteStream(t.Context(), "LINES"); err != nil {
		t.Fatal(err)
	}
	b.createStream(jetstream.StreamConfig{})
	b.publish("line 1") // The same sequence and text as before: another line all the same.
	b.waitFor(3)
	b.gap(func(g lifecycle.Gap) bool { return g.To.Known() && g.To >= g.From })
}

func TestACaptureStreamCreatedAgainWhileWeWereDownIsNoticed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.createStream(jetstream.StreamConfig{})
	_, stop := b.start()
	b.publish("line 1")
	b.waitFor(1)
	stop()
	if err := b.js.DeleteStream(t.Context(), "LINES"); err != nil {
		t.Fatal(err)
	}
	b.createStream(jetstream.StreamConfig{})
	b.publish("line 1")
	b.start()
	b.waitFor(2)
	b.gap(func(g lifecycle.Gap) bool { return g.To.Known() })
}

func TestADeletedDurableIsCreatedAgainAndNothingCountsTwice(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.createStream(jetstream.StreamConfig{})
	b.start()
	b.publish(numbered(1, 20)...)
	b.waitFor(20)
	b.waitAcked()
	if err := b.js.DeleteConsumer(t.Context(), "LINES", "fleetglass-lines"); err != nil {
		t.Fatal(err)
	}
	b.publish(numbered(21, 40)...)
	b.waitFor(40)
	testkit.Eventually(t, patience, func() error {
		if _, err := b.js.Consumer(t.Context(), "LINES", "fleetglass-lines"); err != nil {
			return err
		}
		return nil
	})
	b.waitAcked()
	b.rec.look(func(r *recorder) {
		if len(r.gaps) != 0 {
			t.Errorf("gaps although nothing was lost: %v", r.gaps)
		}
	})
}

func TestABatchThatIsDeliveredAgainChangesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.createStream(jetstream.StreamConfig{})
	crashed := false
	b.rec.setRefuse(nil)
	b.publish(numbered(1, 30)...)
	// A store that commits and then says that it failed: the batch is tried again.
	b.cfg.Appender = appenderFunc{b.rec, func(err error) error {
		if err == nil && !crashed && b.rec.count() > 0 {
			crashed = true
			return errors.New("connection lost after commit")
		}
		return err
	}}
	b.start()
	b.waitFor(30)
	b.waitAcked()
	b.rec.look(func(r *recorder) {
		if r.repeated == 0 {
			t.Error("the batch was not tried again")
		}
	})
}

// What comes back with a capture stream that is restored from a backup was read before.
func TestLinesThatComeBackWithABackupCountOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.createStream(jetstream.StreamConfig{})
	_, stop := b.start()
	b.publish(numbered(1, 20)...)
	b.waitFor(20)
	b.waitAcked()
	backup, err := testkit.BackUp(t.Context(), b.js, "LINES")
	if err != nil {
		t.Fatal(err)
	}
	b.publish(numbered(21, 30)...)
	b.waitFor(30)
	stop()
	if err := b.js.DeleteStream(t.Context(), "LINES"); err != nil {
		t.Fatal(err)
	}
	if err := backup.Restore(t.Context(), b.js); err != nil {
		t.Fatal(err)
	}
	b.start()
	b.publish(numbered(31, 45)...) // Their sequences begin with 21 again.
	b.waitFor(45)
	b.waitAcked()
	b.rec.look(func(r *recorder) {
		if n := len(r.events); n != 45 {
			t.Errorf("%d events of 45 lines", n)
		}
	})
	b.gap(func(g lifecycle.Gap) bool { return g.To.Known() })
}
