//go:build linux

package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/fleet/demo"
	"fleetglass/internal/embednats"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

// sources are the streams that Fleetglass reads line by line.
var sources = []string{
	fleet.CapturePub, fleet.CaptureRaw, fleet.CaptureAck, fleet.CaptureEvt, fleet.CaptureReport, "KV_" + fleet.BucketIdempotency,
}

// recording is what capture streams hold after a fleet has worked: real agents published, worked, reported, recorded and acknowledged
// through the kit, while nobody read the captures.
type recording struct {
	dir    string // Of the broker.
	tasks  int
	lines  map[string]int // By stream.
	total  int
	events int // What the agents did themselves: one event each.
}

// record runs a fleet for the given number of tasks on a broker in dir.
func record(t testing.TB, dir string, tasks int) *recording {
	t.Helper()
	srv, js := openBroker(t, dir)
	defer closeBroker(t, srv)
	provision(t, js)
	f := &recordedFleet{js: js, tasks: tasks, free: make(chan struct{}, window)}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	if err := f.open(ctx); err != nil {
		t.Fatal(err)
	}
	working, done := errgroup.WithContext(ctx)
	for _, w := range f.workers {
		working.Go(func() error { return w.Run(done) })
	}
	if err := f.publish(ctx); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 10*time.Minute, f.finished)
	stop()
	if err := working.Wait(); err != nil {
		t.Fatal(err)
	}
	r := &recording{dir: dir, tasks: tasks, events: int(2*f.published.Load() + 2*f.acked.Load() + f.beats.Load() + f.reports.Load() + f.acked.Load())}
	r.count(t, js)
	return r
}

// count waits until the captures hold what the agents did, and a little more: the broker's own notes on streams and consumers.
func (r *recording) count(t testing.TB, js jetstream.JetStream) {
	t.Helper()
	testkit.Eventually(t, patience, func() error {
		r.lines, r.total = map[string]int{}, 0
		for _, name := range sources {
			s, err := js.Stream(t.Context(), name)
			if err != nil {
				return err
			}
			r.lines[name] = int(s.CachedInfo().State.Msgs)
			r.total += r.lines[name]
		}
		if r.total < r.events {
			return fmt.Errorf("%d lines captured, want %d at least", r.total, r.events)
		}
		return nil
	})
}

// recordedFleet is the agents of the demonstration, doing their tasks as fast as they can, with a tally of what they do.
type recordedFleet struct {
	js      jetstream.JetStream
	tasks   int
	silent  bool // They do not report, and do their tasks by doing nothing.
	workers []*fleet.Worker
	free    chan struct{} // Holds one for each task under way, so that the stream's limit for a subject is never reached.

	published, acked, beats, reports atomic.Int64
}

// beat is the pace of heartbeats; one task in eight takes long enough for one or two.
const beat = 2 * time.Millisecond

func (f *recordedFleet) open(ctx context.Context) error {
	records, err := fleet.NewKVRecords(ctx, f.js)
	if err != nil {
		return err
	}
	timing := fleet.Timing{AckWait: time.Minute, MaxDeliver: 3, Heartbeat: beat}
	for _, agent := range demo.Agents() {
		reporter, err := f.reporter(agent)
		if err != nil {
			return err
		}
		w, err := fleet.NewWorker(fleet.WorkerConfig{
			JetStream: f.js, Contract: contract, Agent: agent, Records: records, Handle: f.work, Timing: timing, Reporter: reporter, Answered: f.answered,
		})
		if err != nil {
			return err
		}
		if err := w.Open(ctx); err != nil {
			return err
		}
		f.workers = append(f.workers, w)
	}
	return nil
}

func (f *recordedFleet) reporter(agent string) (*fleet.Reporter, error) {
	if f.silent {
		return nil, nil
	}
	return fleet.NewReporter(fleet.ReporterConfig{JetStream: f.js, Contract: contract, Agent: agent})
}

// work reports a checkpoint in every other task; the worker itself reports that it began and that it is done.
func (f *recordedFleet) work(ctx context.Context, d fleet.Delivery) (string, error) {
	if f.silent {
		return "done: " + d.Task.Title, nil
	}
	f.reports.Add(2)
	if d.Key.Seq%2 == 0 {
		f.reports.Add(1)
		err := d.Report(ctx, lifecycle.ReportCheckpoint, fleet.ReportData{
			Status: "in_flight", StepID: "draft", Tool: "llm.complete", StepClass: "pure", ResultRef: "draft/" + d.Task.ID, Model: "claude-sonnet-4-5",
			InputTokens: 3000, OutputTokens: 700, CostUSD: 0.04,
		})
		if err != nil {
			return "", err
		}
	}
	if d.Key.Seq%8 == 0 {
		select {
		case <-time.After(beat * 3 / 2):
		case <-ctx.Done():
		}
	}
	return "done: " + d.Task.Title, nil
}

func (f *recordedFleet) answered(_ fleet.Delivery, a fleet.Answer) {
	if a == fleet.AnswerHeartbeat {
		f.beats.Add(1)
	} else {
		f.acked.Add(1)
		<-f.free
	}
}

func (f *recordedFleet) publish(ctx context.Context) error {
	p, err := fleet.NewPublisher(fleet.PublisherConfig{JetStream: f.js, Contract: contract})
	if err != nil {
		return err
	}
	publishing, ctx := errgroup.WithContext(ctx)
	publishing.SetLimit(8)
	for n := range f.tasks {
		f.free <- struct{}{}
		publishing.Go(func() error {
			_, err := p.Publish(ctx, taskOf(n))
			f.published.Add(1)
			return err
		})
	}
	return publishing.Wait()
}

// taskOf is task n of the demonstration's stories; what its story wants with an agent that nobody deployed, another one does.
func taskOf(n int) fleet.NewTask {
	s := demo.Tell(1, n)
	if s.Fate == demo.FateOrphan {
		s.Agent = "ceo"
	}
	return fleet.NewTask{
		ID: s.ID, Agent: s.Agent, Type: s.Type, Payload: s.Payload, Model: s.Model, TokenBudget: 50_000, MaxRetries: 3, TraceParent: s.Trace,
	}
}

func (f *recordedFleet) finished() error {
	if done := f.acked.Load(); done < int64(f.tasks) {
		return fmt.Errorf("%d tasks of %d are done", done, f.tasks)
	}
	return nil
}

// openBroker is a broker in this process with what dir holds.
func openBroker(t testing.TB, dir string) (*embednats.Server, jetstream.JetStream) {
	t.Helper()
	srv, err := embednats.Start(embednats.Config{Dir: filepath.Join(dir, "nats")})
	if err != nil {
		t.Fatal(err)
	}
	nc, err := srv.Connect()
	if err != nil {
		t.Fatal(errors.Join(err, srv.Close()))
	}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(errors.Join(err, srv.Close()))
	}
	return srv, js
}

func closeBroker(t testing.TB, srv *embednats.Server) {
	t.Helper()
	if err := srv.Close(); err != nil {
		t.Error(err)
	}
}
