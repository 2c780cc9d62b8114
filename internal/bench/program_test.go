//go:build linux

package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fleetglass/internal/testkit"
)

// built says that there is a program to be removed.
var built atomic.Bool

// executable builds Fleetglass, once for all rows: as it is released, where make runs the rows and so sets the flags.
var executable = sync.OnceValues(func() (string, error) {
	if *flagProgram != "" {
		return *flagProgram, nil
	}
	built.Store(true)
	path := programPath()
	if out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", path, "../../cmd/server").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return path, nil
})

func programPath() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("fleetglass-bench-%d", os.Getpid()))
}

func removeProgram() {
	if built.Load() {
		_ = os.Remove(programPath())
	}
}

// program is Fleetglass in a process of its own.
type program struct {
	*process
	base   string // Of the pages and the API.
	agents string // URL of its embedded broker.
	began  time.Time
}

// startProgram starts Fleetglass on a data directory. It does not wait.
func startProgram(t testing.TB, data string, args ...string) *program {
	t.Helper()
	path, err := executable()
	if err != nil {
		t.Fatal(err)
	}
	listen, broker := testkit.FreeAddress(t), testkit.FreeAddress(t)
	args = append([]string{
		"--listen", listen, "--nats-listen", broker, "--data-dir", data, "--retention", "400d", "--log-level", "warn",
	}, args...)
	p := &program{base: "http://" + listen, agents: "nats://" + broker, began: time.Now()}
	p.process = start(t, t.TempDir(), "fleetglass", path, nil, args...)
	return p
}

// ready waits until every part can do its work, and returns how long that took from the start of the process.
func (p *program) ready(t testing.TB) time.Duration {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if status, _, err := p.fetch(t.Context(), "/readyz"); err == nil && status == http.StatusOK {
			return time.Since(p.began)
		}
		select {
		case <-p.done:
			t.Fatalf("fleetglass ended:\n%s", p.output())
		case <-tick.C:
		}
		if time.Since(p.began) > patience {
			t.Fatalf("fleetglass is not ready:\n%s", p.output())
		}
	}
}

// fetch asks for an address and returns the whole answer.
func (p *program) fetch(ctx context.Context, path string) (status int, body []byte, err error) {
	return fetch(ctx, client, p.base+path)
}

// client keeps connections open and takes answers as they are.
var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}}

func fetch(ctx context.Context, c *http.Client, url string) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	answer, err := c.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close() //nolint:errcheck // It was read, or reading failed.
	body, err = io.ReadAll(answer.Body)
	return answer.StatusCode, body, err
}

// get reads a JSON answer.
func (p *program) get(t testing.TB, path string, into any) {
	t.Helper()
	status, body, err := p.fetch(t.Context(), path)
	if err != nil || status != http.StatusOK {
		t.Fatalf("GET %s: %d, %v: %.300s\n%s", path, status, err, body, p.output())
	}
	if err := json.Unmarshal(body, into); err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
}

// completed is how many tasks it knows to be completed.
func (p *program) completed(t testing.TB) int {
	t.Helper()
	var answer struct{ Counts map[string]int }
	p.get(t, "/api/v1/tasks/counts", &answer)
	return answer.Counts["completed"]
}

// catchUp waits until it knows that so many tasks are completed.
func (p *program) catchUp(t testing.TB, tasks int) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Minute); ; <-tick.C {
		known := p.completed(t)
		if known == tasks {
			return
		}
		if time.Now().After(deadline) || known > tasks {
			t.Fatalf("fleetglass knows %d completed tasks, want %d:\n%s", known, tasks, p.output())
		}
	}
}
