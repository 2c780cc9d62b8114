package collectors_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors"
	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

func incarnations(t *testing.T, js jetstream.JetStream, rec *recorder) *collectors.IncarnationResolver {
	t.Helper()
	inc, err := collectors.NewIncarnationResolver(collectors.IncarnationResolverConfig{
		JetStream: js, Appender: rec, Watermarks: rec, Contract: fleet.NewContract(""),
	})
	if err != nil {
		t.Fatal(err)
	}
	return inc
}

// live is the creation time of TASKS and the time of a message published to it now.
func live(t *testing.T, js jetstream.JetStream) (createdAt, storedAt lifecycle.Micros) {
	t.Helper()
	ack, err := js.Publish(t.Context(), "genbrain.agents.a1.tasks.t", []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), fleet.StreamTasks)
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.GetMsg(t.Context(), ack.Sequence)
	if err != nil {
		t.Fatal(err)
	}
	return lifecycle.MicrosOf(s.CachedInfo().Created), lifecycle.MicrosOf(m.Time)
}

func recreate(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	if err := js.DeleteStream(t.Context(), fleet.StreamTasks); err != nil {
		t.Fatal(err)
	}
	if _, err := fleet.Provision(t.Context(), js, fleet.Streams{Contract: fleet.NewContract("")}); err != nil {
		t.Fatal(err)
	}
}

// waitForAdvisories waits until OBS_EVT holds n advisories about streams.
func waitForAdvisories(t *testing.T, js jetstream.JetStream, n int) {
	t.Helper()
	testkit.Eventually(t, patience, func() error {
		s, err := js.Stream(t.Context(), fleet.CaptureEvt)
		if err != nil {
			return err
		}
		info, err := s.Info(t.Context(), jetstream.WithSubjectFilter("$JS.EVENT.ADVISORY.STREAM.*.TASKS"))
		if err != nil {
			return err
		}
		got := 0
		for subject, count := range info.State.Subjects {
			if subject != "$JS.EVENT.ADVISORY.STREAM.UPDATED.TASKS" {
				got += int(count)
			}
		}
		if got < n {
			return fmt.Errorf("%d advisories, want %d", got, n)
		}
		return nil
	})
}

func TestAStreamCreatedAgainUnderOurFeet(t *testing.T) {
	t.Parallel()
	js, rec := testkit.JetStream(t, testkit.Broker(t)), newRecorder()
	inc := incarnations(t, js, rec)
	first, firstMsg := live(t, js)
	s, err := inc.Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if id := s.At("", fleet.StreamTasks, firstMsg); id.Epoch != 0 {
		t.Errorf("the first incarnation has epoch %d, want 0", id.Epoch)
	}
	recreate(t, js)
	second, secondMsg := live(t, js)
	if second <= first {
		t.Fatalf("created at %d and then at %d", first, second)
	}
	s, err = inc.Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := s.At("", fleet.StreamTasks, firstMsg).Epoch; got != 0 {
		t.Errorf("a message of the first incarnation has epoch %d, want 0", got)
	}
	if got := s.At("", fleet.StreamTasks, secondMsg).Epoch; got != second {
		t.Errorf("a message of the second incarnation has epoch %d, want %d", got, second)
	}
	if last := s.LastSeq[fleet.StreamTasks]; last.Seq != 1 || last.Epoch != second {
		t.Errorf("last sequence %+v, want 1 of epoch %d", last, second)
	}
	id, err := inc.Current(t.Context(), fleet.StreamTasks)
	if err != nil || id.Epoch != second {
		t.Errorf("current %v %v, want epoch %d", id, err, second)
	}
}

func TestAStreamCreatedAgainTwiceWhileWeWereDown(t *testing.T) {
	t.Parallel()
	js, rec := testkit.JetStream(t, testkit.Broker(t)), newRecorder()
	_, firstMsg := live(t, js)
	if _, err := incarnations(t, js, rec).Observe(t.Context()); err != nil {
		t.Fatal(err)
	}
	recreate(t, js)
	_, secondMsg := live(t, js)
	recreate(t, js)
	third, thirdMsg := live(t, js)
	waitForAdvisories(t, js, 5)
	for _, name := range []string{"after the restart", "after another restart"} {
		s, err := incarnations(t, js, rec).Observe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		a, b, c := s.At("", fleet.StreamTasks, firstMsg).Epoch, s.At("", fleet.StreamTasks, secondMsg).Epoch, s.At("", fleet.StreamTasks, thirdMsg).Epoch
		if a != 0 || b == 0 || b == c || c != third {
			t.Errorf("%s: epochs %d, %d, %d; want 0, another, %d", name, a, b, c, third)
		}
	}
}

