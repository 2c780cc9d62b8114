// Package replicas lets the readers of one replica see what the others commit: its pages and streams move with all of them.
//
// Replicas share a store, and each knows only of its own commits. It tells the others the names of what changed, in a plain message on the broker.
// Whoever may publish could forge such a message, so nothing in it is believed: each replica reads what is named from the store.
package replicas

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"fleetglass/internal/live"
	"fleetglass/lifecycle"

	"github.com/nats-io/nats.go"
)

const (
	// every is how long names are gathered before they are told, and before what others named is read: each once, however often it changed.
	every = 100 * time.Millisecond
	// readAtOnce is how many tasks are read together.
	readAtOnce = 200
	// maxNamed is how many names may wait to be read. Beyond that readers load everything anew.
	maxNamed = 5000
	// helloPatience is how long the broker has to bring a replica its own first message.
	helloPatience = 5 * time.Second
)

// Config says between what changes are carried.
type Config struct {
	Conn      *nats.Conn                                                         // Required.
	Subject   string                                                             // Required. The same for all replicas of one store.
	Own       *live.Hub                                                          // Required. What this replica commits.
	All       *live.Hub                                                          // Required. What readers are told: Own, and what the others commit.
	Tasks     lifecycle.TaskReader                                               // Required.
	Operation func(ctx context.Context, id string) (live.OperationChange, error) // Required. How an operation stands in the store; errors with lifecycle.ErrNotFound where there is none.
	Alert     func(ctx context.Context, id string) (live.AlertChange, error)     // Required. Likewise an alert.
	Log       *slog.Logger                                                       // Optional; default slog.Default.
}

// Replicas carries changes between this replica and the others.
type Replicas struct {
	cfg  Config
	told *nats.Subscription
	here names // Committed here and not told yet.
	away names // Named by others and not read yet.

	allowed bool // The broker carries its messages.
	dropped int  // How many messages of others its subscription has lost so far.
}

// New checks the configuration.
func New(cfg Config) (*Replicas, error) {
	if cfg.Conn == nil || cfg.Subject == "" || cfg.Own == nil || cfg.All == nil || cfg.Tasks == nil || cfg.Operation == nil || cfg.Alert == nil {
		return nil, errors.New("replicas: Conn, Subject, Own, All, Tasks, Operation and Alert are required")
	}
	cfg.Log = cmp.Or(cfg.Log, slog.Default())
	return &Replicas{cfg: cfg, here: newNames(), away: newNames()}, nil
}

// names are what changed. Those of tasks say whether messages of it died.
type names struct {
	From       string          `json:"from"`             // The replica that tells.
	Missed     bool            `json:"missed,omitempty"` // Something changed that is not named.
	Tasks      map[string]bool `json:"tasks,omitempty"`
	Operations map[string]bool `json:"operations,omitempty"`
	Alerts     map[string]bool `json:"alerts,omitempty"`
}

func newNames() names {
	return names{Tasks: map[string]bool{}, Operations: map[string]bool{}, Alerts: map[string]bool{}}
}

func (n names) len() int { return len(n.Tasks) + len(n.Operations) + len(n.Alerts) }

// Run carries changes until ctx is done.
func (r *Replicas) Run(ctx context.Context) error {
	own := r.cfg.Own.Subscribe("")
	defer own.Close()
	heard := make(chan *nats.Msg, maxNamed)
	var err error
	if r.told, err = r.cfg.Conn.ChanSubscribe(r.cfg.Subject, heard); err != nil {
		return fmt.Errorf("listen to other replicas: %w", err)
	}
	defer func() { _ = r.told.Unsubscribe() }()
	back := r.cfg.Conn.StatusChanged(nats.CONNECTED)
	defer r.cfg.Conn.RemoveStatusListener(back)

	r.send(names{From: r.id()})
	hello := time.AfterFunc(helloPatience, func() {
		r.cfg.Log.Warn("replicas do not hear each other: pages and streams of this one show what it commits itself", "publish and subscribe", r.cfg.Subject)
	})
	defer hello.Stop()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-own.Ready():
			r.pass(own)
		case m := <-heard:
			if r.hear(m.Data) {
				hello.Stop()
			}
		case <-back: // What others told while the connection was away is lost.
			r.cfg.All.Forget()
		case <-tick.C:
			r.tell()
			r.pass(own) // First: what is read may be newer.
			r.read(ctx)
		}
	}
}

// id tells this replica from others.
func (r *Replicas) id() string { return r.cfg.Own.Boot() }

