//go:build linux

package torture

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fleetglass/internal/testkit"

	"github.com/nats-io/nats.go/jetstream"
)

// built says that there is a program to be removed.
var built atomic.Bool

// program builds Fleetglass, once for all tests.
var program = sync.OnceValues(func() (string, error) {
	built.Store(true)
	path := filepath.Join(os.TempDir(), fmt.Sprintf("fleetglass-torture-%d", os.Getpid()))
	out, err := exec.Command("go", "build", "-ldflags=-w", "-o", path, "../../cmd/server").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return path, nil
})

// glass is Fleetglass with everything that it needs to be started again.
type glass struct {
	t    *testing.T
	dir  string // Of the logs.
	args []string
	*process
	began time.Time
	wrap  func(path string, args []string) (string, []string) // Optional; what is run instead.
}

// newGlass prepares Fleetglass without starting it.
func newGlass(t *testing.T, dir string, args ...string) *glass {
	t.Helper()
	standard := []string{"--listen", "127.0.0.1:0", "--poll-interval", "200ms", "--log-level", "debug", "--reconcile-grace", "0s", "--dlq-monitor", "off"}
	return &glass{t: t, dir: dir, args: append(standard, args...)}
}

// again starts it on the data that it has.
func (g *glass) again() {
	g.t.Helper()
	path, err := program()
	if err != nil {
		g.t.Fatal(err)
	}
	args := g.args
	if g.wrap != nil {
		path, args = g.wrap(path, args)
	}
	g.began = time.Now()
	g.process = start(g.t, g.dir, "fleetglass", path, nil, args...)
}

// run runs one of its commands to the end.
func (g *glass) run(command string) {
	g.t.Helper()
	path, err := program()
	if err != nil {
		g.t.Fatal(err)
	}
	out, err := exec.CommandContext(g.t.Context(), path, append([]string{command}, g.args...)...).CombinedOutput()
	if err != nil {
		g.t.Fatalf("%s: %v: %s", command, err, out)
	}
	g.t.Logf("%s: %s", command, out)
}

var servingLine = regexp.MustCompile(`msg=serving pages=(http://\S+) agents=`)

// api waits until it serves.
func (g *glass) api() client {
	g.t.Helper()
	var base string
	testkit.Eventually(g.t, patience, func() error {
		if g.ended() {
			g.t.Fatalf("fleetglass ended: %v\n%s", g.err, g.tail())
		}
		found := servingLine.FindStringSubmatch(g.output())
		if found == nil {
			return fmt.Errorf("fleetglass does not serve; its log ends with:\n%s", g.tail())
		}
		base = found[1]
		return nil
	})
	return client{base}
}

// readiness is the answer of /readyz.
type readiness struct {
	Ready bool `json:"ready"`
	Parts []struct {
		Name, Kind, State string
		Detail            *string
		Pending           uint64
	} `json:"parts"`
}

// ready waits until every part can do its work.
func (g *glass) ready() client {
	g.t.Helper()
	c := g.api()
	testkit.Eventually(g.t, patience, func() error {
		var r readiness
		return c.get(g.t.Context(), "/readyz", &r)
	})
	return c
}

// captures are the streams that Fleetglass reads through durables of its own, with the names of these.
var captures = map[string]string{
	"OBS_PUB": "fleetglass-publishes", "OBS_RAW": "fleetglass-attempts", "OBS_ACK": "fleetglass-acks", "OBS_EVT": "fleetglass-advisories",
	"OBS_REPORT": "fleetglass-reports", "KV_task-idempotency": "fleetglass-idempotency",
}

// marks are the last lines of the capture streams.
func marks(ctx context.Context, js jetstream.JetStream) (map[string]uint64, error) {
	out := map[string]uint64{}
	for name := range captures {
		s, err := js.Stream(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("stream %s: %w", name, err)
		}
		out[name] = s.CachedInfo().State.LastSeq
	}
	return out, nil
}

// reached reports with an error what of the lines up to the marks is not committed and acknowledged yet.
func reached(ctx context.Context, js jetstream.JetStream, upTo map[string]uint64) error {
	for name, durable := range captures {
		s, err := js.Stream(ctx, name)
		if err != nil {
			return fmt.Errorf("stream %s: %w", name, err)
		}
		found, durables := 0, s.ListConsumers(ctx)
		for info := range durables.Info() {
			if !strings.HasPrefix(info.Name, durable) { // With shards it has several.
				continue
			}
			found++
			if idle := info.NumPending == 0 && info.NumAckPending == 0; !idle && info.AckFloor.Stream < upTo[name] {
				err = fmt.Errorf("%s: %d of %d lines are read", info.Name, info.AckFloor.Stream, upTo[name])
			}
		}
		if err = errors.Join(err, durables.Err()); err == nil && found == 0 {
			err = fmt.Errorf("durable %s of %s does not exist", durable, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// recover waits until everything that was captured before the last start has been read, and returns how long that took from the start.
func (g *glass) recover(js jetstream.JetStream) time.Duration {
	g.t.Helper()
	var upTo map[string]uint64
	testkit.Eventually(g.t, patience, func() (err error) {
		upTo, err = marks(g.t.Context(), js)
		return err
	})
	testkit.Eventually(g.t, patience, func() error { return reached(g.t.Context(), js, upTo) })
	return time.Since(g.began)
}
