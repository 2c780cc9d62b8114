package publishes_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"fleetglass/collectors"
	"fleetglass/collectors/publishes"
	"fleetglass/fleet"
	"fleetglass/internal/health"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/store/sqlite"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(testkit.BrokerGoroutine))
}

const patience = 20 * time.Second

// rig is a provisioned broker, a SQLite store and the configuration of collectors between them.
type rig struct {
	t     *testing.T
	js    jetstream.JetStream
	store *sqlite.Store
	cfg   collectors.Config
}

func newRig(t *testing.T, s fleet.Streams) *rig {
	t.Helper()
	srv := testkit.BareBroker(t)
	s.Contract = fleet.NewContract("")
	testkit.Provision(t, srv, s)
	r := &rig{t: t, js: testkit.JetStream(t, srv)}
	store, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "store.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	r.store = store
	inc, err := collectors.NewIncarnationResolver(collectors.IncarnationResolverConfig{JetStream: r.js, Appender: store, Watermarks: store, Contract: s.Contract})
	if err != nil {
		t.Fatal(err)
	}
	barrier, err := collectors.NewPublishBarrier(collectors.PublishBarrierConfig{JetStream: r.js, Stream: fleet.CapturePub, Durable: collectors.DurableName("", publishes.SourceStored)})
	if err != nil {
		t.Fatal(err)
	}
	r.cfg = collectors.Config{JetStream: r.js, Appender: store, Watermarks: store, Incarnations: inc, Contract: s.Contract, Barrier: barrier,
		Retry: 10 * time.Millisecond}
	return r
}

// start runs a collector until the returned function, or the end of the test.
func (r *rig) start(c interface{ Run(context.Context) error }, err error) (stop func()) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			r.t.Error(err)
		}
	}
	r.t.Cleanup(stop)
	return stop
}

func (r *rig) stored() (*collectors.Collector, error) {
	return publishes.New(publishes.Config{Config: r.cfg, BodyLimit: 100})
}

func (r *rig) attempts() (*publishes.Attempts, error) {
	return publishes.NewAttempts(publishes.AttemptsConfig{Config: r.cfg, Check: 100 * time.Millisecond})
}

func (r *rig) publish(id, body string) *jetstream.PubAck {
	r.t.Helper()
	m := nats.NewMsg("genbrain.agents.backend.tasks.code_review")
	m.Header.Set("Nats-Msg-Id", id)
	m.Data = []byte(body)
	ack, err := r.js.PublishMsg(r.t.Context(), m)
	if err != nil {
		r.t.Fatal(err)
	}
	return ack
}

func (r *rig) eventually(check func() error) {
	r.t.Helper()
	testkit.Eventually(r.t, patience, check)
}

// task waits until the task satisfies the check.
func (r *rig) task(id string, check func(lifecycle.TaskRecord) error) {
	r.t.Helper()
	r.eventually(func() error {
		rec, err := r.store.Task(r.t.Context(), id)
		if err != nil {
			return err
		}
		return check(rec)
	})
}

func TestThreePublishesOfOneIDAreOneMessageAndTwoCaught(t *testing.T) {
	t.Parallel()
	r := newRig(t, fleet.Streams{})
	r.start(r.stored())
	r.start(r.attempts())
	for range 3 {
		r.publish("T-1", `{"payload":{"title":"Review it"}}`)
	}
	r.task("T-1", func(rec lifecycle.TaskRecord) error {
		s := rec.Summary
		if s.Duplicates != 2 || s.Messages != 1 || s.State != lifecycle.StatePublished || s.Agent != "backend" || s.Type != "code_review" || s.Title != "Review it" {
			return fmt.Errorf("summary %+v", s)
		}
		return nil
	})
	p, err := r.store.Payload(t.Context(), lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: 1})
	if err != nil {
		t.Fatal(err)
	}
	if string(p.Body) != `{"payload":{"title":"Review it"}}` || len(p.Headers) != 1 || p.Truncated {
		t.Errorf("payload %+v", p)
	}
}

func TestALargeBodyIsKeptInPart(t *testing.T) {
	t.Parallel()
	r := newRig(t, fleet.Streams{})
	r.start(r.stored())
	body := bytes.Repeat([]byte("x"), 7<<20)
	r.publish("big", string(body))
	r.task("big", func(lifecycle.TaskRecord) error { return nil })
	p, err := r.store.Payload(t.Context(), lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Body) != 100 || p.Size != 7<<20 || !p.Truncated {
		t.Errorf("%d bytes kept of %d, truncated %t", len(p.Body), p.Size, p.Truncated)
	}
}

