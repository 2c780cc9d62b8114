package demo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/fleet/demo"
	"fleetglass/internal/testkit"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"
)

// A stopped server leaves the set-up of a sourcing stream waiting for a reply until its own timeout.
const serverLeftover = "github.com/nats-io/nats-server/v2/server.(*stream).trySetupSourceConsumer.func3"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreTopFunction(serverLeftover)) }

// expectation is what the ledger must say about a fate once the task has ended.
type expectation struct {
	end                                  demo.End
	attempts, executions, naks, silent   int
	recorded, skipped, beats, duplicates bool
}

var expected = map[demo.Fate]expectation{
	demo.FatePlain:        {end: demo.EndCompleted, attempts: 1, executions: 1, recorded: true},
	demo.FateSlow:         {end: demo.EndCompleted, attempts: 1, executions: 1, recorded: true, beats: true},
	demo.FateDuplicate:    {end: demo.EndCompleted, attempts: 1, executions: 1, recorded: true, duplicates: true},
	demo.FateNak:          {end: demo.EndCompleted, attempts: 2, executions: 2, naks: 1, recorded: true},
	demo.FateCrashBefore:  {end: demo.EndCompleted, attempts: 2, executions: 2, silent: 1, recorded: true},
	demo.FateCrashAfter:   {end: demo.EndCompleted, attempts: 2, executions: 1, silent: 1, recorded: true, skipped: true},
	demo.FateTimeout:      {end: demo.EndCompleted, attempts: 2, executions: 2, silent: 1, recorded: true},
	demo.FateExhausted:    {end: demo.EndExhausted, attempts: 3, executions: 3, silent: 3},
	demo.FateNakExhausted: {end: demo.EndExhausted, attempts: 3, executions: 3, naks: 3},
	demo.FateTerminated:   {end: demo.EndTerminated, attempts: 1, executions: 1},
	demo.FateOverflow:     {end: demo.EndTerminated, attempts: 1, executions: 1},
	demo.FateRecoverable:  {end: demo.EndTerminated, attempts: 1, executions: 1},
	demo.FateOrphan:       {end: demo.EndOrphaned},
}

func start(t *testing.T, cfg demo.Config) (d *demo.Demo, stop func()) {
	t.Helper()
	d, err := demo.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := d.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		wg.Wait()
	})
	t.Cleanup(stop)
	return d, stop
}

func awaitEnds(t *testing.T, d *demo.Demo, tasks int) []demo.Entry {
	t.Helper()
	testkit.Eventually(t, 90*time.Second, func() error {
		entries := d.Ledger()
		if len(entries) < tasks {
			return fmt.Errorf("%d of %d tasks published", len(entries), tasks)
		}
		for _, e := range entries {
			if e.End == demo.EndOpen {
				return fmt.Errorf("task %s (%s) is open: %+v", e.Story.ID, e.Story.Fate, e)
			}
		}
		return nil
	})
	return d.Ledger()
}

func TestTheFleetDoesWhatTheStoriesSayAndTheBrokerSawIt(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.Broker(t))
	const tasks = 60
	d, stop := start(t, demo.Config{JetStream: js, Seed: 7, Rate: 20, Tasks: tasks, Backlog: -1, Scale: 0.25})
	entries := awaitEnds(t, d, tasks)
	stop()
	wire := map[string]int{}
	left := 0
	for n, e := range entries {
		if diff := cmp.Diff(demo.Tell(7, n), e.Story); diff != "" {
			t.Errorf("task %d: %s", n, diff)
		}
		got := expectation{e.End, e.Attempts, e.Executions, e.Naks, e.Silent, e.Recorded, e.Skipped,
			expected[e.Story.Fate].beats && e.Heartbeats > 3, e.Duplicates > 0}
		if want := expected[e.Story.Fate]; got != want {
			t.Errorf("%s (%s): %+v, want %+v", e.Story.ID, e.Story.Fate, got, want)
		}
		if e.Publishes != e.Story.Publishes || e.Duplicates != e.Publishes-1 {
			t.Errorf("%s: %d publishes, %d duplicates, want %d publishes", e.Story.ID, e.Publishes, e.Duplicates, e.Story.Publishes)
		}
		wire["+WPI"] += e.Heartbeats
		wire["-NAK"] += e.Naks
		wire["publishes"] += e.Publishes
		switch e.End {
		case demo.EndCompleted:
			wire["+ACK"]++
		case demo.EndTerminated:
			wire["+TERM"]++
		default:
			left++
		}
	}
	testkit.Eventually(t, 10*time.Second, func() error {
		seen := answers(t, js)
		seen["publishes"] = int(info(t, js, fleet.CaptureRaw).State.Msgs)
		if diff := cmp.Diff(wire, seen); diff != "" {
			return errors.New("ledger against captures: " + diff)
		}
		return nil
	})
	if got := info(t, js, fleet.CapturePub).State.Msgs; got != tasks {
		t.Errorf("%d stored publishes captured, want %d", got, tasks)
	}
	if got := info(t, js, fleet.StreamTasks).State.Msgs; got != uint64(left) {
		t.Errorf("%d messages left in TASKS, want %d", got, left)
	}
	if got := info(t, js, fleet.CaptureReport).State.Msgs; got < 20 {
		t.Errorf("%d reports", got)
	}
}

func info(t *testing.T, js jetstream.JetStream, stream string) *jetstream.StreamInfo {
	t.Helper()
	s, err := js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo()
}

func answers(t *testing.T, js jetstream.JetStream) map[string]int {
	t.Helper()
	counts := map[string]int{}
	s, err := js.Stream(t.Context(), fleet.CaptureAck)
	if err != nil {
		t.Fatal(err)
	}
	for seq := uint64(1); seq <= s.CachedInfo().State.LastSeq; seq++ {
		msg, err := s.GetMsg(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		word, _, _ := strings.Cut(string(msg.Data), " ")
		counts[word]++
	}
	return counts
}

func TestASecondRunGoesOnWithNewTasks(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.Broker(t))
	first, stop := start(t, demo.Config{JetStream: js, Rate: 50, Tasks: 10, Scale: 0.05})
	testkit.Eventually(t, 30*time.Second, func() error {
		if n := info(t, js, fleet.StreamTasks).State.LastSeq; n < 10 {
			return fmt.Errorf("%d published", n)
		}
		return nil
	})
	stop()
	seen := map[string]bool{}
	for _, e := range first.Ledger() {
		seen[e.Story.ID] = true
	}
	second, stop := start(t, demo.Config{JetStream: js, Rate: 50, Tasks: 10, Scale: 0.05})
	testkit.Eventually(t, 30*time.Second, func() error {
		if n := info(t, js, fleet.StreamTasks).State.LastSeq; n < 20 {
			return fmt.Errorf("%d published", n)
		}
		return nil
	})
	stop()
	for _, e := range second.Ledger() {
		if e.Publishes > 0 && seen[e.Story.ID] {
			t.Errorf("%s published by both runs", e.Story.ID)
		}
	}
}

func TestMissingStreamsAreReported(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.BareBroker(t))
	d, err := demo.New(demo.Config{JetStream: js})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Run(t.Context()); err == nil {
		t.Error("ran without streams")
	}
}
