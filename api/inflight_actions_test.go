package api

import (
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// heldTask tells that a worker has a task, and returns the path of its lease's actions.
func (f *fixture) heldTask(task string, seq uint64) string {
	f.t.Helper()
	f.worker("marketing")
	f.published(task, "marketing", seq)
	f.delivered(task, "marketing", seq, 1)
	f.tell(lifecycle.Event{
		Kind: lifecycle.ReportStepIntent, TaskID: task, Provenance: lifecycle.Reported, Attempt: 1, Agent: "marketing",
		Detail: lifecycle.Detail{Naming: lifecycle.Naming{MsgID: task}, StepReport: lifecycle.StepReport{StepID: "post", StepClass: "unsafe"}},
	})
	f.commit()
	f.pass(-50 * time.Second) // Ten seconds after the delivery: the deadline is twenty seconds ahead.
	return "/api/v1/in-flight/TASKS/" + map[uint64]string{1: "1", 2: "2"}[seq] + "/actions"
}

func TestAnActionInFlightIsTakenOnce(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		path := f.heldTask("t1", 1)
		body := `{"action":"quarantine","reason":"nobody knows what it did"}`
		var all sync.WaitGroup
		replies := make([]answer, 10)
		for i := range replies {
			all.Go(func() { replies[i] = f.do("POST", path, body, "Idempotency-Key", "k1", "If-Match", `W/"9", "0"`) })
		}
		all.Wait()
		for _, r := range replies {
			if r.status != http.StatusAccepted || string(r.body) != string(replies[0].body) {
				t.Errorf("got %d %s, want ten equal replies", r.status, r.body)
			}
		}
		o := parse[Operation](t, replies[0].body)
		if o.Status != "queued" || o.Action != "quarantine" || len(o.Items) != 1 || o.Items[0].EntryID != "TASKS:1" {
			t.Errorf("operation %s", replies[0].body)
		}
		lease := get[InFlightList](f, "/api/v1/in-flight").Data[0]
		if lease.Acting != "quarantine" || lease.Revision == 0 {
			t.Errorf("lease %+v, want that an action is open", lease)
		}
		f.refused(f.do("POST", path, body, "Idempotency-Key", "k2"), http.StatusConflict, "entry_busy")
		f.refused(f.do("POST", path, body, "Idempotency-Key", "k3", "If-Match", `"0"`), http.StatusPreconditionFailed, "entry_changed")
		rows := get[List[AuditRow]](f, "/api/v1/audit?action=quarantine").Data
		if len(rows) != 1 || rows[0].Target != "TASKS:1" || rows[0].Via != "api" || !strings.Contains(string(rows[0].Before), `"recovery":"quarantine"`) {
			t.Errorf("audit %+v", rows)
		}
	})
}

func TestUnknownEffectsBlockAReleaseUntilItIsForced(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	path := f.heldTask("t1", 1)
	release := `{"action":"release","reason":"its pod is gone"}`
	problem := f.refused(f.do("POST", path, release, "Idempotency-Key", "k1"), http.StatusUnprocessableEntity, "not_eligible")
	if blocked, _ := problem["blocked"].([]any); len(blocked) != 2 {
		t.Errorf("blocked by %v, want unknown effects and a worker that may be at work", problem["blocked"])
	}
	dry := f.do("POST", path, strings.Replace(release, "{", `{"dry_run":true,`, 1), "Idempotency-Key", "k2")
	f.conforms(reflect.TypeFor[HeldPreviewReply](), dry.body)
	if p := parse[HeldPreviewReply](t, dry.body).Preview; dry.status != http.StatusOK || p.Eligible || len(p.Effects) == 0 || p.Recommendation.Value == nil || p.Recommendation.Value.Rule != "open_intent" {
		t.Errorf("preview %s", dry.body)
	}
	f.refused(f.do("POST", path, strings.Replace(release, "}", `,"params":{"force":true}}`, 1), "Idempotency-Key", "k3"), http.StatusBadRequest, "invalid_body")
	forced := strings.Replace(release, "}", `,"params":{"force":true,"force_reason":"the post was looked up, it is not there"}}`, 1)
	if a := f.do("POST", path, forced, "Idempotency-Key", "k2"); a.status != http.StatusAccepted {
		t.Errorf("forced: %d %s", a.status, a.body)
	}
	if rows := get[List[AuditRow]](f, "/api/v1/audit?action=release").Data; len(rows) != 1 || !strings.Contains(string(rows[0].Reason), "forced: the post was looked up") {
		t.Errorf("audit %+v", rows)
	}
}