func TestPublishesWhileWeWereDownAreSeen(t *testing.T) {
	t.Parallel()
	r := newRig(t, fleet.Streams{})
	const rounds, each = 4, 50
	for round := range rounds {
		for i := range each {
			r.publish(fmt.Sprintf("T-%d-%d", round, i), "{}")
		}
		stop := r.start(r.stored())
		r.publish(fmt.Sprintf("T-%d-last", round), "{}")
		r.task(fmt.Sprintf("T-%d-%d", round, 0), func(lifecycle.TaskRecord) error { return nil })
		stop()
	}
	r.start(r.stored())
	r.eventually(func() error {
		page, err := r.store.ListTasks(t.Context(), lifecycle.Filter{}, lifecycle.Page{Limit: 1000})
		if err != nil {
			return err
		}
		if len(page.Tasks) != rounds*(each+1) {
			return fmt.Errorf("%d tasks, want %d", len(page.Tasks), rounds*(each+1))
		}
		for _, s := range page.Tasks {
			if s.Messages != 1 {
				return fmt.Errorf("task %s has %d messages", s.TaskID, s.Messages)
			}
		}
		return nil
	})
	gaps, err := r.store.Gaps(t.Context(), 0, lifecycle.MicrosOf(time.Now().Add(time.Hour)), 10)
	if err != nil || len(gaps) != 0 {
		t.Errorf("gaps %v, error %v", gaps, err)
	}
}

func TestMessageNumberOneOfAStreamCreatedAgainIsAnotherMessage(t *testing.T) {
	t.Parallel()
	for _, down := range []bool{false, true} {
		r := newRig(t, fleet.Streams{})
		stop := r.start(r.stored())
		r.publish("first", "{}")
		r.task("first", func(lifecycle.TaskRecord) error { return nil })
		if down {
			stop()
		}
		if err := r.js.DeleteStream(t.Context(), fleet.StreamTasks); err != nil {
			t.Fatal(err)
		}
		if _, err := fleet.Provision(t.Context(), r.js, fleet.Streams{Contract: r.cfg.Contract}); err != nil {
			t.Fatal(err)
		}
		if ack := r.publish("second", "{}"); ack.Sequence != 1 {
			t.Fatalf("sequence %d", ack.Sequence)
		}
		if down {
			inc, err := collectors.NewIncarnationResolver(collectors.IncarnationResolverConfig{JetStream: r.js, Appender: r.store, Watermarks: r.store, Contract: r.cfg.Contract})
			if err != nil {
				t.Fatal(err)
			}
			r.cfg.Incarnations = inc
			r.start(r.stored())
		}
		r.task("second", func(rec lifecycle.TaskRecord) error {
			if k := rec.Summary.Message; k.Seq != 1 || k.Stream.Epoch == 0 {
				return fmt.Errorf("down %t: message %s, want number 1 of a later life", down, k)
			}
			return nil
		})
		r.task("first", func(rec lifecycle.TaskRecord) error {
			if k := rec.Summary.Message.String(); k != "TASKS:1" || rec.Summary.Messages != 1 {
				return fmt.Errorf("down %t: message %s", down, k)
			}
			return nil
		})
	}
}

