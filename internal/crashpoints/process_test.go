package crashpoints

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/lifecycle"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// point is a place on the way of a task.
type point string

// The points, in order.
const (
	unsent      point = "unsent"      // The publisher dies before it publishes.
	unconfirmed point = "unconfirmed" // The stream stored the task, and the publisher dies before it hears of it.
	delivered   point = "delivered"   // A worker has the task and has asked nothing.
	asked       point = "asked"       // It knows that there is no record.
	reserved    point = "reserved"    // It holds the key, where it reserves.
	started     point = "started"     // It has told that it claimed the task, where it reports, and works.
	effected    point = "effected"    // The effect is out.
	recorded    point = "recorded"    // The completion is recorded.
	acked       point = "acked"       // The acknowledgement is out.
)

// kind is how agents are made.
type kind struct {
	reserves, reports bool
	firestore         bool // They keep records and reservations there, and not in the broker's bucket.
}

func (k kind) String() string {
	where := "kv"
	if k.firestore {
		where = "firestore"
	}
	return fmt.Sprintf("%s, reserves %t, reports %t", where, k.reserves, k.reports)
}

// caught is a row of the ledger as it is for agents of another kind. A document has the time of another clock than the broker's, so where nobody reports and an
// attempt began within two seconds of the record, whether the record caught it may be unknown.
func (k kind) caught(row string) string {
	if !k.firestore || k.reports {
		return row
	}
	known, unknown := count(row, lifecycle.LayerIdempotency), count(row, lifecycle.LayerUnknown)
	if unknown == 0 {
		return row
	}
	row = strings.Replace(row, fmt.Sprintf(", %s %d", lifecycle.LayerIdempotency, known), "", 1)
	return strings.Replace(row, fmt.Sprintf("%s %d", lifecycle.LayerUnknown, unknown), fmt.Sprintf("%s %d", lifecycle.LayerIdempotency, known+unknown), 1)
}

// count is the number that a row has for a layer.
func count(row string, l lifecycle.Layer) (n int) {
	if _, after, found := strings.Cut(row, string(l)+" "); found {
		_, _ = fmt.Sscan(after, &n)
	}
	return n
}

// agent is what the processes of one agent share: the outside world.
type agent struct {
	t       *testing.T
	g       *glass
	kind    kind
	name    string // Also the id of its task.
	effects atomic.Int32
	died    chan struct{} // Closed when its first process has died.
}

func (g *glass) agent(t *testing.T, k kind, name string) *agent {
	return &agent{t: t, g: g, kind: k, name: name, died: make(chan struct{})}
}

var brisk = fleet.Timing{AckWait: 1500 * time.Millisecond, MaxDeliver: 5, Heartbeat: 150 * time.Millisecond}

// work is how long the work takes: four times as long as an attempt may last that finds the completion recorded, on a slow machine too.
const work = 2 * time.Second

// process is one life of an agent's worker. To the broker its death looks like that of a program: the connection is gone, and
// nothing that it wanted to say afterwards is heard.
type process struct {
	*agent
	nc      *nats.Conn
	memory  *memory
	dieAt   point
	stop    context.CancelFunc
	ended   sync.Once
	publish *fleet.Publisher
	worker  *fleet.Worker
	act     func(ctx context.Context, d fleet.Delivery) error // Optional; what comes before the effect.

	overwrites bool // It records as programs do that write without looking.
}

func (a *agent) process(dieAt point, timing fleet.Timing) *process {
	a.t.Helper()
	nc, err := a.g.srv.Connect()
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(nc.Close)
	p := &process{agent: a, nc: nc, dieAt: dieAt}
	js, err := jetstream.New(nc)
	if err != nil {
		a.t.Fatal(err)
	}
	contract := fleet.NewContract("")
	if p.publish, err = fleet.NewPublisher(fleet.PublisherConfig{JetStream: js, Contract: contract}); err != nil {
		a.t.Fatal(err)
	}
	p.memory = a.g.memory(a.t, a.kind, js, a.name)
	cfg := fleet.WorkerConfig{
		JetStream: js, Contract: contract, Agent: a.name, Records: &watchedRecords{p.memory.records, p}, Timing: timing, NakDelay: 100 * time.Millisecond,
		Handle: p.handle, Answered: p.answered,
	}
	if a.kind.reserves {
		cfg.Reserve = &watchedReservations{p.memory.reservations, p}
	}
	if a.kind.reports {
		if cfg.Reporter, err = fleet.NewReporter(fleet.ReporterConfig{JetStream: js, Contract: contract, Agent: a.name}); err != nil {
			a.t.Fatal(err)
		}
	}
	if p.worker, err = fleet.NewWorker(cfg); err != nil {
		a.t.Fatal(err)
	}
	if err := p.worker.Open(a.t.Context()); err != nil {
		a.t.Fatal(err)
	}
	return p
}

// start works until the process dies or the test ends.
func (p *process) start() {
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = cancel
	var running sync.WaitGroup
	running.Go(func() { _ = p.worker.Run(ctx) }) // Errors when the process is dead.
	p.t.Cleanup(func() { cancel(); running.Wait() })
}

// at is called at every point.
func (p *process) at(here point) {
	if here != p.dieAt {
		return
	}
	p.ended.Do(func() {
		if here == acked {
			_ = p.nc.Flush() // What it had said before is heard.
		}
		p.nc.Close()
		p.memory.die()
		if p.stop != nil {
			p.stop()
		}
		close(p.died)
	})
}

func (p *process) handle(ctx context.Context, d fleet.Delivery) (string, error) {
	if p.at(started); p.nc.IsClosed() {
		return "", fleet.ErrAbandoned // The dead do nothing.
	}
	if p.act != nil {
		if err := p.act(ctx, d); err != nil {
			return "", err
		}
	} else if err := p.g.knowsAttempt(ctx, d); err != nil {
		p.t.Error(err)
	} else {
		await(ctx, work)
	}
	step := fleet.ReportData{StepID: "1", Tool: "git.push", CanonicalInputHash: d.Task.PayloadHash}
	_ = d.Report(ctx, lifecycle.ReportStepIntent, step)
	p.effects.Add(1)
	_ = d.Report(ctx, lifecycle.ReportStepReceipt, step)
	p.memory.logEffect(ctx, d)
	p.at(effected)
	return fmt.Sprintf("attempt %d", d.Attempt), nil
}

func (p *process) answered(_ fleet.Delivery, a fleet.Answer) {
	if a == fleet.AnswerAck {
		p.at(acked)
	}
}

type watchedRecords struct {
	fleet.Records
	p *process
}

func (w *watchedRecords) Find(ctx context.Context, taskID, key string) (*fleet.Record, error) {
	w.p.at(delivered)
	r, err := w.Records.Find(ctx, taskID, key)
	w.p.at(asked)
	return r, err
}

func (w *watchedRecords) Complete(ctx context.Context, r fleet.Record) error {
	if w.p.overwrites {
		return w.p.memory.overwrite(ctx, r)
	}
	err := w.Records.Complete(ctx, r)
	w.p.at(recorded)
	return err
}

type watchedReservations struct {
	fleet.Reservations
	p *process
}

func (w *watchedReservations) Reserve(ctx context.Context, c fleet.Claim) (fleet.Reservation, *fleet.Record, error) {
	held, done, err := w.Reservations.Reserve(ctx, c)
	w.p.at(reserved)
	return held, done, err
}

func (w *watchedReservations) Confirm(ctx context.Context, r fleet.Reservation, completion fleet.Record) (fleet.Record, error) {
	stored, err := w.Reservations.Confirm(ctx, r, completion)
	w.p.at(recorded)
	return stored, err
}
