package collectors_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/internal/health"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

func TestAStoreThatWasMadeAnewReadsWhatTheStreamKeeps(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.createStream(jetstream.StreamConfig{})
	_, stop := b.start()
	b.publish(numbered(1, 50)...)
	b.waitFor(50)
	b.waitAcked()
	stop()
	b.useStore(newRecorder())
	b.start()
	b.waitFor(50)
	b.publish("line 000051")
	b.waitFor(51)
	b.rec.look(func(r *recorder) {
		if len(r.gaps) != 0 {
			t.Errorf("gaps although everything was read again: %v", r.gaps)
		}
	})
}

func TestAStoreFromABackupReadsWhatItLacks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.createStream(jetstream.StreamConfig{})
	_, stop := b.start()
	b.publish(numbered(1, 20)...)
	b.waitFor(20)
	b.waitAcked()
	stop()
	backup := b.rec.copy()
	_, stop = b.start()
	b.publish(numbered(21, 50)...)
	b.waitFor(50)
	b.waitAcked()
	stop()
	b.useStore(backup)
	b.start()
	b.waitFor(50)
	b.rec.look(func(r *recorder) {
		if len(r.gaps) != 0 {
			t.Errorf("gaps although everything was read again: %v", r.gaps)
		}
	})
}

// Restarts of whoever has the right store read nothing again.
func TestAStoreThatHasEverythingReadsNothingAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.createStream(jetstream.StreamConfig{})
	b.cfg.BatchLines = 10
	b.publish(numbered(1, 10)...)
	for n := 100; n <= 300; n += 100 {
		_, stop := b.start()
		_, stopReplica := b.start()
		b.publish(numbered(n, n+89)...)
		b.waitFor(10 + 90*n/100)
		b.waitAcked()
		stop()
		stopReplica()
	}
	b.rec.look(func(r *recorder) {
		if r.repeated != 0 || len(r.gaps) != 0 {
			t.Errorf("%d lines were read again, gaps %v", r.repeated, r.gaps)
		}
	})
}

// Who has another store does not begin while somebody reads, and takes nothing from them.
func TestASecondStoreWaitsUntilTheFirstIsStopped(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.createStream(jetstream.StreamConfig{})
	_, stop := b.start()
	b.publish("line 000001")
	b.waitFor(1)
	b.waitAcked()
	first := b.rec
	b.useStore(newRecorder())
	second, _ := b.start()
	b.waitShared(second)
	b.publish(numbered(2, 50)...)
	testkit.Eventually(t, patience, func() error {
		if n := first.count(); n != 50 {
			return fmt.Errorf("the first store has %d lines of 50", n)
		}
		return nil
	})
	b.waitFor(0)
	stop()
	b.waitFor(50)
}

// waitShared waits until a collector says that somebody else reads.
func (b *bench) waitShared(c health.Reporter) {
	b.t.Helper()
	testkit.Eventually(b.t, patience, func() error {
		if p := c.Health()[0]; p.State != health.Down || !strings.Contains(p.Detail, "somebody else reads fleetglass-lines, most likely a second Fleetglass") {
			return fmt.Errorf("health %+v", p)
		}
		return nil
	})
}

// waitWell waits until a collector reads.
func (b *bench) waitWell(c health.Reporter) {
	b.t.Helper()
	testkit.Eventually(b.t, patience, func() error {
		if p := c.Health()[0]; p.State != health.OK {
			return fmt.Errorf("health %+v", p)
		}
		return nil
	})
}

// A copy of a store has all that was acknowledged when it was made: whoever starts with it begins.
func TestTwoStoresThatBothReadAreNoticedAndMended(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.createStream(jetstream.StreamConfig{})
	c, stop := b.start()
	b.publish("line 000001")
	b.waitFor(1)
	b.waitAcked()
	mine := b.rec
	b.useStore(mine.copy())
	other, stopCopy := b.start()
	b.waitWell(other) // Once more lines are acknowledged it would not begin.
	lines := 1
	testkit.Eventually(t, patience, func() error {
		lines++
		b.publish(fmt.Sprintf("line %06d", lines))
		if p := c.Health()[0]; p.State != health.Down || !strings.Contains(p.Detail, "somebody else reads") {
			return fmt.Errorf("health after %d lines: %+v", lines, p)
		}
		return nil
	})
	stopCopy()
	stop()
	b.useStore(mine)
	if n := b.rec.count(); n == lines {
		t.Fatalf("the first store has all %d lines: nothing was shared", lines)
	}
	b.gap(func(g lifecycle.Gap) bool {
		return !g.Repaired && g.ToSeq > 1 && strings.HasSuffix(g.Reason, "are not in this store: somebody else reads the same durable, most likely a second Fleetglass, or it was reset")
	})
	c, _ = b.start()
	b.waitFor(lines)
	b.gap(func(g lifecycle.Gap) bool { return g.Repaired })
	b.waitWell(c)
}

