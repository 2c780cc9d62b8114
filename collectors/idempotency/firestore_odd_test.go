package idempotency_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"fleetglass/collectors/idempotency"
	"fleetglass/internal/firestoretest"
	"fleetglass/lifecycle"
)

func TestAPollReadsEqualTimesOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.server.Hang(firestoretest.Listen)
	t.Cleanup(b.server.Heal)
	b.cfg.Page, b.cfg.Poll = 4, 50*time.Millisecond
	c, _ := b.run()
	b.eventually(func() error {
		if got := c.Stats(); got.Sweeps != 2 {
			return fmt.Errorf("stats %+v", got)
		}
		return nil
	})
	at := time.Now()
	tasks := names("t", 30)
	b.completeAll(at, tasks...)
	b.wantOnce(tasks...)
	polls := c.Stats().Polls
	b.eventually(func() error {
		if got := c.Stats(); got.Polls < polls+2*feeds {
			return fmt.Errorf("stats %+v", got)
		}
		return nil
	})
	if got := c.Stats(); got.New != 30 || got.Events <= 30 {
		t.Errorf("stats %+v, want 30 new events, read again and again", got)
	}
}

func TestEqualTimesInACollectionGroupArePagedByFullName(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.server.Hang(firestoretest.Listen)
	t.Cleanup(b.server.Heal)
	b.cfg.Page, b.cfg.Poll = 2, 50*time.Millisecond
	at := time.Now().UnixMilli()
	for _, agent := range []string{"cto", "backend", "marketing"} {
		for _, task := range names("t", 3) {
			b.put("agent-state/"+agent+"/idempotency-log/"+task+"-1", record{"action": "push", "completed_at": at})
		}
	}
	b.run()
	for _, task := range names("t", 3) {
		b.wantKinds(task, lifecycle.EffectLogged, lifecycle.EffectLogged, lifecycle.EffectLogged)
	}
}

func TestOddDocumentsAreReadWhereItIsSafeAndQuarantinedElsewhere(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	now := time.Now().Truncate(time.Millisecond)
	for id, r := range map[string]record{
		"number":       {"taskId": "number", "completedAt": now.UnixMilli()},
		"real":         {"taskId": "real", "completedAt": float64(now.UnixMilli())},
		"text":         {"taskId": "text", "completedAt": fmt.Sprint(now.UnixMilli())},
		"rfc3339":      {"taskId": "rfc3339", "completedAt": now.UTC().Format(time.RFC3339Nano)},
		"timestamp":    {"taskId": "timestamp", "completedAt": now},
		"no-task":      {"completedAt": now.UnixMilli()},
		"number-task":  {"taskId": 42, "completedAt": now.UnixMilli(), "agentId": 7, "resultSummary": []string{"a"}},
		"result-only":  {"taskId": "result-only", "resultSummary": "published"},
		"reserved":     {"taskId": "reserved", "status": "in_flight", "leaseOwner": "w1"},
		"zero":         {"taskId": "zero", "completedAt": 0, "status": "reserved"},
		"truth":        {"taskId": "truth", "completedAt": true},
		"word":         {"taskId": "word", "completedAt": "yesterday"},
		"nothing":      {"taskId": "nothing"},
		"empty":        {},
		"not-a-number": {"taskId": "nan", "completedAt": "NaN"},
		"elsewhere":    {"taskId": "victim", "completedAt": now.UnixMilli()},
		"later~=2":     {"taskId": "later", "idempotencyKey": "later-2", "completedAt": now.UnixMilli()},
		"=YS9i":        {"taskId": "a/b", "completedAt": now.UnixMilli()},
		"by-key-3":     {"taskId": "by-key", "idempotencyKey": "by-key-3", "completedAt": now.UnixMilli()},
	} {
		b.put("task-idempotency/"+id, r)
	}
	c, _ := b.start()
	read := []string{"number", "real", "text", "rfc3339", "timestamp", "no-task", "number-task", "later", "a/b", "by-key"}
	b.wantOnce(append(read, "result-only")...)
	for _, task := range read {
		e := b.wantKinds(task, lifecycle.CompletionRecorded)[0]
		if e.Detail.CreatedAt != lifecycle.MicrosOf(now) {
			t.Errorf("%s: completed at %v, want %v", task, e.Detail.CreatedAt.Time(), now)
		}
	}
	reasons := b.quarantine(6)
	for id, want := range map[string]string{
		"truth": "cannot be read as a time", "word": "yesterday", "elsewhere": "no worker looks", "nothing": "no completedAt", "empty": "no completedAt", "not-a-number": "NaN",
	} {
		if got := reasons["task-idempotency/"+id]; !strings.Contains(got, want) {
			t.Errorf("%s is quarantined because %q, want %q", id, got, want)
		}
	}
	b.wantStats(c, "11 new events, and 2 documents ignored at least once", func(s idempotency.FirestoreStats) bool { return s.New == 11 && s.Ignored >= 2 })
}

