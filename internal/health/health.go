// Package health is the vocabulary in which the parts of the program say how they are: collectors, stores, the broker connection.
// Readiness, the freshness pill of the pages and the alerts about our own blindness read it.
package health

import "time"

// State is how a part is.
type State string

// The states, best first.
const (
	OK            State = "ok"             // Works, and is up to date.
	BestEffort    State = "best_effort"    // Works, but what happens while we are down is not seen.
	Behind        State = "behind"         // Works, and has more than a few seconds to catch up.
	Starting      State = "starting"       // Has not reported yet.
	NotConfigured State = "not_configured" // Was never asked to work. Not a failure.
	Down          State = "down"           // Does not work; Detail says why.
)

// Part is how one part is.
type Part struct {
	Name       string        // Such as "publishes", "store", "nats". Unique.
	Kind       string        // "collector", "store", "broker", …
	State      State         //
	Detail     string        // A sentence for operators; empty when there is nothing to say.
	Lacks      []string      // The streams that it needs and that do not exist.
	Unjudged   string        // What it sees and cannot judge; empty for nothing.
	Lag        time.Duration // How far behind its source it is; zero when up to date.
	Pending    uint64        // Lines waiting at its source.
	LastAt     time.Time     // When it last took something in or verified that nothing waits; zero for never.
	Quarantine uint64        // Undecodable lines since start.
	Handled    uint64        // Lines since start.

	Drains      float64 // By how many lines a second Pending shrank lately; negative where it grew. It counts while DrainsKnown.
	DrainsKnown bool    // That was measured, and the part is still behind.
}

// Read is up to when it has read its source; zero for never.
func (p Part) Read() time.Time {
	if p.LastAt.IsZero() {
		return time.Time{}
	}
	return p.LastAt.Add(-p.Lag)
}

// Measured reports whether Lag and Pending tell something. A part that is down or starting, or was never asked to work, looks at nothing:
// its zeros do not say that nothing waits.
func (p Part) Measured() bool { return p.State == OK || p.State == BestEffort || p.State == Behind }

// Words name the part for people: "collector acks", "store".
func (p Part) Words() string {
	if p.Kind == "" || p.Kind == p.Name {
		return p.Name
	}
	return p.Kind + " " + p.Name
}

// Reporter is anything that knows how it is.
type Reporter interface {
	Health() []Part
}

// ReporterFunc lets a function be a Reporter.
type ReporterFunc func() []Part

// Health calls f.
func (f ReporterFunc) Health() []Part { return f() }

// Group asks several reporters.
type Group []Reporter

// Health lists the parts of all, in order.
func (g Group) Health() []Part {
	var parts []Part
	for _, r := range g {
		parts = append(parts, r.Health()...)
	}
	return parts
}

// Ready reports whether every part can do its work: none is down or still starting.
func Ready(parts []Part) bool {
	for _, p := range parts {
		if p.State == Down || p.State == Starting {
			return false
		}
	}
	return true
}
