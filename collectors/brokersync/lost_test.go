package brokersync_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

func (b *bench) gaps(t *testing.T) []lifecycle.Gap {
	t.Helper()
	gaps, err := b.store.Gaps(t.Context(), 0, lifecycle.MicrosOf(time.Now().Add(time.Hour)), 100)
	if err != nil {
		t.Fatal(err)
	}
	return gaps
}

func TestPublishesOfWhichTheLineWasLostAreReadFromTheStreamOrBecomeAGap(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := b.agent(t, "lossy").works(nats.ConsumerConfig{})
	for i := range 9 {
		a.publish(fmt.Sprintf("task-%d", i+1))
	}
	for range 4 {
		a.must(a.takes().AckSync())
	}
	b.captured(t, "OBS_PUB", 9)
	b.captured(t, "OBS_ACK", 4)
	for _, line := range []uint64{2, 3, 6, 7, 9} { // 2 and 3 are gone from the stream, the others are not.
		a.must(a.js.DeleteMsg("OBS_PUB", line))
	}
	for _, line := range []uint64{2, 3} {
		a.must(a.js.DeleteMsg("OBS_ACK", line))
	}
	b.start()
	for _, i := range []int{6, 7, 9} {
		b.expect(t, fmt.Sprintf("task-%d", i), "published (stored) [publish_unseen]")
	}
	b.expect(t, "task-1", "completed (acknowledged)\n1 acked")
	b.expect(t, "task-4", "completed (acknowledged)\n1 acked") // Lines were lost up to its answer, so when it was delivered is not exact.
	b.expect(t, "task-5", "published (stored)")
	var gaps []lifecycle.Gap
	testkit.Eventually(t, patience, func() error {
		gaps = slices.DeleteFunc(b.gaps(t), func(g lifecycle.Gap) bool { return !strings.Contains(g.Reason, "TASKS") })
		if len(gaps) != 1 {
			return fmt.Errorf("gaps: %+v", gaps)
		}
		return nil
	})
	first, last := b.storedAt(t, "task-1"), b.storedAt(t, "task-4")
	want := []lifecycle.Gap{{Source: "OBS_PUB", From: first, To: last, FromSeq: 2, ToSeq: 3, Reason: gaps[0].Reason}}
	if diff := cmp.Diff(want, gaps); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
	r, err := b.store.Task(t.Context(), "task-6")
	if err != nil {
		t.Fatal(err)
	}
	s := r.Messages[0].Stored
	if s.MsgID != "task-6" || s.Type != "blog" || s.Title != "Title of task-6" || s.PayloadHash == "" || r.Messages[0].Agent != "lossy" {
		t.Errorf("facts of a repaired message: %+v of %q", s, r.Messages[0].Agent)
	}
	p, err := b.store.Payload(t.Context(), r.Messages[0].Key)
	if err != nil || string(p.Body) != `{"taskId":"task-6","type":"blog","payload":{"title":"Title of task-6"}}` || len(p.Headers) != 1 {
		t.Errorf("payload of a repaired message: %q, headers %v, %v", p.Body, p.Headers, err)
	}
	b.noTwins(t, "task-6")
}

// The lines of a message's own time to live go from the middle of the capture stream, before Fleetglass is there. The first line that it finds is not the first one that
// was captured.
func TestLinesThatWentFromTheMiddleBeforeTheFirstOneAreAGap(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := b.agent(t, "lossy").works(nats.ConsumerConfig{})
	a.must(a.nc.Publish("obs.pub.of.another", nil))
	for i := range 4 {
		a.publish(fmt.Sprintf("task-%d", i+1))
	}
	b.captured(t, "OBS_PUB", 5)
	for seq := uint64(1); seq <= 3; seq++ {
		a.must(a.js.DeleteMsg("OBS_PUB", seq+1))
		a.must(a.js.DeleteMsg("TASKS", seq))
	}
	b.start()
	b.expect(t, "task-4", "published (stored)")
	testkit.Eventually(t, patience, func() error {
		for _, g := range b.gaps(t) {
			if strings.Contains(g.Reason, "publish lines of TASKS were lost") && g.FromSeq == 1 && g.ToSeq == 3 {
				return nil
			}
		}
		return fmt.Errorf("gaps: %+v", b.gaps(t))
	})
}

