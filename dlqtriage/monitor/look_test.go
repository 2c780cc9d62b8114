package monitor_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"fleetglass/dlqtriage"
	"fleetglass/dlqtriage/monitor"
	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

// looked is the entry of a message once it was looked at.
func (w *world) looked(seq uint64) (e dlqtriage.Entry) {
	w.t.Helper()
	id := dlqtriage.EntryID(lifecycle.MessageKey{Stream: contract.StreamID("TASKS"), Seq: seq})
	testkit.Eventually(w.t, patience, func() (err error) {
		if e, err = w.store.Entry(w.t.Context(), id); err == nil && !e.LookedAt() {
			err = fmt.Errorf("nobody has looked at %s", id)
		}
		return err
	})
	return e
}

func TestWhatCannotBeCopiedIsClassifiedAllTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.js.DeleteStream(t.Context(), "DLQ"); err != nil {
		t.Fatal(err)
	}
	given, used := w.dies("cto", "given-up", terminated("authority_exceeded: spending $4,200")), w.dies("cto", "used-up", exhausted)
	w.run(1, nil)
	if e := w.looked(given); e.Copied() || e.Category != dlqtriage.Permanent || e.Classification.By != dlqtriage.ByRules || e.Classification.Rule == "" {
		t.Errorf("given up: %+v", e)
	}
	e := w.looked(used)
	if said := e.Classification; e.Copied() || e.Category != dlqtriage.Unclassified || said.By != dlqtriage.ByRules || said.Rule != "" || len(said.Evidence) != 1 {
		t.Errorf("used up: %+v", e)
	}
}

// A report that says why may come after the monitor has looked.
func TestARuleThatMatchesLaterCountsMoreThanNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seq := w.dies("cto", "late", orphaned)
	w.run(1, func(cfg *monitor.Config) { cfg.OrphanAfter = time.Hour })
	e := w.looked(seq)
	said := lifecycle.Event{ID: 77, At: e.FailedAt, Kind: lifecycle.Classified, Provenance: lifecycle.Inferred, Message: e.Key, Agent: "cto"}
	said.Detail.Category, said.Detail.Rule, said.Detail.Actor = string(dlqtriage.Permanent), "found-later", dlqtriage.ByRules
	if _, err := w.store.Append(t.Context(), lifecycle.Batch{Events: []lifecycle.Event{said}}); err != nil {
		t.Fatal(err)
	}
	if got := w.looked(seq); got.Category != dlqtriage.Permanent || got.Classification.Rule != "found-later" {
		t.Errorf("after a rule matched: %+v", got)
	}
}

// Why a message failed is its agent's word: the class decides whether it is run again.
func TestAReportOfAnotherAgentGivesNoClass(t *testing.T) {
	t.Parallel()
	for agent, want := range map[string]dlqtriage.Category{"cto": dlqtriage.Transient, "mallory": dlqtriage.Unclassified} {
		w := newWorld(t)
		failed := lifecycle.Event{
			ID: lifecycle.NewEventID("failed", agent), At: lifecycle.MicrosOf(time.Now()), Kind: lifecycle.ReportFailed, Provenance: lifecycle.Reported, TaskID: "used-up",
			Agent: agent, Attempt: 3,
		}
		failed.Detail.Reason = "RateLimitError: 429"
		w.append(lifecycle.Batch{Events: []lifecycle.Event{failed}})
		seq := w.dies("cto", "used-up", exhausted)
		w.run(1, func(c *monitor.Config) { c.OnlyLook = true })
		if e := w.looked(seq); e.Category != want {
			t.Errorf("reported by %s: %+v", agent, e.Classification)
		}
	}
}

func TestAMonitorThatTakesNoTurnsDoesNotLook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	read, err := reader(w.js, w.store)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	cfg := config(w.js, w.store, read)
	cfg.Now = func() time.Time { return now }
	m, err := monitor.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if !m.Looks() {
		t.Error("a monitor that begins does not look")
	}
	if now = now.Add(time.Minute); m.Looks() {
		t.Error("a monitor that took no turn for a minute looks")
	}
}

func TestWhatAnotherMonitorIsToCopyIsClassifiedAndLeftToIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	given := w.dies("cto", "given-up", terminated("authority_exceeded: spending $4,200"))
	w.run(2, func(c *monitor.Config) { c.OnlyLook = true })
	later := w.dies("cto", "later", terminated("impossible_task: nobody can"))
	for seq, want := range map[uint64]string{given: "authority_exceeded", later: "impossible_task"} {
		if e := w.looked(seq); e.Category != dlqtriage.Permanent || e.Detail != want || e.Classification.By != dlqtriage.ByRules {
			t.Errorf("%d: %+v", seq, e)
		}
	}
	queue, err := w.js.Stream(t.Context(), fleet.StreamDLQ)
	if err != nil || queue.CachedInfo().State.Msgs != 0 {
		t.Errorf("the queue of another monitor is %+v, %v", queue.CachedInfo().State, err)
	}
}

// The broker's advisory may be read while a monitor is about to say why a message died: another monitor then knows another time of death.
func TestTwoMonitorsThatDateADeathApartSayTwoThings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const reason = "authority_exceeded: spending $4,200"
	seq := w.dies("cto", "dated", func(e *lifecycle.Event) {
		terminated(reason)(e)
		e.At += 10_000
	})
	confirmed := lifecycle.Event{
		ID: lifecycle.NewEventID("confirmed"), Kind: lifecycle.TermConfirmed, Provenance: lifecycle.Broker, Agent: "cto", Consumer: fleet.WorkerName("cto"), Attempt: 3,
		Message: lifecycle.MessageKey{Stream: contract.StreamID(fleet.StreamTasks), Seq: seq},
	}
	confirmed.Detail.Reason = reason
	about, looked := make(chan bool), make(chan bool)
	waits, goOn := sync.OnceFunc(func() { close(about); <-looked }), sync.OnceFunc(func() { close(looked) })
	w.run(1, func(c *monitor.Config) {
		c.OnlyLook = true
		c.Step = func(point string) {
			if point == "before classify" {
				waits()
			}
		}
	})
	t.Cleanup(goOn)
	<-about
	late, err := w.store.Entry(t.Context(), dlqtriage.EntryID(confirmed.Message))
	if err != nil {
		t.Fatal(err)
	}
	confirmed.At = late.FailedAt - 6_000
	w.append(lifecycle.Batch{Events: []lifecycle.Event{confirmed}})
	w.run(1, func(c *monitor.Config) { c.OnlyLook = true })
	if early := w.looked(seq); early.FailedAt != confirmed.At {
		t.Errorf("the death is dated %d, want %d", early.FailedAt, confirmed.At)
	}
	goOn()
	classified := map[lifecycle.EventID]lifecycle.Micros{}
	testkit.Eventually(t, patience, func() error {
		events, err := w.store.Events(t.Context(), "dated", lifecycle.EventPosition{}, 100)
		for _, e := range events {
			if e.Kind != lifecycle.Classified {
				continue
			}
			if at, known := classified[e.ID]; known && at != e.At {
				t.Fatalf("event %s is there twice, of %d and of %d", e.ID, at, e.At)
			}
			classified[e.ID] = e.At
		}
		if err == nil && len(classified) < 2 {
			err = fmt.Errorf("it was classified %d times", len(classified))
		}
		return err
	})
}
