//go:build linux

package torture

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fleetglass/internal/testkit"
)

// A node that is cut off from its cluster keeps its clients and answers their pings; one that is frozen answers nothing. Neither may keep Fleetglass from
// seeing what the others do.
func TestANodeThatIsCutOffOrFrozenIsLeft(t *testing.T) {
	t.Parallel()
	if !long() {
		t.Skip("waits for the patience of the connection, twice")
	}
	r := newRun(t)
	c := startCluster(t, r.dir)
	g := newGlass(t, r.dir, "--nats-url", c.url(), "--data-dir", filepath.Join(r.dir, "data"))
	g.again()
	g.ready()
	n := c.of(g)
	c.part(n, true)
	r.note("left a node that was cut off after", "%s", c.leaves(g, n))
	c.part(n, false)
	n = c.of(g)
	c.nodes[n].signal(syscall.SIGSTOP)
	r.note("left a node that was frozen after", "%s", c.leaves(g, n))
	c.nodes[n].signal(syscall.SIGCONT)
}

// of is the node that Fleetglass is connected to, or -1. It says so whether it is ready or not.
func (c *cluster) of(g *glass) int {
	response, err := http.Get(g.api().base + "/readyz")
	if err != nil {
		g.t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // Read whole.
	text, err := io.ReadAll(response.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return slices.IndexFunc(c.nodes[:], func(n *node) bool { return strings.Contains(string(text), "connected to nats://"+n.order.Listen) })
}

// leaves waits until Fleetglass is connected to another node, and returns how long that took.
func (c *cluster) leaves(g *glass, n int) time.Duration {
	c.t.Helper()
	began := time.Now()
	testkit.Eventually(c.t, patience, func() error {
		if now := c.of(g); now == n || now < 0 {
			return fmt.Errorf("connected to node %d", now)
		}
		return nil
	})
	return time.Since(began).Round(100 * time.Millisecond)
}
