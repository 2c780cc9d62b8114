package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"
)

// The environment of a process that is to die.
const (
	dieAt     = "PIPELINE_DIE_AT"
	storePath = "PIPELINE_STORE"
	brokerURL = "PIPELINE_BROKER"
	entryID   = "PIPELINE_ENTRY"
)

// points are the places at which a process may die, from the request to the end.
func points() []string {
	var out []string
	for _, step := range []string{"decide", "claim to park", "park", "give back", "take over", "publish", "settle", "answer", "remove"} {
		out = append(out, "before "+step, "after "+step)
	}
	return out
}

func streams() fleet.Streams { return fleet.Streams{Contract: fleet.NewContract("")} }

func newJetStream(t testing.TB, nc *nats.Conn) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// A process that dies by SIGKILL at any step from the request to the end leaves what the next one ends: one message reaches TASKS, and the
// record of the action is complete. What a store does when its process dies within a step is tested where the store is.
func TestKilledAtEveryStepItIsSentOnce(t *testing.T) {
	if os.Getenv(dieAt) != "" {
		live(t)
		return
	}
	srv := testkit.Broker(t)
	path := temporary(t)
	w := newWorld(t, testkit.JetStream(t, srv), path, nil)
	for _, point := range points() {
		entry := w.dead(point)
		killed(t, point, path, srv.URL(), entry)
		stop := w.runs()
		a := w.act(retryOf(entry, entry)) // Whoever heard no answer asks again.
		w.sentOnce(point, w.ended(a.ID))
		w.empty()
		stop()
	}
}

// The points are all the steps that a retry has.
func TestThePointsAreAllTheSteps(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string]bool{}
	w := newWorld(t, broker(t), temporary(t), func(c *Config) {
		c.step = func(name string) {
			mu.Lock()
			defer mu.Unlock()
			seen[name] = true
		}
	})
	w.runs()
	w.ended(w.act(retryOf(w.dead("t1"), "k")).ID)
	w.empty()
	testkit.Eventually(t, patience, func() error { // The last step is told after the answer that empties the stream.
		mu.Lock()
		defer mu.Unlock()
		if got, want := slices.Sorted(maps.Keys(seen)), slices.Sorted(slices.Values(points())); !slices.Equal(got, want) {
			return fmt.Errorf("steps %q, want %q", got, want)
		}
		return nil
	})
}

// killed runs the process that dies at a point.
func killed(t *testing.T, point, path, url, entry string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
	c.Env = append(os.Environ(), dieAt+"="+point, storePath+"="+path, brokerURL+"="+url, entryID+"="+entry)
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err == nil || !errors.As(err, &exit) || exit.Exited() {
		t.Fatalf("%s: %v, want that it dies by a signal\n%s", point, err, out)
	}
}

// live asks for a retry and carries it out, and dies at a point.
func live(t *testing.T) {
	nc, err := nats.Connect(os.Getenv(brokerURL))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	var armed atomic.Bool
	w := newWorld(t, newJetStream(t, nc), os.Getenv(storePath), func(c *Config) {
		c.step = func(name string) {
			armed.CompareAndSwap(false, strings.HasSuffix(name, " decide"))
			if armed.Load() && name == os.Getenv(dieAt) {
				p, _ := os.FindProcess(os.Getpid())
				_ = p.Kill()
				select {}
			}
		}
	})
	stop := w.runs()
	defer stop()
	entry := os.Getenv(entryID)
	w.ended(w.act(retryOf(entry, entry)).ID)
	w.empty()
}
