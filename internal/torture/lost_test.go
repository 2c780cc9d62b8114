//go:build linux

package torture

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/store/sqlite"

	"github.com/nats-io/nats.go/jetstream"
)

// The worst that a dying broker does, done on purpose: the line of a stored task is lost, and the task is gone before anybody looks. The
// attempt to publish it was captured.
func TestATaskWhosePublishLineWasLostIsNotToBePublishedAgain(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.Broker(t))
	contract := fleet.NewContract("")
	publisher, err := fleet.NewPublisher(fleet.PublisherConfig{JetStream: js, Contract: contract})
	if err != nil {
		t.Fatal(err)
	}
	worker, err := js.CreateConsumer(t.Context(), fleet.StreamTasks, contract.Worker("cto", fleet.DefaultTiming()))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, err := publisher.Publish(t.Context(), fleet.NewTask{ID: fmt.Sprintf("task-%d", i), Agent: "cto", Type: "debugging"}); err != nil {
			t.Fatal(err)
		}
		msg, err := worker.Next(jetstream.FetchMaxWait(patience))
		if err != nil {
			t.Fatal(err)
		}
		if err := msg.TermWithReason("impossible_task"); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Capture(t, js, fleet.CapturePub, 3)
	testkit.Capture(t, js, fleet.CaptureRaw, 3)
	captured, err := js.Stream(t.Context(), fleet.CapturePub)
	if err != nil {
		t.Fatal(err)
	}
	if err := captured.DeleteMsg(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "fleetglass.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	c := inProcess(t, js, store, store)
	testkit.Eventually(t, patience, func() error {
		gaps, err := list[seenGap](t.Context(), c, "/api/v1/gaps")
		if err != nil {
			return err
		}
		for _, g := range gaps {
			if g.covers(2) {
				return nil
			}
		}
		return fmt.Errorf("no gap for the lost line: %+v", gaps)
	})
	testkit.Eventually(t, patience, func() error {
		s, err := c.task(t.Context(), "task-1")
		switch {
		case err != nil:
			return err
		case s.count(string(lifecycle.NotStored)) == 0: // It is listed only then.
			return fmt.Errorf("nothing is concluded yet: %+v", s)
		case s.State != string(lifecycle.StateOutcomeUnknown):
			t.Fatalf("task-1 is %s, want outcome_unknown", s.State)
		case len(s.Gaps) == 0 || !strings.Contains(s.Answers.Recovery.Text, "is not known"):
			return fmt.Errorf("task-1 was stored and its line was lost, yet: %q, gaps %v", s.Answers.Recovery.Text, s.Gaps)
		}
		return nil
	})
}