// A capture stream without a leader loses publish lines for seconds, over several polls. No part may take the place of the one before, and what was
// stored long before is not in doubt.
func TestARunOfLostLinesThatIsFoundInPartsIsOneGap(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := b.agent(t, "lossy")
	a.publish("seen")
	b.captured(t, "OBS_PUB", 1)
	b.start()
	b.expect(t, "seen", "published (stored) [orphaned]")
	b.tasks(t, func(c *jetstream.StreamConfig) { c.RePublish.Destination = "nowhere.{{wildcard(1)}}.>" })
	for part := range uint64(2) {
		for i := range uint64(3) {
			a.publish(fmt.Sprintf("lost-%d-%d", part, i))
			a.must(a.js.DeleteMsg("TASKS", 2+3*part+i))
		}
		testkit.Eventually(t, patience, func() error {
			gaps := slices.DeleteFunc(b.gaps(t), func(g lifecycle.Gap) bool { return !strings.Contains(g.Reason, "TASKS") })
			if len(gaps) != 1 || gaps[0].FromSeq != 2 || gaps[0].ToSeq != 4+3*part || gaps[0].From != b.storedAt(t, "seen") {
				return fmt.Errorf("want one gap of lines 2 to %d since %d, got %+v", 4+3*part, b.storedAt(t, "seen"), gaps)
			}
			return nil
		})
	}
}

func (b *bench) storedAt(t *testing.T, task string) lifecycle.Micros {
	t.Helper()
	r, err := b.store.Task(t.Context(), task)
	if err != nil || len(r.Messages) == 0 || r.Messages[0].Stored == nil {
		t.Fatalf("task %s: %+v, %v", task, r, err)
	}
	return r.Messages[0].Stored.At
}

func TestWhatWasPublishedBeforeCaptureIsReadInWithoutAGap(t *testing.T) {
	t.Parallel()
	srv := testkit.BareBroker(t)
	b := benchOn(t, srv, newStore(t))
	if _, err := b.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "TASKS", Subjects: []string{"genbrain.agents.*.tasks.>"}, Retention: jetstream.WorkQueuePolicy}); err != nil {
		t.Fatal(err)
	}
	a := b.agent(t, "old").works(nats.ConsumerConfig{})
	for i := range 30 {
		a.publish(fmt.Sprintf("old-%d", i+1))
	}
	for range 10 {
		a.must(a.takes().AckSync())
	}
	testkit.Provision(t, srv, fleet.Streams{Contract: b.cfg.Contract})
	a.publish("new")
	b.cfg.PageSize = 7
	b.start()
	b.expect(t, "new", "published (stored)")
	for i := range 20 {
		b.expect(t, fmt.Sprintf("old-%d", i+11), "published (stored) [publish_unseen]")
	}
	if gaps := b.gaps(t); len(gaps) != 0 {
		t.Errorf("the past was declared a gap: %+v", gaps)
	}
	if _, err := b.store.Task(t.Context(), "old-1"); !errors.Is(err, lifecycle.ErrNotFound) {
		t.Errorf("a task was made up: %s, %v", b.trace("old-1"), err)
	}
}

func TestAPublishThatStoredNothingIsCalledSo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cfg.NotStored = 300 * time.Millisecond
	b.start()
	b.tasks(t, func(c *jetstream.StreamConfig) { c.MaxMsgSize = 500 })
	a := b.agent(t, "refused")
	m := nats.NewMsg("genbrain.agents.refused.tasks.blog")
	m.Data = make([]byte, 1000)
	m.Header.Set("Nats-Msg-Id", "refused")
	if _, err := a.js.PublishMsg(m); err == nil {
		t.Fatal("the stream took a message that it should refuse")
	}
	a.publish("taken")
	b.expect(t, "refused", "outcome_unknown (nothing proved) [not_stored]")
	b.expect(t, "taken", "published (stored) [orphaned]")
}

