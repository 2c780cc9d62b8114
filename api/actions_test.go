package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// deadLetter tells that a task died of a slow provider, and returns the path of its entry.
func (f *fixture) deadLetter(task string, seq uint64) string {
	f.t.Helper()
	f.published(task, "marketing", seq)
	f.did(lifecycle.Terminated, task, "marketing", seq, 1, func(e *lifecycle.Event) { e.Detail.Reason = "503 overloaded" })
	f.did(lifecycle.TermConfirmed, task, "marketing", seq, 1, func(e *lifecycle.Event) { e.Provenance = lifecycle.Broker })
	f.commit()
	return "/api/v1/dlq/" + dlqtriage.EntryID(inTasks(seq))
}

// act posts an action and expects that it is accepted.
func (f *fixture) act(entry, key, body string) Operation {
	f.t.Helper()
	a := f.do("POST", entry+"/actions", body, "Idempotency-Key", key)
	if a.status != http.StatusAccepted {
		f.t.Fatalf("got %d %s", a.status, a.body)
	}
	o := parse[Operation](f.t, a.body)
	f.conforms(reflect.TypeFor[Operation](), a.body)
	if a.header.Get("Location") != o.Links.Self {
		f.t.Errorf("location %q, links %+v", a.header.Get("Location"), o.Links)
	}
	return o
}

const retryNow = `{"action":"retry","reason":"the provider is back","params":{"as":"unchanged"}}`

func TestAnActionIsTakenOnceAndFollowed(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		entry := f.deadLetter("t1", 1)
		var all sync.WaitGroup
		replies := make([]answer, 10)
		for i := range replies {
			all.Go(func() { replies[i] = f.do("POST", entry+"/actions", retryNow, "Idempotency-Key", "k1") })
		}
		all.Wait()
		for _, r := range replies {
			if r.status != http.StatusAccepted || string(r.body) != string(replies[0].body) {
				t.Errorf("got %d %s, want ten equal replies", r.status, r.body)
			}
		}
		o := parse[Operation](t, replies[0].body)
		if o.Status != "queued" || o.Action != "retry" || o.Actor != "local" || o.Counts.Selected != 1 || len(o.Items) != 1 || o.Items[0].EntryID != "TASKS:1" || o.Items[0].Status != "queued" {
			t.Errorf("operation %s", replies[0].body)
		}
		if got := get[Operation](f, o.Links.Self); got.ID != o.ID {
			t.Errorf("followed %+v", got)
		}
		f.refused(f.do("POST", entry+"/actions", retryNow, "Idempotency-Key", "k2"), http.StatusConflict, "entry_busy")
		f.refused(f.do("POST", entry+"/actions", `{"action":"discard","reason":"the provider is back"}`, "Idempotency-Key", "k1"), http.StatusUnprocessableEntity, "idempotency_key_reused")
		rows := get[List[AuditRow]](f, "/api/v1/audit?action=retry").Data
		if len(rows) != 1 || rows[0].Target != "TASKS:1" || rows[0].Reason != "the provider is back" || rows[0].Via != "api" || rows[0].Role != "admin" || string(rows[0].After) == "null" {
			t.Errorf("audit %+v", rows)
		}
	})
}

func TestADryRunChangesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	entry := f.deadLetter("t1", 1)
	body := strings.Replace(retryNow, `"action"`, `"dry_run":true,"action"`, 1)
	a := f.do("POST", entry+"/actions", body, "Idempotency-Key", "k1")
	if a.status != http.StatusOK {
		t.Fatalf("got %d %s", a.status, a.body)
	}
	f.conforms(reflect.TypeFor[PreviewReply](), a.body)
	p := parse[PreviewReply](t, a.body).Preview
	if !p.Eligible || p.Message.Value == nil || p.Message.Value.Headers["Nats-Msg-Id"] != "t1:r1" || p.DueAt == 0 || p.Preflight.Value == nil || p.DuplicateWarning != "" {
		t.Errorf("preview %s", a.body)
	}
	if rows := get[List[AuditRow]](f, "/api/v1/audit").Data; len(rows) != 0 {
		t.Errorf("audit %+v, want nothing", rows)
	}
	f.pass(time.Second)
	if again := f.do("POST", entry+"/actions", body, "Idempotency-Key", "k1"); parse[PreviewReply](t, again.body).Preview.DueAt <= p.DueAt {
		t.Errorf("a second later: %d %s, want what would happen then", again.status, again.body)
	}
	f.act(entry, "k1", retryNow)
}

func TestWhatIsUndoneIsOpenAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	entry := f.deadLetter("t1", 1)
	status := func() dlqtriage.Status {
		t.Helper()
		e, err := f.actions.Entries.Entry(t.Context(), "TASKS:1")
		if err != nil {
			t.Fatal(err)
		}
		return e.Status
	}
	later := f.clock().Add(time.Hour).UTC().Format(time.RFC3339)
	for i, tt := range []struct {
		body string
		want dlqtriage.Status
	}{
		{`{"action":"defer","reason":"wait","params":{"until":"` + later + `"}}`, dlqtriage.StatusDeferred},
		{`{"action":"discard","reason":"not needed","params":{"because":"obsolete"}}`, dlqtriage.StatusDiscarded},
		{`{"action":"quarantine","reason":"look at it"}`, dlqtriage.StatusQuarantined},
	} {
		if o := f.act(entry, fmt.Sprint("k", i), tt.body); o.Status != "succeeded" || o.Counts.Done != 1 || o.EndedAt == 0 || status() != tt.want {
			t.Errorf("%s: %+v, the entry is %s", tt.body, o, status())
		}
		f.act(entry, fmt.Sprint("u", i), `{"action":"reopen","reason":"a mistake"}`)
		if status() != dlqtriage.StatusOpen {
			t.Errorf("after %s and reopen: %s", tt.body, status())
		}
	}
	f.act(entry, "c", `{"action":"reclassify","reason":"I looked","params":{"category":"permanent","detail":"data_integrity"}}`)
	p := f.refused(f.do("POST", entry+"/actions", retryNow, "Idempotency-Key", "r"), http.StatusUnprocessableEntity, "not_eligible")
	if blocked, _ := json.Marshal(p["blocked"]); !strings.Contains(string(blocked), `"code":"permanent"`) {
		t.Errorf("blocked %s", blocked)
	}
}

func TestAnActionThatIsWrongIsRefusedAndFreesItsKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	entry := f.deadLetter("t1", 1)
	for body, want := range map[string]string{
		`{"action":"reboot","reason":"because"}`:                                 "unknown_action",
		`{"action":"retry","reason":"no"}`:                                       "reason_required",
		`{"action":"reassign","reason":"because","params":{"agent":"stranger"}}`: "unknown_agent",
		`{"action":"retry","reason":"because","params":{"as":"is"}}`:             "invalid_body",
		`{"action":"retry","reason":"because","extra":1}`:                        "invalid_body",
	} {
		p := f.refused(f.do("POST", entry+"/actions", body, "Idempotency-Key", "k"), http.StatusBadRequest, want)
		if len(p["errors"].([]any)) != 1 {
			t.Errorf("%s: errors %v, want a pointer", body, p["errors"])
		}
	}
	f.refused(f.do("POST", entry+"/actions", retryNow), http.StatusBadRequest, "idempotency_key_required")
	f.refused(f.do("POST", "/api/v1/dlq/TASKS:9/actions", retryNow, "Idempotency-Key", "k"), http.StatusNotFound, "not_found")
	f.refused(f.do("POST", "/api/v1/dlq/nonsense/actions", retryNow, "Idempotency-Key", "k"), http.StatusNotFound, "not_found")
	f.act(entry, "k", retryNow)
}

func TestAnEntryThatWasChangedSinceIsNotActedOn(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	entry := f.deadLetter("t1", 1)
	stale := entryTag(0, "anything")
	f.act(entry, "k1", `{"action":"quarantine","reason":"look at it"}`)
	f.refused(f.do("POST", entry+"/actions", `{"action":"reopen","reason":"a mistake"}`, "Idempotency-Key", "k2", "If-Match", stale), http.StatusPreconditionFailed, "entry_changed")
	f.refused(f.do("POST", entry+"/actions", `{"action":"reopen","reason":"a mistake"}`, "Idempotency-Key", "k2", "If-Match", `"x"`), http.StatusPreconditionFailed, "entry_changed")
	if a := f.do("POST", entry+"/actions", `{"action":"reopen","reason":"a mistake"}`, "Idempotency-Key", "k2", "If-Match", entryTag(1, "other")); a.status != http.StatusAccepted {
		t.Errorf("with the current tag: %d %s", a.status, a.body)
	}
}

// If-Match may name several tags, in one line or more; any of them may be the one that is true now (RFC 9110, 13.1.1).
func TestIfMatchMayNameSeveralTags(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	entry := f.deadLetter("t1", 1)
	f.act(entry, "k0", `{"action":"quarantine","reason":"look at it"}`)
	body := `{"dry_run":true,"action":"reopen","reason":"a mistake"}`
	for i, tt := range []struct {
		lines []string
		want  int
	}{
		{[]string{`"0-a", "1-b"`}, http.StatusOK},
		{[]string{`W/"0-a",W/"1-b"`}, http.StatusOK},
		{[]string{`"0-a"`, `W/"1-b"`}, http.StatusOK},
		{[]string{`"of something else", "1-b"`}, http.StatusOK},
		{[]string{`"a, comma", "1-b"`}, http.StatusOK},
		{[]string{` * `}, http.StatusOK},
		{[]string{`"0-a", "2-b"`}, http.StatusPreconditionFailed},
		{[]string{`"x, 1-b"`}, http.StatusPreconditionFailed},
		{[]string{`"x", "y"`}, http.StatusPreconditionFailed},
		{[]string{`"*"`}, http.StatusPreconditionFailed},
	} {
		headers := []string{"Idempotency-Key", fmt.Sprint("m", i)}
		for _, line := range tt.lines {
			headers = append(headers, "If-Match", line)
		}
		if a := f.do("POST", entry+"/actions", body, headers...); a.status != tt.want {
			t.Errorf("If-Match %q: %d %s, want %d", tt.lines, a.status, a.body, tt.want)
		}
	}
}
