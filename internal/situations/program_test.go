//go:build linux

package situations

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"fleetglass/internal/testkit"
)

// patience bounds every wait for something that is sure to come.
const patience = 60 * time.Second

// built says that there is a program to be removed.
var built atomic.Bool

// program builds Fleetglass, once for all tests.
var program = sync.OnceValues(func() (string, error) {
	built.Store(true)
	path := filepath.Join(os.TempDir(), fmt.Sprintf("fleetglass-situations-%d", os.Getpid()))
	out, err := exec.Command("go", "build", "-ldflags=-w", "-o", path, "../../cmd/server").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return path, nil
})

// TestMain removes the program in the end.
func TestMain(m *testing.M) {
	code := m.Run()
	if built.Load() {
		if path, err := program(); err == nil {
			_ = os.Remove(path)
		}
	}
	_ = os.RemoveAll(clockedDir())
	os.Exit(code)
}

// glass is a running Fleetglass, asked through its public calls alone.
type glass struct {
	base string
	log  string // File of everything that it writes.

	path   string
	args   []string
	ended  <-chan struct{} // Closed when its process has ended.
	kill   func()
	up     sync.RWMutex // Held for writing while it is away.
	spared atomic.Int64 // How many wait for what needs it to be there for a while: it is not killed then.
}

var servingLine = regexp.MustCompile(`msg=serving pages=(http://\S+) agents=`)

// startGlass runs Fleetglass on a broker and waits until it serves. It ends with the test.
func startGlass(t *testing.T, broker string, flags ...string) (*glass, error) {
	t.Helper()
	path, err := program()
	if err != nil {
		return nil, err
	}
	dir := t.TempDir()
	g := &glass{log: filepath.Join(dir, "fleetglass.log"), path: path, args: append([]string{
		"--nats-url", broker, "--data-dir", dir, "--poll-interval", "200ms", "--nice", "0", "--reconcile-grace", "0s", "--log-level", "debug",
	}, flags...)}
	t.Cleanup(func() {
		if g.kill != nil {
			g.kill()
		}
	})
	return g, g.start(t.Context(), "127.0.0.1:0")
}

// start runs the program until it serves. A broker that is busy may not answer it in time: then whoever runs the program starts it again.
func (g *glass) start(ctx context.Context, listen string) error {
	for deadline := time.Now().Add(patience); ; pause(ctx, sampling) {
		err := g.startOnce(ctx, listen)
		if err == nil || !g.gone() || time.Now().After(deadline) || !strings.Contains(g.output(), "i/o timeout") {
			return err
		}
	}
}

// startOnce runs the program at an address, with its output in the log, and waits until it serves. It dies with the test's process.
func (g *glass) startOnce(ctx context.Context, listen string) error {
	log, err := os.OpenFile(g.log, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	cmd := exec.Command(g.path, append([]string{"--listen", listen}, g.args...)...)
	cmd.Env = testkit.ProgramEnv()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
		_ = log.Close()
	}()
	g.ended, g.kill = ended, func() { _ = cmd.Process.Kill(); <-ended }
	for deadline := time.Now().Add(patience); ; pause(ctx, 20*time.Millisecond) {
		if found := servingLine.FindStringSubmatch(g.output()); found != nil {
			g.base = found[1]
			return nil
		}
		if g.gone() || time.Now().After(deadline) {
			return fmt.Errorf("fleetglass does not serve; its log ends with:\n%s", g.tail())
		}
	}
}

func (g *glass) gone() bool {
	select {
	case <-g.ended:
		return true
	default:
		return false
	}
}

// interrupt kills it, and starts it again at its address after a while. Whoever asks meanwhile waits.
func (g *glass) interrupt(ctx context.Context, away time.Duration) error {
	for g.spared.Load() > 0 && ctx.Err() == nil {
		pause(ctx, sampling)
	}
	g.up.Lock()
	defer g.up.Unlock()
	g.kill()
	pause(ctx, away)
	return g.start(ctx, strings.TrimPrefix(g.base, "http://"))
}

func (g *glass) output() string {
	text, err := os.ReadFile(g.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// tail is the end of its log, without the requests that it refused: rows ask for tasks that nobody knows.
func (g *glass) tail() string {
	lines := slices.DeleteFunc(strings.Split(g.output(), "\n"), func(line string) bool { return strings.Contains(line, "request failed") })
	return strings.Join(lines[max(0, len(lines)-30):], "\n")
}

// errAbsent says that Fleetglass knows no such thing.
var errAbsent = fmt.Errorf("not known")

// ask gets a JSON answer. It errors with [errAbsent] on 404. A body that comes with 503 is read too: /readyz sends it.
func (g *glass) ask(ctx context.Context, path string, into any) error {
	return g.call(ctx, http.MethodGet, path, into)
}

// call makes a call without a body.
func (g *glass) call(ctx context.Context, method, path string, into any) error {
	g.up.RLock()
	defer g.up.RUnlock()
	request, err := http.NewRequestWithContext(ctx, method, g.base+path, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	switch response.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusServiceUnavailable:
		return json.Unmarshal(text, into)
	case http.StatusNotFound:
		return errAbsent
	}
	return fmt.Errorf("%s: %s: %s", path, response.Status, text)
}

// readiness is the answer of /readyz.
type readiness struct {
	Ready bool      `json:"ready"`
	AsOf  time.Time `json:"as_of"`
	Parts []struct {
		Name, Kind, State, Detail string
		Pending                   uint64
		LagMS                     int64     `json:"lag_ms"`
		LastAt                    time.Time `json:"last_at"`
		Quarantined               uint64
	} `json:"parts"`
}

// listening waits until publish attempts are heard: the program serves a moment before, and of a batch that is published meanwhile nothing is
// captured but what is heard.
func (g *glass) listening(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); pause(t.Context(), 20*time.Millisecond) {
		var r readiness
		if g.ask(t.Context(), "/readyz", &r) != nil {
			continue
		}
		for _, p := range r.Parts {
			if p.Name == "attempts" && p.State != "starting" && p.State != "ok" {
				return
			}
		}
	}
	t.Fatalf("publish attempts are not heard; the log ends with:\n%s", g.tail())
}

// settled waits until everything that was captured before a moment is read, and the reconciler has looked at the broker since.
func (g *glass) settled(ctx context.Context, after moment) error {
	var last error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline) && ctx.Err() == nil; pause(ctx, 100*time.Millisecond) {
		var r readiness
		if last = g.ask(ctx, "/readyz", &r); last != nil {
			continue
		}
		if last = r.settled(after); last == nil {
			return nil
		}
	}
	return fmt.Errorf("fleetglass does not settle: %w; its log ends with:\n%s", last, g.tail())
}

func (r readiness) settled(after moment) error {
	for _, p := range r.Parts {
		switch {
		case p.Kind != "collector", p.Name == "firestore" && p.State == "ok": // It is told of each document at once, and says once a minute that it listens.
		case p.Name == "brokersync" && !p.LastAt.After(after.broker), p.State == "ok" && !p.LastAt.After(after.earlier()):
			return fmt.Errorf("%s looked last at %s: %s %s", p.Name, p.LastAt, p.State, p.Detail)
		case p.State == "starting", p.Pending > 0 && !p.LastAt.Add(-time.Duration(p.LagMS)*time.Millisecond).After(after.earlier()): // Other rows' lines may wait.
			return fmt.Errorf("%s is %s with %d lines to read: %s", p.Name, p.State, p.Pending, p.Detail)
		}
	}
	return nil
}

// pause waits between two polls.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
