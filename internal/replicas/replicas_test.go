package replicas_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"fleetglass/internal/live"
	"fleetglass/internal/replicas"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

// shared is a store as far as replicas read it.
type shared struct {
	lifecycle.TaskReader

	mu    sync.Mutex
	tasks map[string]lifecycle.State
	fails int // How often it fails before it answers.
}

func (s *shared) ListTasks(_ context.Context, f lifecycle.Filter, _ lifecycle.Page) (page lifecycle.TaskPage, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails > 0 {
		s.fails--
		return page, errors.New("the store does not answer")
	}
	for id, state := range s.tasks {
		if slices.Contains(f.IDs, id) {
			page.Tasks = append(page.Tasks, lifecycle.TaskSummary{TaskID: id, State: state})
		}
	}
	return page, nil
}

// replica is one of several: what it commits, what its readers see, and the latest that they saw.
type replica struct {
	own, all *live.Hub
	sub      *live.Subscription
	tasks    map[string]lifecycle.State
	resets   int
	others   []string // Operations and alerts.
}

func (r *replica) look() {
	for c, some := r.sub.Take(); some; c, some = r.sub.Take() {
		if c.Reset {
			r.resets++
		}
		for _, t := range c.Tasks {
			r.tasks[t.TaskID] = t.State
		}
		for _, o := range c.Operations {
			r.others = append(r.others, "operation "+o.ID+" "+o.Status)
		}
		for _, a := range c.Alerts {
			r.others = append(r.others, "alert "+a.ID+" "+a.State)
		}
	}
}

// patience bounds every wait for something that is sure to come.
const patience = 20 * time.Second

const subject = "fleetglass.genbrain.changes"