// withoutFeed is a broker whose account does not show attempts to OBS_RAW.
func withoutFeed(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, fleet.Streams{})
	if err := r.js.DeleteStream(t.Context(), fleet.CaptureRaw); err != nil {
		t.Fatal(err)
	}
	if _, err := r.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: fleet.CaptureRaw, Subjects: []string{"nothing.comes.here"}}); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAttemptsAreHeardWhereNothingRecordsThem(t *testing.T) {
	t.Parallel()
	r := withoutFeed(t)
	r.start(r.stored())
	a, err := r.attempts()
	r.start(a, err)
	r.eventually(func() error {
		if p := a.Health()[0]; p.State != health.BestEffort || strings.Contains(p.Detail, "leaves out") { // That is said before anybody listens.
			return fmt.Errorf("health %+v", p)
		}
		return nil
	})
	for range 3 {
		r.publish("T-1", "{}")
	}
	r.task("T-1", func(rec lifecycle.TaskRecord) error {
		if rec.Summary.Duplicates != 2 {
			return fmt.Errorf("%d caught, want 2", rec.Summary.Duplicates)
		}
		return nil
	})
	r.eventually(func() error {
		if p := a.Health()[0]; !strings.HasPrefix(p.Detail, "nothing feeds OBS_RAW") || !strings.Contains(p.Detail, "fleetglass provision") {
			return fmt.Errorf("health %+v, want what is missing and what to do", p)
		}
		return nil
	})
	events, err := r.store.Events(t.Context(), "T-1", lifecycle.EventPosition{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if e.Kind == lifecycle.PublishAttempted && (!e.Detail.BestEffort || e.Source != "live") {
			t.Errorf("event %+v is not labelled best effort", e)
		}
	}
}

// A broker before nats-server 2.14 gives OBS_RAW a window for duplicates, although it has a source.
func TestItIsSaidWhichAttemptsTheirCaptureLeavesOut(t *testing.T) {
	t.Parallel()
	r := newRig(t, fleet.Streams{})
	r.start(r.stored())
	a, err := r.attempts()
	r.start(a, err)
	r.publish("T-1", "{}")
	said := func(state health.State, detail string) {
		t.Helper()
		r.eventually(func() error {
			if p := a.Health()[0]; p.State != state || !strings.Contains(p.Detail, detail) {
				return fmt.Errorf("health %+v, want %s with %q", p, state, detail)
			}
			return nil
		})
	}
	said(health.OK, "")
	raw, err := r.js.Stream(t.Context(), fleet.CaptureRaw)
	if err != nil {
		t.Fatal(err)
	}
	cfg := raw.CachedInfo().Config
	cfg.Duplicates = fleet.LeastWindow
	if _, err := r.js.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	said(health.BestEffort, "leaves out what is published again under its message id within 100 ms")
}

func TestAttemptsThatAreRecordedDoNotCountTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t, fleet.Streams{})
	r.start(r.stored())
	a, err := r.attempts()
	r.start(a, err)
	r.eventually(func() error { // Nothing was published yet: whether OBS_RAW is fed is not known, so it listens too.
		if p := a.Health()[0]; p.State != health.BestEffort || !strings.HasPrefix(p.Detail, "no publish was seen yet") {
			return fmt.Errorf("health %+v", p)
		}
		return nil
	})
	for range 2 {
		r.publish("T-1", "{}")
	}
	r.eventually(func() error {
		if p := a.Health()[0]; p.State != health.OK {
			return fmt.Errorf("health %+v", p)
		}
		return nil
	})
	r.task("T-1", func(rec lifecycle.TaskRecord) error {
		if rec.Summary.Duplicates != 1 {
			return fmt.Errorf("%d caught, want 1", rec.Summary.Duplicates)
		}
		return nil
	})
	events, err := r.store.Events(t.Context(), "T-1", lifecycle.EventPosition{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if e.Detail.BestEffort {
			t.Error(errors.New("an attempt was heard and recorded"))
		}
	}
}

func TestAttemptsAreHeardSoonAfterTheirCaptureWasRemoved(t *testing.T) {
	t.Parallel()
	r := newRig(t, fleet.Streams{})
	r.start(r.stored())
	a, err := r.attempts()
	r.start(a, err)
	r.eventually(func() error { // Each may still be heard, until it shows that OBS_RAW is fed.
		r.publish("T-1", "{}")
		if p := a.Health()[0]; p.State != health.OK {
			return fmt.Errorf("health %+v", p)
		}
		return nil
	})
	raw, err := r.js.Stream(t.Context(), fleet.CaptureRaw)
	if err != nil {
		t.Fatal(err)
	}
	cfg := raw.CachedInfo().Config
	cfg.Subjects = []string{"nothing.comes.here"}
	if _, err := r.js.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	other := 0
	testkit.Eventually(t, 4*time.Second, func() error { // Only later are stored messages so far ahead that nothing else can be the cause.
		r.publish("T-2", "{}")
		other++
		r.publish(fmt.Sprint("other", other), "{}")
		rec, err := r.store.Task(t.Context(), "T-2")
		if err == nil && rec.Summary.Duplicates == 0 {
			err = errors.New("none caught")
		}
		return err
	})
}

func TestAnAttemptThatAStreamRecordedBeforeItWentDoesNotCountTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t, fleet.Streams{})
	r.start(r.stored())
	a, err := r.attempts()
	r.start(a, err)
	r.eventually(func() error {
		if p := a.Health()[0]; p.State != health.BestEffort {
			return fmt.Errorf("health %+v", p)
		}
		return nil
	})
	r.publish("T-1", "{}")
	r.eventually(func() error { // It is recorded, and read.
		if n := a.Stats().Lines; n == 0 {
			return errors.New("nothing was read from OBS_RAW")
		}
		return nil
	})
	if err := r.js.DeleteStream(t.Context(), "OBS_RAW"); err != nil {
		t.Fatal(err)
	}
	r.eventually(func() error { // What is heard later is stored, and so would be what was held of the first.
		r.publish("T-2", "{}")
		rec, err := r.store.Task(t.Context(), "T-2")
		if err == nil && rec.Summary.Duplicates == 0 {
			err = errors.New("none caught")
		}
		return err
	})
	r.task("T-1", func(rec lifecycle.TaskRecord) error {
		if rec.Summary.Duplicates != 0 {
			return fmt.Errorf("%d caught of what was published once", rec.Summary.Duplicates)
		}
		return nil
	})
}