// Where the store may have deleted what it knew of a task that can come again, nobody is to publish the task again because nothing of it is known.
func TestWhatRetentionMayHaveDeletedIsDoubted(t *testing.T) {
	t.Parallel()
	for kept, doubt := range map[time.Duration]bool{fleet.RecordRetention - time.Minute: true, fleet.RecordRetention + time.Minute: false} {
		t.Run(kept.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.cfg.NotStored = 300 * time.Millisecond
			deleted := lifecycle.Batch{Watermarks: map[string]string{lifecycle.WatermarkRetained: fmt.Sprint(int64(lifecycle.MicrosOf(time.Now().Add(-kept))))}}
			if _, err := b.store.Append(t.Context(), deleted); err != nil {
				t.Fatal(err)
			}
			b.start()
			b.tasks(t, func(c *jetstream.StreamConfig) { c.MaxMsgSize = 500 })
			m := nats.NewMsg("genbrain.agents.refused.tasks.blog")
			m.Data = make([]byte, 1000)
			m.Header.Set("Nats-Msg-Id", "refused")
			if _, err := b.agent(t, "refused").js.PublishMsg(m); err == nil {
				t.Fatal("the stream took a message that it should refuse")
			}
			b.expect(t, "refused", "outcome_unknown (nothing proved) [not_stored]")
			if r, err := b.store.Task(t.Context(), "refused"); err != nil || (r.Facts.NotStoredDoubt != "") != doubt {
				t.Errorf("deleted up to %s ago: doubt %q, %v", kept, r.Facts.NotStoredDoubt, err)
			}
		})
	}
}

// A publish whose line was lost is not taken for one that stored nothing, although nothing that was captured says otherwise.
func TestAPublishWhoseLineWasLostIsNeverCalledNotStored(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cfg.NotStored = time.Millisecond
	a := b.agent(t, "lossy").works(nats.ConsumerConfig{})
	for i := range 20 {
		a.publish(fmt.Sprintf("task-%d", i+1))
	}
	b.captured(t, "OBS_PUB", 20)
	for line := range uint64(20) {
		a.must(a.js.DeleteMsg("OBS_PUB", line+1))
	}
	b.startLines()
	testkit.Eventually(t, patience, func() error {
		tasks, err := b.store.UnlistedTasks(t.Context(), lifecycle.MicrosOf(time.Now().Add(time.Hour)), 100)
		if err == nil && len(tasks) < 20 {
			err = fmt.Errorf("%d attempts are stored", len(tasks))
		}
		return err
	})
	b.cfg.PageSize = 7 // Comparing takes several polls.
	b.startState()
	for i := range 20 {
		task := fmt.Sprintf("task-%d", i+1)
		b.expect(t, task, "published (stored) [publish_unseen]")
		if said := b.events(task); strings.Contains(said, string(lifecycle.NotStored)) {
			t.Errorf("%s was stored; its events:\n%s", task, said)
		}
	}
}

// What was published between the beginning of two captures has an attempt and no publish line, and counts as published before the observation began.
func TestAPublishFromBeforeOurTimeIsNeverCalledNotStored(t *testing.T) {
	const early = 300
	t.Parallel()
	srv := testkit.BareBroker(t)
	b := benchOn(t, srv, newStore(t))
	if _, err := b.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "TASKS", Subjects: []string{"genbrain.agents.*.tasks.>"}, Retention: jetstream.WorkQueuePolicy}); err != nil {
		t.Fatal(err)
	}
	testkit.Provision(t, srv, fleet.Streams{Contract: b.cfg.Contract})
	b.cfg.NotStored = time.Millisecond
	a := b.agent(t, "early").works(nats.ConsumerConfig{})
	for i := range early {
		a.publish(fmt.Sprintf("task-%d", i+1))
	}
	b.captured(t, "OBS_PUB", early)
	for line := range uint64(early - 1) {
		a.must(a.js.DeleteMsg("OBS_PUB", line+1))
	}
	b.startLines()
	testkit.Eventually(t, patience, func() error {
		tasks, err := b.store.UnlistedTasks(t.Context(), lifecycle.MicrosOf(time.Now().Add(time.Hour)), early)
		if err == nil && len(tasks) < early-1 {
			err = fmt.Errorf("%d attempts are stored", len(tasks))
		}
		return err
	})
	b.cfg.PageSize = 1 // Reading in takes many polls, and longer than the pause between two polls for what was not stored.
	b.startState()
	for i := range early {
		b.expect(t, fmt.Sprintf("task-%d", i+1), "published (stored)"+[]string{" [publish_unseen]", ""}[i/(early-1)])
	}
	for i := range early {
		if said := b.events(fmt.Sprintf("task-%d", i+1)); strings.Contains(said, string(lifecycle.NotStored)) {
			t.Errorf("task-%d was stored; its events:\n%s", i+1, said)
		}
	}
}

