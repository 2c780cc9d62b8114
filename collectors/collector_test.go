package collectors_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"fleetglass/collectors"
	"fleetglass/fleet"
	"fleetglass/internal/health"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(testkit.BrokerGoroutine))
}

const patience = 20 * time.Second

// bench is a broker with one capture-like stream, a recorder and a collector that keeps each line's body.
type bench struct {
	t   *testing.T
	js  jetstream.JetStream
	rec *recorder
	cfg collectors.Config
	src collectors.Source

	refused int
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return newBenchOn(t, testkit.JetStream(t, testkit.BareBroker(t)))
}

func newBenchOn(t *testing.T, js jetstream.JetStream) *bench {
	t.Helper()
	b := &bench{t: t, js: js, rec: newRecorder()}
	contract := fleet.NewContract("")
	inc, err := collectors.NewIncarnationResolver(collectors.IncarnationResolverConfig{JetStream: js, Appender: b.rec, Watermarks: b.rec, Contract: contract})
	if err != nil {
		t.Fatal(err)
	}
	b.cfg = collectors.Config{JetStream: js, Appender: b.rec, Watermarks: b.rec, Incarnations: inc, Contract: contract,
		Retry: 5 * time.Millisecond, Watch: 20 * time.Millisecond}
	b.src = collectors.Source{Name: "lines", Stream: "LINES", Decode: keep}
	return b
}

// keep makes an event of every line, except that "bad" errors, "panic" panics and "skip" says nothing.
func keep(line collectors.Line, _ collectors.Streams, into *lifecycle.Batch) error {
	e := line.Event(lifecycle.PublishAttempted)
	e.TaskID, e.Raw = "task", line.Body
	switch {
	case strings.HasPrefix(string(line.Body), "skip"):
		return nil
	case strings.HasPrefix(string(line.Body), "bad"):
		into.Events = append(into.Events, e)
		return errors.New("cannot be read")
	case strings.HasPrefix(string(line.Body), "panic"):
		into.Events = append(into.Events, e)
		panic("index out of range")
	}
	into.Events = append(into.Events, e)
	return nil
}

// useStore lets the collectors that are started from now on write into another store.
func (b *bench) useStore(rec *recorder) {
	b.t.Helper()
	b.rec, b.cfg.Appender, b.cfg.Watermarks = rec, rec, rec
	b.cfg.Incarnations = incarnations(b.t, b.js, rec)
}

// createStream makes the stream of lines, beside one that nobody uses: where the last stream of an account is deleted, the broker removes their directory in the
// background, and may take it from under one that is made or restored meanwhile ("no such file or directory").
func (b *bench) createStream(cfg jetstream.StreamConfig) {
	b.t.Helper()
	cfg.Name, cfg.Subjects = "LINES", []string{"lines.>"}
	for _, cfg := range []jetstream.StreamConfig{{Name: "OTHER", Subjects: []string{"other"}}, cfg} {
		if _, err := b.js.CreateStream(b.t.Context(), cfg); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *bench) publish(bodies ...string) {
	b.t.Helper()
	for _, body := range bodies {
		if _, err := b.js.Publish(b.t.Context(), "lines.x", []byte(body)); err != nil {
			b.t.Fatal(err)
		}
	}
}

// start runs a collector; the returned function stops it and waits.
func (b *bench) start() (*collectors.Collector, func()) {
	b.t.Helper()
	c, err := collectors.New(b.cfg, b.src)
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			b.t.Errorf("Run: %v", err)
		}
	}
	b.t.Cleanup(stop)
	return c, stop
}

func (b *bench) waitFor(n int) {
	b.t.Helper()
	testkit.Eventually(b.t, patience, func() error {
		if got := b.rec.count(); got != n {
			return fmt.Errorf("%d events, want %d", got, n)
		}
		return nil
	})
}

// waitAcked waits until the durable has nothing left.
func (b *bench) waitAcked() {
	b.t.Helper()
	testkit.Eventually(b.t, patience, func() error {
		c, err := b.js.Consumer(b.t.Context(), "LINES", "fleetglass-lines")
		if err != nil {
			return err
		}
		if i := c.CachedInfo(); i.NumPending != 0 || i.NumAckPending != 0 {
			return fmt.Errorf("%d pending, %d not acknowledged", i.NumPending, i.NumAckPending)
		}
		return nil
	})
}

func numbered(from, to int) []string {
	var out []string
	for i := from; i <= to; i++ {
		out = append(out, fmt.Sprintf("line %06d", i))
	}
	return out
}

func TestLinesAreStoredOnceAndAcknowledged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.createStream(jetstream.StreamConfig{})
	b.publish(numbered(1, 500)...)
	c, _ := b.start()
	b.waitFor(500)
	b.waitAcked()
	if got := b.rec.texts(); !slices.Equal(got, numbered(1, 500)) {
		t.Errorf("stored lines are not the published ones: %d of them", len(got))
	}
	testkit.Eventually(t, patience, func() error {
		p := c.Health()[0]
		if p.State != health.OK || p.Name != "lines" || p.Handled != 500 || p.Pending != 0 || p.LastAt.IsZero() {
			return fmt.Errorf("health %+v", p)
		}
		return nil
	})
}

