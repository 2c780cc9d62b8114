package collectors_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

func (b *bench) barrier(wait time.Duration) *collectors.PublishBarrier {
	b.t.Helper()
	g, err := collectors.NewPublishBarrier(collectors.PublishBarrierConfig{JetStream: b.js, Stream: "LINES", Durable: "fleetglass-lines", Wait: wait})
	if err != nil {
		b.t.Fatal(err)
	}
	return g
}

func TestTheBarrierOpensWhenTheBacklogIsStored(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.createStream(jetstream.StreamConfig{})
	b.rec.setRefuse(func(batch lifecycle.Batch) error {
		if len(batch.Events) > 0 {
			return errors.New("not yet")
		}
		return nil
	})
	b.cfg.Retry = 300 * time.Millisecond
	b.start()
	b.publish(numbered(1, 50)...)
	passed := make(chan int, 1)
	testkit.Eventually(t, patience, func() error { // The durable exists before the barrier is asked.
		c, err := b.js.Consumer(t.Context(), "LINES", "fleetglass-lines")
		if err == nil && c.CachedInfo().NumAckPending == 0 {
			err = errors.New("nothing was delivered yet")
		}
		return err
	})
	go func() {
		b.barrier(patience).Pause(t.Context(), 0)
		passed <- b.rec.count()
	}()
	b.rec.setRefuse(nil)
	if got := <-passed; got != 50 {
		t.Errorf("the barrier opened after %d lines, want 50", got)
	}
}

func TestTheBarrierDoesNotWaitForWhatCannotCome(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, tt := range []struct {
		name string
		prep func()
	}{
		{"no stream", func() {}},
		{"no durable", func() { b.createStream(jetstream.StreamConfig{}); b.publish("line") }},
		{"nothing waits", func() { b.start(); b.waitFor(1); b.waitAcked() }},
	} {
		tt.prep()
		began := time.Now()
		b.barrier(time.Minute).Pause(t.Context(), 0)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s: waited %s", tt.name, took)
		}
	}
	var none *collectors.PublishBarrier
	none.Pause(t.Context(), 0)
}

func TestTheBarrierGivesUpOnceWhenTheBacklogDoesNotMove(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.createStream(jetstream.StreamConfig{})
	b.publish("line")
	if _, err := b.js.CreateConsumer(t.Context(), "LINES", jetstream.ConsumerConfig{Durable: "fleetglass-lines", AckPolicy: jetstream.AckExplicitPolicy}); err != nil {
		t.Fatal(err)
	}
	const wait = time.Second
	barrier := b.barrier(wait)
	var took [3]time.Duration
	for i := range took {
		began := time.Now()
		barrier.Pause(t.Context(), 0)
		took[i] = time.Since(began)
	}
	if took[0] < wait || took[1]+took[2] > wait {
		t.Errorf("waited %v, want the first only", took)
	}
}

func TestBarredLinesComeAfterThePublishes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.createStream(jetstream.StreamConfig{})
	b.rec.setRefuse(func(batch lifecycle.Batch) error {
		for _, e := range batch.Events {
			if e.Source == "LINES" && b.slow() {
				return errors.New("slow")
			}
		}
		return nil
	})
	b.start()
	b.publish(numbered(1, 300)...)
	if _, err := b.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "ACKS", Subjects: []string{"acks.>"}}); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, patience, func() error {
		_, err := b.js.Consumer(t.Context(), "LINES", "fleetglass-lines")
		return err
	})
	if _, err := b.js.Publish(t.Context(), "acks.x", []byte("ack")); err != nil {
		t.Fatal(err)
	}
	cfg := b.cfg
	cfg.Barrier = b.barrier(patience)
	c, err := collectors.New(cfg, collectors.Source{Name: "acks", Stream: "ACKS", Decode: keep, AfterPublishes: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	b.waitFor(301)
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	b.rec.look(func(r *recorder) {
		for i, id := range r.order {
			if r.events[id].Source == "ACKS" && i != 300 {
				t.Errorf("the barred line came at place %d of 301", i)
			}
		}
	})
}

// slow is true for the first few calls.
func (b *bench) slow() bool {
	b.refused++
	return b.refused < 4
}

func TestTextsAreMadeStorable(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.createStream(jetstream.StreamConfig{})
	b.src.Decode = func(line collectors.Line, s collectors.Streams, into *lifecycle.Batch) error {
		e := line.Event(lifecycle.PublishAttempted)
		e.TaskID, e.Agent, e.Detail.Reason = string(line.Body), "a\x00b", "\xff"
		into.Events = append(into.Events, e)
		return nil
	}
	long := fmt.Sprintf("%0300d", 7)
	b.publish(long, long+"x", "plain")
	b.start()
	b.waitFor(3)
	ids := map[string]bool{}
	b.rec.look(func(r *recorder) {
		for _, e := range r.events {
			ids[e.TaskID] = true
			if len(e.TaskID) > 255 || e.Agent != "a\uFFFDb" || e.Detail.Reason != "\uFFFD" {
				t.Errorf("event %+v is not storable", e)
			}
		}
	})
	if len(ids) != 3 || !ids["plain"] {
		t.Errorf("ids %v, want three different ones", ids)
	}
}

// A stream of tasks that is slower than the stream of attempts has the message of an attempt stored, and its line captured, when the attempt was read long ago.
func TestAPatientBarrierWaitsForAPublishThatIsStillStored(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.createStream(jetstream.StreamConfig{})
	b.start()
	b.publish("before")
	b.waitFor(1)
	b.waitAcked()
	barrier, err := collectors.NewPublishBarrier(collectors.PublishBarrierConfig{JetStream: b.js, Stream: "LINES", Durable: "fleetglass-lines", Lead: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	attempted := lifecycle.MicrosOf(time.Now())
	opened := make(chan int, 1)
	go func() {
		barrier.Patient().Pause(t.Context(), attempted)
		opened <- b.rec.count()
	}()
	time.AfterFunc(100*time.Millisecond, func() { b.publish("stored late") })
	if got := <-opened; got != 2 {
		t.Errorf("the barrier opened after %d lines, want 2", got)
	}
}