// pass tells readers here what was committed here, and notes it for the others.
func (r *Replicas) pass(own *live.Subscription) {
	for c, some := own.Take(); some; c, some = own.Take() {
		if c.Reset {
			r.cfg.All.Forget()
			r.here.Missed = true
			continue
		}
		for _, t := range r.cfg.All.Publish(c.Tasks) { // What was read since may be from before this commit ended.
			r.away.Tasks[t.TaskID] = r.away.Tasks[t.TaskID] || t.Fallen
		}
		for _, t := range c.Tasks {
			r.here.Tasks[t.TaskID] = r.here.Tasks[t.TaskID] || t.Fallen
		}
		for _, o := range c.Operations {
			r.cfg.All.PublishOperation(o)
			r.here.Operations[o.ID] = true
		}
		for _, a := range c.Alerts {
			r.cfg.All.PublishAlert(a)
			r.here.Alerts[a.ID] = true
		}
	}
}

// tell sends what was noted.
func (r *Replicas) tell() {
	if r.here.len() == 0 && !r.here.Missed || !r.allowed {
		return
	}
	r.here.From = r.id()
	r.send(r.here)
	r.here = newNames()
}

// send tells names, or where they are too many that others missed something.
func (r *Replicas) send(n names) {
	body, err := json.Marshal(n)
	if int64(len(body)) > r.cfg.Conn.MaxPayload() || n.len() > maxNamed {
		body, err = json.Marshal(names{From: n.From, Missed: true})
	}
	if err == nil {
		err = r.cfg.Conn.Publish(r.cfg.Subject, body)
	}
	if err != nil { // A connection that is lost for good ends the program.
		r.cfg.Log.Warn("other replicas cannot be told what changed", "error", err)
	}
}

// hear notes what another replica named, and reports whether the message was this one's own.
func (r *Replicas) hear(body []byte) (own bool) {
	var n names
	if err := json.Unmarshal(body, &n); err != nil {
		return false
	}
	if n.From == r.id() {
		r.allowed = true
		return true
	}
	for id, fallen := range n.Tasks {
		r.away.Tasks[id] = r.away.Tasks[id] || fallen
	}
	maps.Copy(r.away.Operations, n.Operations)
	maps.Copy(r.away.Alerts, n.Alerts)
	r.away.Missed = r.away.Missed || n.Missed
	return false
}

// read tells readers of what others named, as the store has it. What cannot be read now is read later.
func (r *Replicas) read(ctx context.Context) {
	dropped, err := r.told.Dropped()
	missed := err == nil && dropped > r.dropped
	if r.away.len() == 0 && !r.away.Missed && !missed {
		return
	}
	if r.away.Missed || missed || r.away.len() > maxNamed || r.cfg.All.Subscribers() == 0 { // Who resumes later must not think that nothing happened.
		r.dropped, r.away = dropped, newNames()
		r.cfg.All.Forget()
		return
	}
	if err := errors.Join(r.readTasks(ctx), r.readOthers(ctx)); err != nil && ctx.Err() == nil {
		r.cfg.Log.Warn("what other replicas changed could not be read", "error", err)
	}
}

func (r *Replicas) readTasks(ctx context.Context) error {
	ids := slices.Collect(maps.Keys(r.away.Tasks))
	ids = ids[:min(len(ids), readAtOnce)]
	if len(ids) == 0 {
		return nil
	}
	number := lifecycle.NextChange()
	page, err := r.cfg.Tasks.ListTasks(ctx, lifecycle.Filter{IDs: slices.Clone(ids)}, lifecycle.Page{Limit: len(ids)})
	if err != nil {
		return err
	}
	var changes []lifecycle.TaskChange
	for _, t := range page.Tasks {
		changes = append(changes, lifecycle.TaskChange{TaskID: t.TaskID, State: t.State, Agent: t.Agent, At: t.LastEventAt, Fallen: r.away.Tasks[t.TaskID], Number: number})
	}
	for _, id := range ids { // Those that are gone, or not in lists, change nothing for readers.
		delete(r.away.Tasks, id)
	}
	r.cfg.All.Publish(changes)
	return nil
}

func (r *Replicas) readOthers(ctx context.Context) error {
	for id := range r.away.Operations {
		o, err := r.cfg.Operation(ctx, id)
		if err != nil && !errors.Is(err, lifecycle.ErrNotFound) {
			return err
		}
		delete(r.away.Operations, id)
		if err == nil {
			r.cfg.All.PublishOperation(o)
		}
	}
	for id := range r.away.Alerts {
		a, err := r.cfg.Alert(ctx, id)
		if err != nil && !errors.Is(err, lifecycle.ErrNotFound) {
			return err
		}
		delete(r.away.Alerts, id)
		if err == nil {
			r.cfg.All.PublishAlert(a)
		}
	}
	return nil
}