func TestAResolutionIsAWordOfItsActorAndNoCompletion(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	path := f.heldTask("t1", 1)
	f.pass(time.Minute) // The deadline has passed.
	if l := get[InFlightList](f, "/api/v1/in-flight").Data[0]; l.StaleKind != "stale" || l.Recommendation.Value == nil || l.Recommendation.Value.Decision != "quarantine" {
		t.Fatalf("lease %+v", l)
	}
	a := f.do("POST", path, `{"action":"reconcile","reason":"the post is there"}`, "Idempotency-Key", "k1")
	if o := parse[Operation](t, a.body); a.status != http.StatusAccepted || o.Status != "succeeded" {
		t.Fatalf("%d %s", a.status, a.body)
	}
	f.pass(time.Second)
	trace := get[Trace](f, "/api/v1/tasks/t1")
	lease := trace.Lease.Value
	if trace.State == "completed" || trace.CompletedAt != 0 || lease == nil || lease.StaleKind != "" || lease.Resolved.Value == nil || lease.Resolved.Value.By != "local" ||
		lease.Resolved.Value.Note != "the post is there" || trace.Answers.Recovery.Headline != "Somebody marked it as resolved" {
		t.Errorf("trace %+v, lease %+v", trace.Answers, lease)
	}
	f.delivered("t1", "marketing", 1, 2) // The resolution was about the attempt before.
	f.commit()
	f.pass(3 * time.Minute)
	if l := get[InFlightList](f, "/api/v1/in-flight").Data[0]; l.Resolved.Value != nil || l.StaleKind != "stale" {
		t.Errorf("the next attempt: %+v", l)
	}
}

func TestAnActionOnWhatIsNotInFlightIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	f.heldTask("t1", 1)
	f.completed("t2", "marketing", 2)
	f.commit()
	body := `{"action":"release","reason":"its pod is gone"}`
	f.refused(f.do("POST", "/api/v1/in-flight/TASKS/2/actions", body, "Idempotency-Key", "k1"), http.StatusUnprocessableEntity, "not_eligible")
	f.refused(f.do("POST", "/api/v1/in-flight/TASKS/7/actions", body, "Idempotency-Key", "k2"), http.StatusNotFound, "not_found")
	f.refused(f.do("POST", "/api/v1/in-flight/TASKS/x/actions", body, "Idempotency-Key", "k3"), http.StatusNotFound, "not_found")
	f.refused(f.do("POST", "/api/v1/in-flight/TASKS/1/actions", strings.Replace(body, "release", "retry", 1), "Idempotency-Key", "k4"), http.StatusBadRequest, "unknown_action")
	f.refused(f.do("POST", "/api/v1/in-flight/TASKS/1/actions", `{"action":"release","reason":"x"}`, "Idempotency-Key", "k5"), http.StatusBadRequest, "reason_required")
	f.refused(f.do("POST", "/api/v1/in-flight/TASKS/1/actions", body), http.StatusBadRequest, "idempotency_key_required")
	for _, kind := range dlqtriage.ActionKinds() {
		if kind == dlqtriage.ActionRelease || kind == dlqtriage.ActionReconcile {
			t.Errorf("%s is listed among the actions on dead letters", kind)
		}
	}
}
