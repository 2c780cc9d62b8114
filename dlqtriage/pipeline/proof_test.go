package pipeline

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

// stale is a retry whose sender died after it may have published, so long ago that the stream knows no message id of that time.
func stale(t *testing.T, published bool) (*world, dlqtriage.Action) {
	t.Helper()
	return claimed(t, published, 3*time.Hour)
}

// claimed is a retry whose sender died some time ago after it may have published.
func claimed(t *testing.T, published bool, ago time.Duration) (*world, dlqtriage.Action) {
	t.Helper()
	js := broker(t)
	begun := time.Now()
	past := func() time.Time { return begun.Add(-ago) }
	path := temporary(t)
	old := newWorld(t, js, path, func(c *Config) { c.Now = past })
	a := old.act(retryOf(old.dead("t1"), "k1"))
	claim := func(after uint64) decision.Claimed {
		r := decision.ClaimRequest{Queue: dlqtriage.QueueRetry, Holder: "dies", Now: lifecycle.MicrosOf(past()), Lease: time.Second, Limit: 1}
		if after > 0 {
			r.Effect, r.After = a.ID, after
		}
		got, err := old.store.Claim(t.Context(), r)
		if err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
		return got[0]
	}
	relayed := claim(0)
	d, err := dlqtriage.ReadDelivery(claim(relayed.Token).Body)
	if err != nil {
		t.Fatal(err)
	}
	if published { // Under another message id, as one that the stream has forgotten.
		m := nats.NewMsg(d.Message.Subject)
		m.Header.Set(fleet.HeaderTaskID, "t1")
		m.Header.Set(fleet.HeaderTriageAction, a.ID)
		if _, err := js.PublishMsg(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	return newWorld(t, js, path, nil), a
}

// allRead makes the durable by which it is known that all publishes were read, and reads all.
func (w *world) allRead() {
	w.t.Helper()
	c, err := w.js.CreateConsumer(w.t.Context(), fleet.CapturePub, jetstream.ConsumerConfig{Durable: w.pipe.cfg.Durable, AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		w.t.Fatal(err)
	}
	testkit.Eventually(w.t, patience, func() error {
		batch, err := c.FetchNoWait(100)
		if err != nil {
			return err
		}
		for m := range batch.Messages() {
			if err := m.DoubleAck(w.t.Context()); err != nil {
				return err
			}
		}
		s := &sender{Config: w.pipe.cfg}
		return s.allRead(w.t.Context())
	})
}

// saw stores what the collector of publishes would: that the retry was published.
func (w *world) saw(a dlqtriage.Action, seq uint64) {
	w.t.Helper()
	e := lifecycle.Event{
		ID: lifecycle.NewEventID("test", "retry"), At: lifecycle.MicrosOf(time.Now()), Kind: lifecycle.Published, Provenance: lifecycle.Observed, Source: "test", TaskID: "t1",
		Message: lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: seq}, Agent: "cto",
	}
	key, _ := dlqtriage.ParseEntryID(a.Entry)
	e.Detail.MsgID, e.Detail.RetryOf, e.Detail.Generation, e.Detail.Publisher = "t1:r1", key.String(), 1, fleet.PublisherFleetglass
	if _, err := w.store.Append(w.t.Context(), lifecycle.Batch{Events: []lifecycle.Event{e}}); err != nil {
		w.t.Fatal(err)
	}
}

func TestWhatWasSeenToBePublishedIsNotPublishedAgain(t *testing.T) {
	t.Parallel()
	w, a := stale(t, true)
	w.saw(a, 1)
	w.runs()
	got := w.ended(a.ID)
	if n := len(w.sent("t1")); n != 1 || got.Sent == nil || got.Sent.Seq != 1 {
		t.Errorf("%d messages, action %+v; want the one that was seen", n, got.Progress)
	}
}

func TestWhatIsProvedUnpublishedIsPublished(t *testing.T) {
	t.Parallel()
	w, a := stale(t, false)
	w.allRead()
	w.runs()
	w.sentOnce("t1", w.ended(a.ID))
}

func TestAFleetWhoseTasksAreInOtherStreamsIsRetriedToo(t *testing.T) {
	t.Parallel()
	w, a := stale(t, false)
	if err := w.js.DeleteStream(t.Context(), fleet.StreamTasks); err != nil {
		t.Fatal(err)
	}
	if _, err := w.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "TASKS_CTO", Subjects: []string{"genbrain.agents.cto.tasks.>"}, Retention: jetstream.WorkQueuePolicy}); err != nil {
		t.Fatal(err)
	}
	w.allRead()
	w.runs()
	if got := w.ended(a.ID); got.Sent == nil || got.Sent.Stream != "TASKS_CTO" {
		t.Errorf("it ended as %+v, want a message in TASKS_CTO", got.Progress)
	}
}