func TestALoneLineDoesNotWait(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.createStream(jetstream.StreamConfig{})
	b.start()
	b.publish("first")
	b.waitFor(1)
	best := time.Hour
	for i := range 20 {
		began := time.Now()
		b.publish(fmt.Sprintf("lone %d", i))
		for b.rec.count() != i+2 {
			if time.Since(began) > patience {
				t.Fatal("not stored")
			}
			<-time.After(100 * time.Microsecond)
		}
		best = min(best, time.Since(began))
	}
	if best > 20*time.Millisecond {
		t.Errorf("the fastest of 20 lone lines took %s, want a few milliseconds", best)
	}
}

func TestALineThatCannotBeDecodedIsQuarantinedWithItsBytes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.createStream(jetstream.StreamConfig{})
	b.publish("good 1", "bad \x00\xff", "panic now", "skip this", "good 2")
	c, _ := b.start()
	b.waitFor(2)
	b.waitAcked()
	b.rec.look(func(r *recorder) {
		reasons := map[string]string{}
		for _, q := range r.quarantined {
			reasons[string(q.Body)] = q.Reason
			if q.Source != "LINES" || q.Subject != "lines.x" || q.SourceSeq == 0 || !q.At.Known() {
				t.Errorf("quarantined line lacks its place: %+v", q)
			}
		}
		if len(reasons) != 2 || reasons["bad \x00\xff"] != "cannot be read" || reasons["panic now"] != "decoder panicked: index out of range" {
			t.Errorf("quarantined: %v", reasons)
		}
	})
	if s := c.Stats(); s.Quarantined != 2 || s.Ignored != 1 || s.Lines != 5 || s.Events != 2 {
		t.Errorf("stats %+v", s)
	}
}

func TestWhileTheStoreFailsNothingIsAcknowledgedOrLost(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.createStream(jetstream.StreamConfig{})
	c, _ := b.start()
	b.publish("before")
	b.waitFor(1)
	b.rec.setRefuse(func(lifecycle.Batch) error { return errors.New("disk is full") })
	b.publish(numbered(1, 100)...)
	testkit.Eventually(t, patience, func() error {
		p := c.Health()[0]
		if p.State != health.Down || !strings.Contains(p.Detail, "disk is full") {
			return fmt.Errorf("health %+v", p)
		}
		if s := c.Stats(); s.Failures < 6 {
			return fmt.Errorf("%d failures", s.Failures)
		}
		return nil
	})
	consumer, err := b.js.Consumer(t.Context(), "LINES", "fleetglass-lines")
	if err != nil {
		t.Fatal(err)
	}
	if floor := consumer.CachedInfo().AckFloor.Stream; floor != 1 {
		t.Errorf("acknowledged up to %d while the store failed, want 1", floor)
	}
	b.rec.setRefuse(nil)
	b.waitFor(101)
	b.waitAcked()
	if p := c.Health()[0]; p.State != health.OK {
		t.Errorf("health after recovery %+v", p)
	}
	b.rec.look(func(r *recorder) {
		if len(r.quarantined) != 0 {
			t.Errorf("%d lines were quarantined because the store was down", len(r.quarantined))
		}
	})
}

func TestALineThatTheStoreRefusesDoesNotBlockTheOthers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.createStream(jetstream.StreamConfig{})
	b.rec.setRefuse(func(batch lifecycle.Batch) error {
		for _, e := range batch.Events {
			if strings.HasPrefix(string(e.Raw), "poison") {
				return errors.New("value out of range")
			}
		}
		return nil
	})
	b.publish(numbered(1, 50)...)
	b.publish("poison 1")
	b.publish(numbered(51, 99)...)
	b.publish("poison 2")
	b.start()
	b.waitFor(99)
	b.waitAcked()
	b.rec.look(func(r *recorder) {
		if len(r.quarantined) != 2 {
			t.Errorf("%d lines quarantined, want 2", len(r.quarantined))
		}
		for _, q := range r.quarantined {
			if !strings.HasPrefix(string(q.Body), "poison") || !strings.Contains(q.Reason, "value out of range") {
				t.Errorf("quarantined %q: %s", q.Body, q.Reason)
			}
		}
	})
}

// The store is away for a while: the same lines are tried again and again, and are decoded once.
func TestARetryDoesNotDecodeAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.createStream(jetstream.StreamConfig{})
	var decoded atomic.Int64
	b.src.Decode = func(line collectors.Line, streams collectors.Streams, into *lifecycle.Batch) error {
		decoded.Add(1)
		return keep(line, streams, into)
	}
	refusals := 0
	b.rec.setRefuse(func(batch lifecycle.Batch) error {
		if len(batch.Events) > 0 && refusals < 6 {
			refusals++
			return fmt.Errorf("append: %w: the database is away", lifecycle.ErrUnable)
		}
		return nil
	})
	b.publish(numbered(1, 20)...)
	b.start()
	b.waitFor(20)
	b.waitAcked()
	if got := decoded.Load(); got != 20 {
		t.Errorf("%d lines were decoded, want 20", got)
	}
}

