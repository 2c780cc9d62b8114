//go:build linux

package torture

import (
	"path/filepath"
	"testing"
	"time"
)

// The broker and the fleet live on while Fleetglass is killed again and again: everything must be known in the end, exactly.
func TestNothingIsLostWhenFleetglassIsKilled(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	b := startBroker(t, r.dir)
	g := newGlass(t, r.dir, "--nats-url", b.url(), "--data-dir", filepath.Join(r.dir, "data"))
	g.again()
	fleet, path := r.startFleet(b.url(), form(120, 900), 12)
	r.killings(g, form(5, 30), 3*time.Second, 2*time.Second)
	r.settle(g, fleet, path, b.url(), sqliteIn(filepath.Join(r.dir, "data")))
}
