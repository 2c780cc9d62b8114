//go:build linux

package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

// attached says what is there beside a fleet.
type attached int

const (
	alone    attached = iota // Neither capture streams nor Fleetglass.
	captured                 // The streams that `fleetglass provision` makes, and nobody reads them.
	observed                 // Fleetglass in a process of its own, too.
)

// measureSaturated asks what Fleetglass costs a fleet that has no time to spare: broker, fleet and Fleetglass are three processes that
// share the machine.
func measureSaturated(b *bench) {
	measurePlain(b)
	measureKit(b)
}

// measurePlain is about the fastest fleet there is, which does nothing but what the broker needs.
func measurePlain(b *bench) {
	var without, captures, with, lags []float64
	for range b.form.runs {
		rate, _ := saturate(b, alone)
		without = append(without, rate)
		rate, _ = saturate(b, captured)
		captures = append(captures, rate)
		rate, lag := saturate(b, observed)
		with, lags = append(with, rate), append(lags, lag.Seconds())
	}
	note := fmt.Sprintf("%d tasks under way at once; Fleetglass knew everything %s s (median) after the fleet had stopped", window, figure(Median(lags)))
	b.add(
		Ratio("saturated/observed", "tasks of a saturated fleet with captures and Fleetglass, against neither", "tasks/s", with, without,
			&Ruler{Floor: 0.65, Goal: 0.8}).With(note),
		Ratio("saturated/captured", "the same with capture streams that nobody reads", "tasks/s", captures, without, nil),
		Ratio("saturated/reading", "with Fleetglass, against captures that nobody reads", "tasks/s", with, captures, nil),
	)
}

// measureKit is about a fleet as the wire contract describes it: agents that hold one task at a time, look for its record, do nothing,
// record completion and acknowledge. They do not report.
func measureKit(b *bench) {
	var without, captures, with []float64
	for range b.form.runs {
		without = append(without, saturateKit(b, alone))
		captures = append(captures, saturateKit(b, captured))
		with = append(with, saturateKit(b, observed))
	}
	b.add(
		Ratio("saturated/kit/observed", "tasks of the contract's agents, with captures and Fleetglass, against neither", "tasks/s", with, without,
			&Ruler{Floor: 0.65, Goal: 0.8}),
		Ratio("saturated/kit/captured", "the same with capture streams that nobody reads", "tasks/s", captures, without, nil),
	)
}

// saturateKit returns the tasks a second of the contract's agents on a new broker.
func saturateKit(b *bench, beside attached) float64 {
	b.Helper()
	dir := b.TempDir()
	broker := startBroker(b, dir)
	defer broker.kill()
	js := dial(b, broker.url)
	defer js.Conn().Close()
	if beside == alone {
		createTasks(b, js)
		if _, err := js.CreateKeyValue(b.Context(), jetstream.KeyValueConfig{Bucket: fleet.BucketIdempotency}); err != nil {
			b.Fatal(err)
		}
	} else {
		provision(b, js)
	}
	f := &recordedFleet{js: js, tasks: b.form.tasks, silent: true, free: make(chan struct{}, window)}
	if beside == observed {
		glass := startProgram(b, filepath.Join(dir, "data"), "--nats-url", broker.url)
		defer glass.kill()
		glass.ready(b)
		defer func() { glass.catchUp(b, f.tasks) }()
	}
	return f.rate(b)
}

// rate is how many tasks a second the agents do.
func (f *recordedFleet) rate(t testing.TB) float64 {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	if err := f.open(ctx); err != nil {
		t.Fatal(err)
	}
	working, done := errgroup.WithContext(ctx)
	for _, w := range f.workers {
		working.Go(func() error { return w.Run(done) })
	}
	began := time.Now()
	if err := f.publish(ctx); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 10*time.Minute, f.finished)
	spent := time.Since(began)
	stop()
	if err := working.Wait(); err != nil {
		t.Fatal(err)
	}
	return float64(f.tasks) / spent.Seconds()
}

// saturate lets a fleet work on a new broker and returns its tasks a second, and how long Fleetglass needed afterwards to know
// everything.
func saturate(t testing.TB, beside attached) (rate float64, lag time.Duration) {
	t.Helper()
	dir := t.TempDir()
	broker := startBroker(t, dir)
	defer broker.kill()
	js := dial(t, broker.url)
	defer js.Conn().Close()
	if beside == alone {
		createTasks(t, js)
	} else {
		provision(t, js)
	}
	var glass *program
	if beside == observed {
		glass = startProgram(t, filepath.Join(dir, "data"), "--nats-url", broker.url)
		defer glass.kill()
		glass.ready(t)
	}
	f := newPlainFleet(t, js)
	rate = f.rate(t, beside != alone)
	if glass == nil {
		return rate, 0
	}
	stopped := time.Now()
	glass.catchUp(t, int(f.acked.Load()))
	return rate, time.Since(stopped)
}

// rate is how many tasks a second the fleet does once it runs.
func (f *plainFleet) rate(t testing.TB, sampled bool) float64 {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	working := f.workers(ctx, t, sampled)
	publishing, stopPublishing := context.WithCancel(ctx)
	defer stopPublishing()
	flooded := make(chan error, 1)
	go func() { flooded <- f.flood(publishing) }()
	span := forms[*flagForm].saturate
	time.Sleep(span / 8) // Until everything is warm.
	began, before := time.Now(), f.acked.Load()
	time.Sleep(span)
	rate := float64(f.acked.Load()-before) / time.Since(began).Seconds()
	stopPublishing()
	if err := <-flooded; err != nil {
		t.Fatal(err)
	}
	f.drained(t)
	stop()
	if err := working.Wait(); err != nil {
		t.Fatal(err)
	}
	return rate
}

// createTasks makes the task stream as a fleet without Fleetglass has it.
func createTasks(t testing.TB, js jetstream.JetStream) {
	t.Helper()
	for _, cfg := range (fleet.Streams{Contract: contract}).Configs() {
		if cfg.Name != fleet.StreamTasks {
			continue
		}
		cfg.RePublish = nil
		if _, err := js.CreateStream(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
}