func TestTheSweepFindsWhatIsNotInTheOrderOfTime(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.cfg.Sweep, b.cfg.Page = 100*time.Millisecond, 2
	c, _ := b.start()
	now := time.Now()
	b.completeAll(now.Add(-40*24*time.Hour), names("backfill", 5)...)
	b.put("task-idempotency/text", record{"taskId": "text", "completedAt": fmt.Sprint(now.UnixMilli())})
	b.put("task-idempotency/without", record{"taskId": "without", "resultSummary": "done"})
	b.put("agent-state/cto/idempotency-log/logged-2", record{"action": "push", "status": "pending"})
	b.wantOnce(append(names("backfill", 5), "text", "without")...)
	b.wantKinds("logged", lifecycle.EffectLogged)
	sweeps := c.Stats().Sweeps
	b.eventually(func() error {
		if got := c.Stats(); got.Sweeps < sweeps+4 {
			return fmt.Errorf("stats %+v", got)
		}
		return nil
	})
	b.wantStats(c, "8 new events", func(s idempotency.FirestoreStats) bool { return s.New == 8 })
}

func TestWhatTheStoreNoLongerKeepsIsNotBroughtBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.complete("old", time.Now())
	b.cfg.Keep = time.Nanosecond
	c, _ := b.run()
	b.eventually(func() error {
		if got := c.Stats(); got.Ignored < 1 {
			return fmt.Errorf("stats %+v", got)
		}
		return nil
	})
	if got := c.Stats(); got.Events != 0 {
		t.Errorf("stats %+v, want no event", got)
	}
}

func TestARecordWrittenAgainIsTheSameCompletionUnlessItSaysAnotherTime(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.start()
	at := time.Now()
	b.complete("same", at)
	b.complete("twice", at)
	b.wantOnce("same", "twice")
	b.put("task-idempotency/same", record{"taskId": "same", "completedAt": at.UnixMilli(), "resultSummary": "done, with a longer life"})
	b.complete("twice", at.Add(time.Second))
	for task, want := range map[string]int{"same": 1, "twice": 2} {
		b.wantKinds(task, lifecycle.CompletionRecorded, lifecycle.CompletionRecorded)
		rec, err := b.store.Task(t.Context(), task)
		if err != nil {
			t.Fatal(err)
		}
		leaked := 0
		for _, c := range lifecycle.Ledger(&rec.Facts) {
			if c.Layer == lifecycle.LayerExecution {
				leaked += c.N
			}
		}
		if len(rec.Facts.Completions()) != want || leaked != 0 { // A record alone does not tell that anything ran.
			t.Errorf("%s: %d completions, %d leaked; want %d and none", task, len(rec.Facts.Completions()), leaked, want)
		}
	}
}

func TestARecordWithoutTimeCompletesOnceHoweverOftenItIsWritten(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.cfg.Sweep = 20 * time.Millisecond
	b.start()
	for _, result := range []string{"done", "done, and proofread"} {
		b.put("task-idempotency/t", record{"taskId": "t", "resultSummary": result})
		b.eventually(func() error {
			events, err := b.events("t")
			if err == nil && (len(events) == 0 || events[len(events)-1].Detail.ResultRef != result) {
				err = fmt.Errorf("events %+v, want one about %q", events, result)
			}
			return err
		})
	}
	if rec, err := b.store.Task(t.Context(), "t"); err != nil || len(rec.Facts.Completed) != 1 {
		t.Errorf("facts %+v, %v; want one completion", rec.Facts, err)
	}
}

