//go:build linux

package torture

import (
	"path/filepath"
	"testing"
	"time"
)

// The broker of one's own is killed and restarted while Fleetglass lives on. What it did not capture may be unknown, never wrong.
func TestNothingIsInventedWhenTheBrokerIsKilled(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	b := startBroker(t, r.dir)
	data := filepath.Join(r.dir, "data")
	g := newGlass(t, r.dir, "--nats-url", b.url(), "--data-dir", data)
	g.again()
	g.ready()
	fleet, path := r.startFleet(b.url(), form(100, 600), 12)
	kills, restarts, both := 0, 0, 0
	for range form(4, 25) {
		r.wait(4 * time.Second)
		switch r.rand.IntN(4) {
		case 0:
			restarts++
			b.stop(t)
		case 1:
			both++
			g.kill()
			b.kill()
			r.wait(time.Second)
			b.again()
			dial(t, b.url())
			g.again()
			continue
		default:
			kills++
			b.kill()
		}
		r.wait(time.Second)
		b.again()
	}
	r.note("broker killed with SIGKILL", "%d times", kills)
	r.note("broker and Fleetglass killed together", "%d times", both)
	r.note("broker restarted", "%d times", restarts)
	r.aftermath(g, fleet, path, b.url(), sqliteIn(data))
}