func TestAStreamThatIsCreatedAgainBeginsAnew(t *testing.T) {
	t.Parallel()
	t.Run("watched", func(t *testing.T) {
		t.Parallel()
		b := deletedAndTold(t, func(b *bench) {
			b.start()
			b.phoenix(t, func() { b.expect(t, "first", "delivered (delivered)\n1 open exact silent") })
		})
		b.expectPhoenix(t, "outcome_unknown (removed after delivery)\n1 removed exact silent\ngone: stream deleted")
	})
	t.Run("not watched", func(t *testing.T) {
		t.Parallel()
		b := deletedAndTold(t, func(b *bench) { b.phoenix(t, func() {}) })
		b.start()
		b.expectPhoenix(t, "outcome_unknown (vanished)\ngone: stream deleted")
	})
}

// deletedAndTold deletes a stream until the broker tells of it, which it does not always get round to (docs/broker-facts.md).
func deletedAndTold(t *testing.T, deletes func(*bench)) (b *bench) {
	t.Helper()
	for range 5 {
		b = newBench(t)
		if deletes(b); b.toldOfDeletion(t) {
			break
		}
	}
	return b
}

// phoenix publishes "first", deletes the stream, creates it again and publishes "second". A worker takes each and is silent.
func (b *bench) phoenix(t *testing.T, taken func()) {
	t.Helper()
	a := b.agent(t, "phoenix").works(nats.ConsumerConfig{AckWait: time.Hour})
	a.publish("first")
	a.takes()
	taken()
	s, err := b.js.Stream(t.Context(), "TASKS")
	a.must(err)
	cfg := s.CachedInfo().Config
	a.must(a.js.DeleteStream("TASKS"))
	_, err = b.js.CreateStream(t.Context(), cfg)
	a.must(err)
	a.works(nats.ConsumerConfig{AckWait: time.Hour}).publish("second")
	a.takes()
}

func (b *bench) expectPhoenix(t *testing.T, first string) {
	t.Helper()
	b.expect(t, "second", "delivered (delivered)\n1 open exact silent")
	b.expect(t, "first", first)
	lost := slices.DeleteFunc(b.gaps(t), func(g lifecycle.Gap) bool { return g.Source == lifecycle.Absent("TASKS") }) // A look may come between the two lives.
	if len(lost) != 0 {
		t.Errorf("gaps: %+v", lost)
	}
}

// toldOfDeletion reports whether the broker told of the stream's deletion. What it tells of the new stream comes later.
func (b *bench) toldOfDeletion(t *testing.T) bool {
	t.Helper()
	var deleted error
	testkit.Eventually(t, patience, func() error {
		s, err := b.js.Stream(t.Context(), "OBS_EVT")
		if err != nil {
			return err
		}
		info, err := s.Info(t.Context(), jetstream.WithSubjectFilter("$JS.EVENT.ADVISORY.CONSUMER.CREATED.TASKS.>"))
		if err != nil {
			return err
		}
		consumers := 0
		for _, n := range info.State.Subjects {
			consumers += int(n)
		}
		if consumers < 2 {
			return fmt.Errorf("%d consumers were told of, want that of each life", consumers)
		}
		_, deleted = s.GetLastMsgForSubject(t.Context(), "$JS.EVENT.ADVISORY.STREAM.DELETED.TASKS")
		return nil
	})
	return deleted == nil
}
