package monitor_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/dlqtriage/monitor"
	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/store/sqlite"
)

// envChild makes the test binary a monitor: the broker's address, the store's file and the step at which it kills itself, separated by bars.
const envChild = "FLEETGLASS_TEST_MONITOR"

// beTheMonitor copies dead messages until it is killed, and prints the steps that it takes.
func beTheMonitor() {
	parts := strings.Split(os.Getenv(envChild), "|")
	ctx := context.Background()
	must := func(err error) {
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
	}
	nc, err := nats.Connect(parts[0])
	must(err)
	js, err := jetstream.New(nc)
	must(err)
	store, err := sqlite.Open(ctx, sqlite.Config{Path: parts[1]})
	must(err)
	read, err := reader(js, store)
	must(err)
	go func() { must(read.Run(ctx)) }()
	cfg := config(js, store, read)
	cfg.Actions, err = actionsOn(store)
	must(err)
	var mu sync.Mutex
	cfg.Step = func(step string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Println("step", step)
		if step == parts[2] {
			must(syscall.Kill(os.Getpid(), syscall.SIGKILL))
			select {}
		}
	}
	m, err := monitor.New(cfg)
	must(err)
	must(m.Run(ctx))
}

// child runs such a process until it kills itself, or until enough says so. It returns the steps that it took.
func child(t *testing.T, url, store, dieAt string, enough func() bool) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), envChild+"="+url+"|"+store+"|"+dieAt)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var steps []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		step, ok := strings.CutPrefix(lines.Text(), "step ")
		if !ok {
			t.Errorf("the monitor says %q", lines.Text())
		}
		steps = append(steps, step)
		if enough != nil && enough() {
			_ = cmd.Process.Kill()
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the monitor ended by itself")
	}
	return steps
}

// points are the steps in their order: dying before and after each of them is dying between any two.
var points = []string{
	"before decide", "after decide", "before claim", "after claim", "before classify", "after classify", "before publish", "after publish",
	"before delete", "after delete", "before settle", "after settle",
}

// TestKilledBetweenAnyTwoStepsItLeavesOneEntry kills one process after the other, each at another point. Who comes next finds what those before left.
func TestKilledBetweenAnyTwoStepsItLeavesOneEntry(t *testing.T) {
	t.Parallel()
	srv := testkit.Broker(t)
	js := testkit.JetStream(t, srv)
	path := filepath.Join(t.TempDir(), "store.db")
	var dead []string
	for _, p := range points {
		dead = append(dead, prepare(t, js, path, strings.ReplaceAll(p, " ", "-")))
		steps := child(t, srv.URL(), path, p, nil)
		if len(steps) == 0 || steps[len(steps)-1] != p {
			t.Fatalf("it was to die %s, and did %v", p, steps)
		}
	}
	last := child(t, srv.URL(), path, "", func() bool { return allBuried(t, js, dead) == nil })
	for _, step := range last {
		if !slices.Contains(append(points, "before give back", "after give back"), step) {
			t.Errorf("no process died at the point %q", step)
		}
	}
	if err := allBuried(t, js, dead); err != nil {
		t.Error(err)
	}
	all, err := entries(t.Context(), js)
	if err != nil {
		t.Fatal(err)
	}
	for _, seq := range dead {
		if len(all[seq]) != 1 || len(all[seq][0].Data) == 0 || all[seq][0].Header.Get("X-DLQ-Detail") != "llm_provider_timeout" {
			t.Errorf("message %s has %d entries: %v", seq, len(all[seq]), all[seq])
		}
	}
}

// prepare lets a task die that is classified, copied and deleted, and returns its sequence.
func prepare(t *testing.T, js jetstream.JetStream, path, id string) string {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	seq, err := dies(t.Context(), js, store, "cto", id, func(e *lifecycle.Event) {
		e.Kind, e.Provenance, e.Detail.Reason = lifecycle.PresumedDead, lifecycle.Inferred, "llm_provider_timeout: no first token after 60 s"
		e.Detail.Basis, e.Detail.Deadline = e.At, e.At
	})
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(seq)
}

// allBuried errors while a message has no entry, or is still among the tasks.
func allBuried(t *testing.T, js jetstream.JetStream, dead []string) error {
	t.Helper()
	all, err := entries(t.Context(), js)
	if err != nil {
		return err
	}
	for _, seq := range dead {
		if len(all[seq]) == 0 {
			return fmt.Errorf("message %s has no entry", seq)
		}
	}
	stream, err := js.Stream(t.Context(), fleet.StreamTasks)
	if err == nil && stream.CachedInfo().State.Msgs > 0 {
		err = fmt.Errorf("%d messages are among the tasks", stream.CachedInfo().State.Msgs)
	}
	return err
}