// An observer that is not allowed to make durables cannot read again: what it lacks is a gap, once.
func TestWhatAnObserverMayNotReadAgainIsAGap(t *testing.T) {
	t.Parallel()
	b, url := readByAnOperator(t)
	b.useBroker(url, "observer")
	b.useStore(newRecorder())
	for range 2 { // The second start finds it known.
		c, stop := b.start()
		g := b.gap(func(g lifecycle.Gap) bool { return true })
		if g.FromSeq != 1 || g.ToSeq != 20 || !g.From.Known() || g.To <= g.From ||
			g.Reason != "lines up to 20 were acknowledged and are not in this store: it was made anew or restored from a backup, or somebody else took them" {
			t.Errorf("gap %+v", g)
		}
		b.waitWell(c)
		stop()
	}
	_, stop := b.start()
	b.publish("line 000021")
	b.waitFor(1)
	b.waitAcked()
	stop()
	b.useBroker(url, "operator") // Deletes the durable and makes it anew, as provisioning does.
	if err := b.js.DeleteConsumer(t.Context(), "LINES", "fleetglass-lines"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.js.CreateConsumer(t.Context(), "LINES", fleet.ReaderConfig("fleetglass-lines")); err != nil {
		t.Fatal(err)
	}
	b.useBroker(url, "observer")
	b.start()
	b.waitFor(21)
	b.gap(func(g lifecycle.Gap) bool { return g.Repaired })
}

// readByAnOperator is a bench whose operator read twenty lines and stopped, and whose observer may make no durables.
func readByAnOperator(t *testing.T) (b *bench, url string) {
	t.Helper()
	b, url = newBench(t), brokerThatForbids(t, "$JS.API.CONSUMER.DELETE.>", "$JS.API.CONSUMER.CREATE.>")
	b.useBroker(url, "operator")
	b.createStream(jetstream.StreamConfig{})
	_, stop := b.start()
	b.publish(numbered(1, 20)...)
	b.waitFor(20)
	b.waitAcked()
	stop()
	return b, url
}

// brokerThatForbids is a broker whose user "observer" may not publish to the subjects, and whose user "operator" may do everything.
func brokerThatForbids(t *testing.T, subjects ...string) (url string) {
	t.Helper()
	return testkit.BrokerWith(t, &server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(),
		Users: []*server.User{
			{Username: "operator", Password: "x"},
			{Username: "observer", Password: "x", Permissions: &server.Permissions{Publish: &server.SubjectPermission{Deny: subjects}}},
		},
	}).ClientURL()
}

// useBroker lets the bench be a user of another broker.
func (b *bench) useBroker(url, user string) {
	b.t.Helper()
	nc, err := nats.Connect(url, nats.UserInfo(user, "x"))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(nc.Close)
	if b.js, err = jetstream.New(nc); err != nil {
		b.t.Fatal(err)
	}
	b.cfg.JetStream, b.cfg.Incarnations = b.js, incarnations(b.t, b.js, b.rec)
}

// A line that its own time to live removed while a replica had it in hand counts as acknowledged for the broker, and the store does not have it. Nobody else reads.
func TestALineWhoseTimeWasOverWasNotTakenByOthers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.createStream(jetstream.StreamConfig{AllowMsgTTL: true})
	b.start()
	b.publish("line 000001")
	b.waitFor(1)
	b.waitAcked()
	replica, err := b.js.Consumer(t.Context(), "LINES", "fleetglass-lines")
	if err != nil {
		t.Fatal(err)
	}
	got, err := replica.Fetch(1, jetstream.FetchMaxWait(patience))
	if err != nil {
		t.Fatal(err)
	}
	var inHand uint64
	testkit.Eventually(t, patience, func() error {
		brief := &nats.Msg{Subject: "lines.x", Data: []byte("brief")}
		if _, err := b.js.PublishMsg(t.Context(), brief, jetstream.WithMsgTTL(time.Second)); err != nil {
			return err
		}
		select {
		case m := <-got.Messages():
			meta, err := m.Metadata()
			if err == nil {
				inHand = meta.Sequence.Stream
			}
			return err
		case <-time.After(200 * time.Millisecond): // The one in hand must be the last one.
			return errors.New("the collector had it")
		}
	})
	testkit.Eventually(t, patience, func() error {
		info, err := replica.Info(t.Context())
		if err == nil && info.AckFloor.Stream < inHand {
			err = fmt.Errorf("acknowledged up to %d of %d", info.AckFloor.Stream, inHand)
		}
		return err
	})
	second, _ := b.start()
	testkit.Eventually(t, patience, func() error {
		if p := second.Health()[0]; p.State != health.OK {
			return fmt.Errorf("health %+v", p)
		}
		return nil
	})
	b.rec.look(func(r *recorder) {
		if len(r.gaps) != 0 {
			t.Errorf("gaps although nobody else reads: %v", r.gaps)
		}
	})
}
