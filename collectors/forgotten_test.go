package collectors_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors"
	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

// forgetful is a broker that can be set back, and a connection that outlives that.
func forgetful(t *testing.T) (*testkit.Forgetful, jetstream.JetStream) {
	t.Helper()
	f := testkit.ForgetfulBroker(t)
	nc, err := nats.Connect(f.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return f, js
}

// forgetfulFleet is such a broker with the streams of a fleet and three tasks, and who learns of its incarnations.
func forgetfulFleet(t *testing.T) (*testkit.Forgetful, jetstream.JetStream, *recorder, *collectors.IncarnationResolver) {
	t.Helper()
	f, js := forgetful(t)
	if _, err := fleet.Provision(t.Context(), js, fleet.Streams{Contract: fleet.NewContract("")}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		live(t, js)
	}
	rec := newRecorder()
	return f, js, rec, incarnations(t, js, rec)
}

// lookUntilTold looks until the store knows of the stream of tasks what it is told once a second.
func lookUntilTold(t *testing.T, inc *collectors.IncarnationResolver, rec *recorder, what string) {
	t.Helper()
	testkit.Eventually(t, patience, func() error {
		look(t, inc)
		if text, _ := rec.Watermark(t.Context(), "end:TASKS"); !strings.Contains(text, what) {
			return fmt.Errorf("the store knows of %q", text)
		}
		return nil
	})
}

// meanwhile does something to a broker that stops and starts again, and waits until it answers.
func meanwhile(t *testing.T, js jetstream.JetStream, do func() error) {
	t.Helper()
	if err := do(); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, patience, func() error {
		_, err := js.AccountInfo(t.Context())
		return err
	})
}

// What a broker stores under the numbers of lines that it forgot is read, and a gap says what happened.
func TestLinesUnderForgottenNumbersAreRead(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		stopped bool
		after   int // How many lines come after three were kept and three more forgotten.
	}{
		"while it reads": {after: 4}, "while it is down": {stopped: true, after: 4}, "while it is down, and fewer come": {stopped: true, after: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, js := forgetful(t)
			b := newBenchOn(t, js)
			b.createStream(jetstream.StreamConfig{})
			_, stop := b.start()
			b.publish(numbered(1, 3)...)
			b.waitFor(3)
			b.waitAcked()
			meanwhile(t, js, f.Keep)
			b.publish(numbered(4, 6)...)
			b.waitFor(6)
			b.waitAcked()
			if tc.stopped {
				stop()
			}
			meanwhile(t, js, f.SetBack)
			b.publish(numbered(7, 6+tc.after)...)
			if tc.stopped {
				b.start()
			}
			b.waitFor(6 + tc.after)
			b.waitAcked()
			b.rec.look(func(r *recorder) {
				bodies := map[string]bool{}
				for _, e := range r.events {
					bodies[string(e.Raw)] = true
				}
				if len(bodies) != 6+tc.after {
					t.Errorf("%d lines are known: %v", len(bodies), bodies)
				}
				if !strings.Contains(fmt.Sprint(r.gaps), "the broker forgot the last lines of LINES") {
					t.Errorf("no gap says that the broker forgot: %v", r.gaps)
				}
			})
		})
	}
}

// A stream of tasks that forgot messages is another incarnation from then on, which has what is left.
func TestAStreamThatForgotIsAnotherIncarnation(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		again bool // Another resolver looks, as after a start.
		after int  // How many messages come before the look, after three were kept and two forgotten.
	}{
		"before others come": {}, "as many come": {after: 2}, "more come": {after: 3}, "another looks": {again: true}, "another looks when more have come": {again: true, after: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, js, rec, inc := forgetfulFleet(t)
			look(t, inc)
			meanwhile(t, js, f.Keep)
			live(t, js)
			_, forgotten := live(t, js)
			lookUntilTold(t, inc, rec, `"seq":5`)
			meanwhile(t, js, f.SetBack)
			for range tc.after {
				live(t, js)
			}
			if tc.again {
				inc = incarnations(t, js, rec)
			}
			look(t, inc)
			_, stored := live(t, js)
			known := look(t, inc).Known[fleet.StreamTasks]
			if len(known) != 2 || known[1].Restored != 3 || known[1].Forgot != 5 || known[1].Created != known[0].Created {
				t.Fatalf("known are %+v", known)
			}
			if known.EpochAt(forgotten) != 0 || known.EpochAt(stored) != known[1].Epoch {
				t.Errorf("what was forgotten is of %d, what came after of %d: %+v", known.EpochAt(forgotten), known.EpochAt(stored), known)
			}
			rec.look(func(r *recorder) {
				if !strings.Contains(fmt.Sprint(r.gaps), "the broker forgot messages of TASKS, from 4 to 5 at least") {
					t.Errorf("no gap says that the broker forgot: %v", r.gaps)
				}
			})
		})
	}
}

// A stream that has messages again which had left it is another incarnation, which has them.
func TestAStreamThatHasMessagesAgainIsAnotherIncarnation(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		again bool // Another resolver looks, as after a start.
		after int  // How many messages come before the look, after three were kept, of which two left.
		left  int  // How many of those leave again before it.
		want  uint64
	}{
		"before others come": {want: 2}, "others come": {after: 3, want: 2}, "others come and go": {after: 3, left: 1, want: 1}, "another looks": {again: true, after: 1, want: 2},
		"nobody can tell": {after: 2, left: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, js, rec, inc := forgetfulFleet(t)
			stream, err := js.Stream(t.Context(), fleet.StreamTasks)
			if err != nil {
				t.Fatal(err)
			}
			leaves := func(seq uint64) {
				if err := stream.DeleteMsg(t.Context(), seq); err != nil {
					t.Fatal(err)
				}
			}
			meanwhile(t, js, f.Keep)
			leaves(2)
			leaves(3)
			lookUntilTold(t, inc, rec, `"msgs":1`)
			meanwhile(t, js, f.SetBack)
			var stored lifecycle.Micros
			for i := range tc.after {
				if _, stored = live(t, js); i < tc.left {
					leaves(uint64(4 + i))
				}
			}
			if tc.again {
				inc = incarnations(t, js, rec)
			}
			known := look(t, inc).Known[fleet.StreamTasks]
			if tc.want == 0 {
				if len(known) != 1 {
					t.Errorf("known are %+v", known)
				}
				return
			}
			if len(known) != 2 || known[1].Restored != 3 || known[1].Back != tc.want || known[1].Created != known[0].Created {
				t.Fatalf("known are %+v", known)
			}
			if tc.after > 0 && known.EpochAt(stored) != known[1].Epoch {
				t.Errorf("what came after is of %d: %+v", known.EpochAt(stored), known)
			}
			look(t, inc)
			if known := look(t, inc).Known[fleet.StreamTasks]; len(known) != 2 {
				t.Errorf("later known are %+v", known)
			}
			rec.look(func(r *recorder) {
				if want := fmt.Sprintf("the broker forgot that messages had left TASKS, and %d at least are there again", tc.want); !strings.Contains(fmt.Sprint(r.gaps), want) {
					t.Errorf("no gap says %q: %v", want, r.gaps)
				}
			})
		})
	}
}

func look(t *testing.T, inc *collectors.IncarnationResolver) collectors.Streams {
	t.Helper()
	s, err := inc.Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}