// A disk with little room left takes small batches and refuses large ones.
func TestAStoreThatIsUnableNeverCostsALine(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.createStream(jetstream.StreamConfig{})
	refused := 0
	b.rec.setRefuse(func(batch lifecycle.Batch) error {
		for _, e := range batch.Events {
			if strings.HasPrefix(string(e.Raw), "large") && refused < 20 {
				refused++
				return fmt.Errorf("append: %w: no space left on device", lifecycle.ErrUnable)
			}
		}
		return nil
	})
	b.publish(numbered(1, 50)...)
	b.publish("large")
	b.publish(numbered(51, 99)...)
	b.start()
	b.waitFor(100)
	b.waitAcked()
	b.rec.look(func(r *recorder) {
		for _, q := range r.quarantined {
			t.Errorf("quarantined %q: %s", q.Body, q.Reason)
		}
	})
}

// Neither does one that mostly fails, whatever it is asked, and does not say why.
func TestAStoreThatFailsNowAndThenNeverCostsALine(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.createStream(jetstream.StreamConfig{})
	b.cfg.BatchLines, b.cfg.Retry = 5, time.Millisecond
	random := rand.New(rand.NewPCG(1, 1))
	b.rec.setRefuse(func(lifecycle.Batch) error {
		if random.IntN(3) > 0 {
			return errors.New("the connection was lost")
		}
		return nil
	})
	b.publish(numbered(1, 500)...)
	b.start()
	b.waitFor(500)
	b.waitAcked()
	b.rec.look(func(r *recorder) {
		if len(r.quarantined) != 0 {
			t.Errorf("%d lines are quarantined", len(r.quarantined))
		}
	})
}

func TestRestartsNeitherLoseNorRepeat(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.createStream(jetstream.StreamConfig{})
	b.cfg.BatchLines = 50
	for round := range 6 {
		_, stop := b.start()
		b.publish(numbered(round*200+1, round*200+200)...)
		testkit.Eventually(t, patience, func() error {
			if b.rec.count() < round*200+37 {
				return errors.New("too few")
			}
			return nil
		})
		stop()
	}
	b.start()
	b.waitFor(1200)
	b.waitAcked()
	b.rec.look(func(r *recorder) {
		if r.repeated != 0 {
			t.Errorf("%d lines were read twice although every stop was graceful", r.repeated)
		}
	})
}

func TestAStopFinishesTheBatchInHand(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.createStream(jetstream.StreamConfig{})
	entered, release := make(chan struct{}, 1), make(chan struct{})
	b.rec.setRefuse(func(batch lifecycle.Batch) error {
		if len(batch.Events) > 0 {
			entered <- struct{}{}
			<-release
		}
		return nil
	})
	b.publish("in hand")
	c, err := collectors.New(b.cfg, b.src)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	<-entered
	cancel()
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if b.rec.count() != 1 {
		t.Errorf("the batch in hand was dropped")
	}
	b.waitAcked()
}

func TestReplicasShareTheWork(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.createStream(jetstream.StreamConfig{})
	b.cfg.BatchLines = 20
	for range 3 {
		b.start()
	}
	b.publish(numbered(1, 3000)...)
	b.waitFor(3000)
	b.waitAcked()
	b.rec.look(func(r *recorder) {
		if r.repeated != 0 {
			t.Errorf("%d lines were read by two replicas", r.repeated)
		}
		if len(r.gaps) != 0 {
			t.Errorf("gaps although nothing was lost: %v", r.gaps)
		}
	})
}

// Two sources with a backlog go in step; the store refuses a line of one of them. The other loses nothing by it.
func TestOneSourceDoesNotSufferFromTheLinesOfAnother(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.createStream(jetstream.StreamConfig{})
	if _, err := b.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "MORE", Subjects: []string{"more.>"}}); err != nil {
		t.Fatal(err)
	}
	b.cfg.Coordinator = collectors.NewBatchCoordinator(b.rec)
	b.rec.setRefuse(func(batch lifecycle.Batch) error {
		for _, e := range batch.Events {
			if string(e.Raw) == "poison" {
				return errors.New("constraint failed")
			}
		}
		return nil
	})
	b.publish(numbered(1, 1500)...)
	b.publish("poison")
	b.publish(numbered(1501, 3000)...)
	for i := range 3000 {
		if _, err := b.js.Publish(t.Context(), "more.line", fmt.Appendf(nil, "more %d", i)); err != nil {
			t.Fatal(err)
		}
	}
	b.start()
	b.src.Name, b.src.Stream = "more", "MORE"
	b.start()
	b.waitFor(6000)
	testkit.Eventually(t, patience, func() (err error) {
		b.rec.look(func(r *recorder) {
			if len(r.quarantined) != 1 {
				err = fmt.Errorf("%d lines are quarantined, want the poison alone", len(r.quarantined))
			}
		})
		return err
	})
}