func TestARecordThatGoesAwayExpiredOrWasDeleted(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.start()
	at := time.Now()
	b.complete("deleted", at)
	b.put("task-idempotency/expired", record{"taskId": "expired", "completedAt": at.UnixMilli(), "expiresAt": at.Add(-time.Second).UnixMilli()})
	b.complete("changed", at)
	b.put("agent-state/cto/idempotency-log/logged-1", record{"action": "push", "completed_at": at.UnixMilli()})
	b.wantOnce("deleted", "expired", "changed")
	b.wantKinds("logged", lifecycle.EffectLogged)
	b.put("task-idempotency/changed", record{"taskId": "changed", "completedAt": at.Add(-time.Hour).UnixMilli()}) // Out of the listener's result.
	for _, path := range []string{"agent-state/cto/idempotency-log/logged-1", "task-idempotency/deleted", "task-idempotency/expired"} {
		if _, err := b.agents.Doc(path).Delete(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	b.wantKinds("deleted", lifecycle.CompletionRecorded, lifecycle.RecordDeleted)
	b.wantKinds("expired", lifecycle.CompletionRecorded, lifecycle.RecordExpired)
	b.wantKinds("changed", lifecycle.CompletionRecorded, lifecycle.CompletionRecorded)
	b.wantKinds("logged", lifecycle.EffectLogged)
}

func TestACompletionCarriesWhatTheRecordSays(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.start()
	at := time.Now().Truncate(time.Millisecond)
	w := b.put("task-idempotency/T-1", record{
		"taskId": "T-1", "agentId": "marketing", "completedAt": at.UnixMilli(), "expiresAt": at.Add(72 * time.Hour), "resultSummary": "posted",
		"payloadHash": "ab", "natsStreamSeq": 9, "more": record{"ref": b.agents.Doc("a/b"), "list": []any{1.5, nil, []byte("x")}},
	})
	e := b.wantKinds("T-1", lifecycle.CompletionRecorded)[0]
	want := lifecycle.Detail{
		Naming:        lifecycle.Naming{RecordSeq: 9, PayloadHash: "ab"},
		Timing:        lifecycle.Timing{CreatedAt: lifecycle.MicrosOf(at)},
		OutcomeReport: lifecycle.OutcomeReport{ExpiresAt: lifecycle.MicrosOf(at.Add(72 * time.Hour)), ResultRef: "posted", Status: "completed"},
	}
	if e.At != lifecycle.MicrosOf(w.UpdateTime) || e.Agent != "marketing" || e.Source != "task-idempotency/T-1" ||
		e.Provenance != lifecycle.Recorded || !reflect.DeepEqual(e.Detail, want) {
		t.Errorf("got %+v, want %+v at %v", e, want, w.UpdateTime)
	}
	if raw := string(e.Raw); !strings.HasPrefix(raw, "task-idempotency/T-1\n{") || !strings.Contains(raw, `"ref":"a/b"`) {
		t.Errorf("raw line %q", raw)
	}
}

func TestAnEffectIsAnEventOfItsTask(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.start()
	at := time.Now().Truncate(time.Millisecond)
	b.put("agent-state/marketing/idempotency-log/e1", record{
		"key": "T-1-1", "agent": "marketing", "action": "publish_post", "status": "completed", "completed_at": at,
		"side_effects": []any{record{"type": "blog_post", "slug": "hello"}, record{"type": "git", "ref": "abc"}, "odd"},
	})
	b.put("agent-state/cto/idempotency-log/e2", record{"key": "own-key", "task_id": "T-2", "action": "push", "completed_at": at.UnixMilli()})
	e := b.wantKinds("T-1", lifecycle.EffectLogged)[0]
	want := lifecycle.Detail{
		Naming:        lifecycle.Naming{IdempotencyKey: "T-1-1"},
		Timing:        lifecycle.Timing{CreatedAt: lifecycle.MicrosOf(at)},
		StepReport:    lifecycle.StepReport{Tool: "publish_post"},
		OutcomeReport: lifecycle.OutcomeReport{Status: "completed", ResultRef: "blog_post hello, git abc"},
	}
	if !reflect.DeepEqual(e.Detail, want) || e.Agent != "marketing" {
		t.Errorf("got %+v of %s, want %+v", e.Detail, e.Agent, want)
	}
	if e := b.wantKinds("T-2", lifecycle.EffectLogged)[0]; e.Agent != "cto" || e.Detail.IdempotencyKey != "own-key" {
		t.Errorf("got %+v", e)
	}
}