func TestAnObserverThatComesLateStillTellsEarlierLivesApart(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.Broker(t))
	_, firstMsg := live(t, js)
	recreate(t, js)
	second, secondMsg := live(t, js)
	waitForAdvisories(t, js, 3)
	s, err := incarnations(t, js, newRecorder()).Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a, b := s.At("", fleet.StreamTasks, firstMsg).Epoch, s.At("", fleet.StreamTasks, secondMsg).Epoch
	if a != 0 || b != second {
		t.Errorf("epochs %d and %d, want 0 and %d", a, b, second)
	}
}

// TestALostAdvisoryOfADeletionHidesNoEarlierLife: a broker may lose that advisory, and what captured it may have been made anew since.
func TestALostAdvisoryOfADeletionHidesNoEarlierLife(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.Broker(t))
	_, firstMsg := live(t, js)
	published := time.Now()
	testkit.Eventually(t, patience, func() error { // What is apart by less may be told by servers whose clocks differ.
		if passed := time.Since(published); passed < 1100*time.Millisecond {
			return fmt.Errorf("only %s passed", passed)
		}
		return nil
	})
	recreate(t, js)
	second, secondMsg := live(t, js)
	s, err := js.Stream(t.Context(), fleet.CaptureEvt)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	rec := newRecorder()
	for _, name := range []string{"at first", "after a restart"} {
		s, err := incarnations(t, js, rec).Observe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		a, b := s.At("", fleet.StreamTasks, firstMsg).Epoch, s.At("", fleet.StreamTasks, secondMsg).Epoch
		if a != 0 || b != second {
			t.Errorf("%s: epochs %d and %d, want 0 and %d", name, a, b, second)
		}
	}
}

func TestAMissingStreamIsNoError(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.BareBroker(t))
	s, err := incarnations(t, js, newRecorder()).Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if id := s.At("", fleet.StreamTasks, 5); id != (lifecycle.StreamID{Name: fleet.StreamTasks}) {
		t.Errorf("got %v", id)
	}
	if _, beyond := s.Beyond(lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: fleet.StreamTasks}, Seq: 99}); beyond {
		t.Error("nothing is beyond a stream whose end is not known")
	}
}

// A mirror that is given subjects of tasks, in the place of a stream that was lost, holds messages of its own.
func TestAMirrorThatTakesAStreamsPlaceIsAStream(t *testing.T) {
	t.Parallel()
	js, ctx := testkit.JetStream(t, testkit.BareBroker(t)), t.Context()
	inc := incarnations(t, js, newRecorder())
	tasks := []string{fleet.NewContract("").TaskSubjects()}
	for _, cfg := range []jetstream.StreamConfig{{Name: fleet.StreamTasks, Subjects: tasks}, {Name: "STANDBY", Mirror: &jetstream.StreamSource{Name: fleet.StreamTasks}}} {
		if _, err := js.CreateStream(ctx, cfg); err != nil {
			t.Fatal(err)
		}
	}
	isCopy := func() bool {
		t.Helper()
		s, err := inc.Observe(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return s.IsCopy("STANDBY", nil)
	}
	if !isCopy() {
		t.Error("the mirror is no copy")
	}
	if err := js.DeleteStream(ctx, fleet.StreamTasks); err != nil {
		t.Fatal(err)
	}
	if !isCopy() {
		t.Error("the mirror of a lost stream is no copy")
	}
	if _, err := js.UpdateStream(ctx, jetstream.StreamConfig{Name: "STANDBY", Subjects: tasks}); err != nil {
		t.Fatal(err)
	}
	if isCopy() {
		t.Error("what was a mirror is a copy still")
	}
}