// fleet starts replicas of one store, and returns a connection of somebody who may publish to their subject. It waits until all hear.
func fleet(t *testing.T, store *shared, n int) (all []*replica, stranger *nats.Conn) {
	t.Helper()
	url := testkit.BareBroker(t).URL()
	connect := func() *nats.Conn {
		nc, err := nats.Connect(url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		return nc
	}
	for range n {
		r := &replica{own: live.NewHub(10_000), all: live.NewHub(10_000), tasks: map[string]lifecycle.State{}}
		r.sub = r.all.Subscribe("")
		runs, err := replicas.New(replicas.Config{
			Conn: connect(), Subject: subject, Own: r.own, All: r.all, Tasks: store,
			Operation: func(_ context.Context, id string) (live.OperationChange, error) {
				return live.OperationChange{ID: id, Status: "as stored"}, nil
			},
			Alert: func(_ context.Context, id string) (live.AlertChange, error) {
				if id == "pending" {
					return live.AlertChange{}, fmt.Errorf("it does not fire: %w", lifecycle.ErrNotFound)
				}
				return live.AlertChange{ID: id, State: "as stored"}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- runs.Run(ctx) }()
		t.Cleanup(func() {
			stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
		all = append(all, r)
	}
	for _, of := range all { // What one commits before another listens is not for that one.
		for _, r := range all {
			testkit.Eventually(t, patience, func() error {
				of.own.PublishAlert(live.AlertChange{ID: "hello of " + of.own.Boot()})
				if r.look(); !slices.ContainsFunc(r.others, func(o string) bool { return o == "alert hello of "+of.own.Boot()+" as stored" || r == of }) {
					return errors.New("a replica does not hear another")
				}
				return nil
			})
		}
	}
	return all, connect()
}

func TestReadersSeeWhatOtherReplicasCommit(t *testing.T) {
	t.Parallel()
	store := &shared{tasks: map[string]lifecycle.State{"one": lifecycle.StateCompleted, "two": lifecycle.StatePublished}, fails: 2}
	all, _ := fleet(t, store, 3)
	all[0].own.Publish([]lifecycle.TaskChange{{TaskID: "one", State: lifecycle.StateProcessing}, {TaskID: "unlisted"}}) // It changed once more since.
	all[1].own.PublishOperation(live.OperationChange{ID: "op", Status: "as committed"})
	all[1].own.PublishAlert(live.AlertChange{ID: "pending"})
	all[1].own.Publish([]lifecycle.TaskChange{{TaskID: "two", State: lifecycle.StatePublished}})
	testkit.Eventually(t, patience, func() error {
		for i, r := range all {
			r.look()
			operation := "operation op as stored"
			if i == 1 {
				operation = "operation op as committed"
			}
			if r.tasks["two"] != lifecycle.StatePublished || i > 0 && r.tasks["one"] != lifecycle.StateCompleted || !slices.Contains(r.others, operation) {
				return fmt.Errorf("replica %d sees %v and %v", i, r.tasks, r.others)
			}
		}
		return nil
	})
	if all[0].tasks["one"] != lifecycle.StateProcessing { // Its own commits are told as they were.
		t.Errorf("the first replica sees %v", all[0].tasks)
	}
}

// Whoever may publish can send anything. Nothing of it is said, but what the store has.
// A commit takes its number before it ends. What another replica named is read in between: it has a higher number, and is older.
func TestACommitThatEndsAfterAReadingIsSeen(t *testing.T) {
	t.Parallel()
	store := &shared{tasks: map[string]lifecycle.State{"one": lifecycle.StatePublished}}
	all, _ := fleet(t, store, 2)
	sees := func(want lifecycle.State) {
		testkit.Eventually(t, patience, func() error {
			if all[0].look(); all[0].tasks["one"] != want {
				return fmt.Errorf("its readers see %q, want %q", all[0].tasks["one"], want)
			}
			return nil
		})
	}
	number := lifecycle.NextChange()
	all[1].own.Publish([]lifecycle.TaskChange{{TaskID: "one", State: lifecycle.StatePublished}})
	sees(lifecycle.StatePublished)
	store.mu.Lock()
	store.tasks["one"] = lifecycle.StateCompleted
	store.mu.Unlock()
	all[0].own.Publish([]lifecycle.TaskChange{{TaskID: "one", State: lifecycle.StateCompleted, Number: number}})
	sees(lifecycle.StateCompleted)
}

func TestAForgedMessageSaysNothing(t *testing.T) {
	t.Parallel()
	store := &shared{tasks: map[string]lifecycle.State{"one": lifecycle.StatePublished}}
	all, stranger := fleet(t, store, 2)
	for _, body := range []string{"no json", `{"from":"stranger","tasks":{"one":true,"never":true}}`, `{"tasks":7}`} {
		if err := stranger.Publish(subject, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Eventually(t, patience, func() error {
		if all[0].look(); all[0].tasks["one"] != lifecycle.StatePublished {
			return fmt.Errorf("it sees %v", all[0].tasks)
		}
		return nil
	})
	if len(all[0].tasks) != 1 {
		t.Errorf("it sees %v", all[0].tasks)
	}
}

// More names than can be read in time are not read: whoever looks loads everything anew.
func TestTooManyNamesAreMissedAloud(t *testing.T) {
	t.Parallel()
	all, stranger := fleet(t, &shared{}, 2)
	names := map[string]bool{}
	for i := range 6000 {
		names[fmt.Sprint("task ", i)] = false
	}
	body, err := json.Marshal(map[string]any{"from": "another", "tasks": names})
	if err != nil {
		t.Fatal(err)
	}
	if err := stranger.Publish(subject, body); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, patience, func() error {
		if all[0].look(); all[0].resets == 0 {
			return errors.New("nothing was said to be missed")
		}
		return nil
	})
}

// Who was away while others changed something must not resume as if nothing had happened.
func TestWhoResumesIsToldOfWhatOthersChanged(t *testing.T) {
	t.Parallel()
	all, stranger := fleet(t, &shared{}, 2)
	all[0].sub.Close()
	before := all[0].all.ID()
	if err := stranger.Publish(subject, []byte(`{"from":"another","tasks":{"one":false}}`)); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, patience, func() error {
		again := all[0].all.Subscribe(before)
		defer again.Close()
		if c, _ := again.Take(); !c.Reset {
			return errors.New("it resumes")
		}
		return nil
	})
}