func TestUntilAllIsReadNothingIsPublishedThatMayHaveBeen(t *testing.T) {
	t.Parallel()
	w, a := stale(t, true)
	w.waitsForReading(a)
	if n := len(w.sent("t1")); n != 1 {
		t.Errorf("%d messages, want only the one from before", n)
	}
	w.saw(a, 1)
	if got := w.ended(a.ID); got.Sent == nil || got.Sent.Seq != 1 {
		t.Errorf("action %+v", got.Progress)
	}
}

// waitsForReading makes the durable by which it is known that all publishes were read, and waits until the sender has found that they were not.
func (w *world) waitsForReading(a dlqtriage.Action) {
	w.t.Helper()
	if _, err := w.js.CreateConsumer(w.t.Context(), fleet.CapturePub, jetstream.ConsumerConfig{Durable: w.pipe.cfg.Durable, AckPolicy: jetstream.AckExplicitPolicy}); err != nil {
		w.t.Fatal(err)
	}
	w.runs()
	testkit.Eventually(w.t, patience, func() error {
		effects, err := w.store.EffectsOf(w.t.Context(), a.ID)
		if err == nil && (len(effects) != 1 || !strings.Contains(string(effects[0].Result), errNotYet.Error())) {
			err = fmt.Errorf("the sender does not wait: %+v", effects)
		}
		return err
	})
}

func TestWhereAGapHidesWhatWasPublishedAPersonMustLook(t *testing.T) {
	t.Parallel()
	w, a := stale(t, true)
	w.allRead()
	now := lifecycle.MicrosOf(time.Now())
	if _, err := w.store.Append(t.Context(), lifecycle.Batch{Gaps: []lifecycle.Gap{{Source: fleet.CapturePub, From: now.Add(-time.Hour), To: now}}}); err != nil {
		t.Fatal(err)
	}
	w.runs()
	got := w.ended(a.ID)
	if got.Status != dlqtriage.ActionFailed || !strings.Contains(got.Why, "t1:r1") || len(w.sent("t1")) != 1 {
		t.Errorf("action %+v, %d messages; want it given up", got.Progress, len(w.sent("t1")))
	}
	e, err := w.store.Entry(t.Context(), a.Entry)
	if err != nil || e.Status != dlqtriage.StatusOpen {
		t.Errorf("the entry is %s, %v; want it open again", e.Status, err)
	}
}

func TestAMessageIDThatSomebodyElseTookIsNoSuccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, broker(t), temporary(t), nil)
	entry := w.dead("t1")
	m := nats.NewMsg("genbrain.agents.cto.tasks.review")
	m.Header.Set(nats.MsgIdHdr, "t1:r1")
	if _, err := w.js.PublishMsg(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	w.runs()
	got := w.ended(w.act(retryOf(entry, "k1")).ID)
	if got.Status != dlqtriage.ActionFailed || got.Sent != nil || got.Why == "" {
		t.Errorf("action %+v, want it failed", got.Progress)
	}
}
