//go:build linux

package situations

import (
	"context"
	"slices"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/internal/embednats"
	"fleetglass/internal/testkit"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// land says how the streams of a broker are set up before Fleetglass is told of it. Rows on one land share a broker.
type land struct {
	name    string
	streams []jetstream.StreamConfig // What the fleet made itself; without TASKS, the one that Fleetglass recommends is made.
	flags   []string                 // For Fleetglass.
	clocked bool                     // The clock of the broker can be set.
	forgets bool                     // The broker can be set back to how it was.
	partly  bool                     // Its streams are in the way of some that Fleetglass needs: provisioning makes the others.
	outside bool                     // Idempotency records are in Firestore, not in the broker's bucket.
	twofold bool                     // Two Fleetglasses look at it, which share a Postgres. The first is asked.
}

const allTasks = "genbrain.agents.*.tasks.>"

// The lands.
var (
	ordinary = land{name: "ordinary"}
	patient  = land{name: "long waits"} // Of rows that wait for half a minute: nobody looks at a land afterwards before all of its rows are over.
	vip      = land{name: "a second stream", streams: []jetstream.StreamConfig{
		{Name: "TASKS", Subjects: []string{"genbrain.agents.plain.tasks.>"}, Retention: jetstream.WorkQueuePolicy, AllowDirect: true},
		{Name: "TASKS_VIP", Subjects: []string{"genbrain.agents.vip.tasks.>"}, Retention: jetstream.WorkQueuePolicy, AllowDirect: true},
	}}
	limits = land{name: "limits retention", streams: []jetstream.StreamConfig{{
		Name: "TASKS", Subjects: []string{allTasks}, Retention: jetstream.LimitsPolicy, Duplicates: time.Hour, AllowDirect: true,
	}}}
	interest = land{name: "interest retention", streams: []jetstream.StreamConfig{{
		Name: "TASKS", Subjects: []string{allTasks}, Retention: jetstream.InterestPolicy, Duplicates: time.Hour, AllowDirect: true,
	}}}
	handlers = land{name: "workers of another name", streams: limits.streams, flags: []string{"--worker-consumers", "*-handler"}}
	briefly  = land{name: "times to live", streams: []jetstream.StreamConfig{{
		Name: "TASKS", Subjects: []string{allTasks}, Retention: jetstream.WorkQueuePolicy, AllowMsgTTL: true, AllowDirect: true,
	}}}
	rolledUp = land{name: "rollups", streams: []jetstream.StreamConfig{{
		Name: "TASKS", Subjects: []string{allTasks}, Retention: jetstream.WorkQueuePolicy, AllowRollup: true, AllowDirect: true,
	}}}
	rolledUpWhole = land{name: "rollups of the whole stream", streams: rolledUp.streams}
	narrow        = land{name: "a narrow stream", streams: []jetstream.StreamConfig{{
		Name: "TASKS", Subjects: []string{allTasks}, Retention: jetstream.WorkQueuePolicy, MaxMsgsPerSubject: 2, MaxAge: 8 * time.Second,
		Duplicates: 500 * time.Millisecond, MaxMsgSize: 4096, AllowDirect: true,
	}}}
)

// world is a broker, its clients' rows and the Fleetglass that looks at it.
type world struct {
	land  land
	url   string            // Of the broker.
	here  *embednats.Server // The broker where it runs in this process; nil where it has one of its own.
	clock *clock            // Of the broker; nil where it is the host's.

	memory *testkit.Forgetful // The broker where it can be set back; nil where it cannot.

	glass *glass // Nil until Fleetglass has started.

	beside    *glass       // The second Fleetglass of a twofold world.
	firestore *inFirestore // Where records are outside the broker.
}

// newWorld starts a broker, makes the fleet's own streams, and then what Fleetglass records from. It is nil where [otherBroker] is too old for such streams.
func newWorld(t *testing.T, l land) *world {
	t.Helper()
	w := &world{land: l}
	switch {
	case l.forgets:
		w.memory = testkit.ForgetfulBroker(t)
		w.url = w.memory.URL()
	case l.clocked:
		w.url, w.clock = startClocked(t)
	case otherBroker != "":
		w.url = startOther(t)
	default:
		w.here = testkit.BareBroker(t)
		w.url = w.here.URL()
	}
	if l.outside {
		in, flags := startFirestore(t)
		w.firestore, w.land.flags = &in, append(slices.Clone(l.flags), flags...)
	}
	js := w.connect(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, cfg := range l.streams {
		if _, err := js.CreateStream(ctx, cfg); err != nil {
			if otherBroker == "" {
				t.Fatal(err)
			}
			t.Logf("nothing is played on %q, for this broker makes no such stream: %v", l.name, err)
			return nil
		}
	}
	if _, err := fleet.Provision(ctx, js, fleet.Streams{Contract: fleet.NewContract("")}); err != nil && !l.partly {
		t.Fatal(err)
	}
	return w
}

// connect is a plain client of the broker.
func (w *world) connect(t *testing.T) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(w.url, nats.Timeout(patience))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(patience)) // All rows begin at once.
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// records are where the agents keep theirs.
func (w *world) records(js jetstream.JetStream) records {
	if w.firestore != nil {
		return *w.firestore
	}
	return inBucket{js}
}

// look starts Fleetglass, and where the world is twofold the second one after it.
func (w *world) look(t *testing.T) (err error) {
	t.Helper()
	flags := w.land.flags
	if w.land.twofold {
		flags = append(slices.Clone(flags), "--database-url", testkit.Postgres(t))
	}
	if w.glass, err = startGlass(t, w.url, flags...); err != nil || !w.land.twofold {
		return err
	}
	w.beside, err = startGlass(t, w.url, flags...)
	return err
}

// glasses are the Fleetglasses that have started.
func (w *world) glasses() []*glass {
	return slices.DeleteFunc([]*glass{w.glass, w.beside}, func(g *glass) bool { return g == nil })
}

// close ends Fleetglass and the broker, which takes a while.
func (w *world) close(t *testing.T) {
	t.Helper()
	for _, g := range w.glasses() {
		g.kill()
	}
	if w.here != nil {
		if err := w.here.Close(); err != nil {
			t.Error(err)
		}
	}
}
