package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
)

func reportJSON(id, kind, task string) string {
	b, _ := json.Marshal(map[string]any{
		"specversion": "1.0", "id": id, "source": "/agents/cto", "type": "fleet.lifecycle." + kind + ".v1", "subject": task,
		"time": "2026-11-20T16:00:10.5Z", "data": map[string]any{"attempt": 1, "agent": "cto"},
	})
	return string(b)
}

func (f *fixture) accepted(a answer) ReportsAccepted {
	f.t.Helper()
	if a.status != http.StatusAccepted {
		f.t.Fatalf("got %d %s", a.status, a.body)
	}
	f.conforms(reflect.TypeFor[ReportsAccepted](), a.body)
	return parse[ReportsAccepted](f.t, a.body)
}

func TestAReportIsStoredAndSentAgainChangesNothing(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		body := reportJSON("r-1", "accepted", "blog/1")
		send := func(header ...string) answer {
			return f.do("POST", "/api/v1/reports", body, append(header, "Content-Type", "application/cloudevents+json")...)
		}
		first := send("Idempotency-Key", "k1")
		for i, a := range []answer{first, send("Idempotency-Key", "k2"), send()} {
			got := f.accepted(a)
			if got.Accepted != 1 || got.Events[0].TaskID != "blog/1" || got.Events[0].Kind != "accepted" || (got.New == 1) != (i == 0) {
				t.Errorf("submission %d: %+v", i, got)
			}
		}
		if again := send("Idempotency-Key", "k1"); string(again.body) != string(first.body) || again.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("with the same key: %s %v, want the first answer: %s", again.body, again.header, first.body)
		}
		for i, id := range []string{"r-3", "r-4"} { // The task's own key, which an agent sends along with each report.
			got := f.accepted(f.do("POST", "/api/v1/reports", reportJSON(id, "checkpoint", "blog/2"), "X-Idempotency-Key", "blog/2-1", "Content-Type", "application/cloudevents+json"))
			if got.New != 1 {
				t.Errorf("report %d with its task's key: %+v", i, got)
			}
		}
		f.refused(f.do("POST", "/api/v1/reports", reportJSON("r-2", "checkpoint", "blog/1"), "Idempotency-Key", "k1"), http.StatusUnprocessableEntity, "idempotency_key_reused")
		f.published("blog/1", "cto", 1)
		f.commit()
		trace := get[Trace](f, "/api/v1/tasks/blog%2F1")
		if trace.Boundaries.AcceptedAt == 0 {
			t.Errorf("boundaries = %+v", trace.Boundaries)
		}
		events := get[List[Event]](f, "/api/v1/tasks/blog%2F1/events")
		if len(events.Data) != 2 || events.Data[1].Provenance != "reported" {
			t.Errorf("events = %+v", events.Data)
		}
	})
}

// An agent that names its reports badly loses none of them.
func TestAnotherReportUnderAnIdThatWasUsedIsKept(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		f.published("blog/1", "cto", 1)
		f.commit()
		for _, kind := range []string{"claimed", "completed", "completed"} {
			f.accepted(f.do("POST", "/api/v1/reports", reportJSON("blog/1", kind, "blog/1"), "Content-Type", "application/cloudevents+json"))
		}
		var kinds []string
		for _, e := range get[List[Event]](f, "/api/v1/tasks/blog%2F1/events").Data {
			kinds = append(kinds, e.Kind)
		}
		if diff := cmp.Diff([]string{"published", "claimed", "completed"}, kinds); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

func TestABatchIsStoredWholeOrNotAtAll(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		good := "[" + reportJSON("r-1", "claimed", "a") + "," + reportJSON("r-2", "completed", "b") + "]"
		if got := f.accepted(f.do("POST", "/api/v1/reports", good, "Content-Type", "application/cloudevents-batch+json")); got.New != 2 || got.Events[1].TaskID != "b" {
			t.Errorf("batch = %+v", got)
		}
		bad := "[" + reportJSON("r-3", "claimed", "c") + "," + reportJSON("r-4", "invented", "c") + "," + reportJSON("r-5", "claimed", "") + "]"
		p := f.refused(f.do("POST", "/api/v1/reports", bad), 422, "invalid_report")
		pointers := []string{}
		for _, e := range p["errors"].([]any) {
			pointers = append(pointers, e.(map[string]any)["pointer"].(string))
		}
		if diff := cmp.Diff([]string{"/body/1", "/body/2"}, pointers); diff != "" {
			t.Errorf("pointers (-want +got):\n%s", diff)
		}
		if _, err := f.store.Task(t.Context(), "c"); err == nil {
			t.Error("a part of a refused batch was stored")
		}
		if got := f.accepted(f.do("POST", "/api/v1/reports", "[]")); got.Accepted != 0 {
			t.Errorf("empty batch = %+v", got)
		}
	})
}

func TestBinaryModeIsTheSameReport(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	structured := f.accepted(f.do("POST", "/api/v1/reports", reportJSON("r-1", "checkpoint", "a")))
	binary := f.accepted(f.do("POST", "/api/v1/reports", `{"attempt":1,"agent":"cto"}`, "Content-Type", "application/json", "Ce-Specversion", "1.0",
		"Ce-Id", "r-1", "Ce-Source", "/agents/cto", "Ce-Type", "fleet.lifecycle.checkpoint.v1", "Ce-Subject", "a", "Ce-Time", "2026-11-20T16:00:10.5Z"))
	if diff := cmp.Diff(structured.Events, binary.Events); diff != "" || binary.New != 0 {
		t.Errorf("binary is new: %d (-structured +binary):\n%s", binary.New, diff)
	}
	bytes := f.accepted(f.do("POST", "/api/v1/reports", "\xff\x00", "Content-Type", "application/octet-stream", "Ce-Specversion", "1.0",
		"Ce-Id", "r-2", "Ce-Source", "/agents/cto", "Ce-Type", "fleet.lifecycle.checkpoint.v1", "Ce-Subject", "a"))
	if bytes.New != 1 {
		t.Errorf("bytes = %+v", bytes)
	}
}

func TestReportsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	f.build(Options{Limits: httperr.Limits{MaxBody: 2000}})
	many := "[" + strings.TrimSuffix(strings.Repeat("{},", maxReports/2), ",") + "]"
	cases := []struct {
		name, body, contentType string
		status                  int
		code                    string
	}{
		{"no body", "", "application/json", 400, "invalid_body"},
		{"no JSON", "{", "application/json", 400, "invalid_body"},
		{"no JSON in a CloudEvent", "{", "application/cloudevents+json", 400, "invalid_body"},
		{"a number", "17", "application/json", 400, "invalid_body"},
		{"no UTF-8", `{"specversion":"1.0","id":"1","source":"a","type":"fleet.lifecycle.claimed.v1","subject":"x` + "\xff" + `"}`, "application/json", 400, "invalid_body"},
		{"no array", "[{}", "application/json", 400, "invalid_body"},
		{"array of numbers", "[1]", "application/json", 422, "invalid_report"},
		{"array in an array", "[[" + reportJSON("r", "claimed", "a") + "]]", "application/json", 422, "invalid_report"},
		{"deep", strings.Repeat("[", 1500), "application/json", 400, "invalid_body"},
		{"no version", `{"id":"1","source":"a","type":"fleet.lifecycle.claimed.v1","subject":"x"}`, "application/json", 422, "invalid_report"},
		{"another media type", "a=1", "application/x-www-form-urlencoded", 415, "unsupported_media_type"},
		{"a media type that is none", "{}", ";;", 415, "unsupported_media_type"},
		{"large", strings.Repeat(" ", 2001), "application/json", 413, "body_too_large"},
		{"many at once", many, "application/json", 422, "invalid_report"},
	}
	for _, c := range cases {
		a := f.do("POST", "/api/v1/reports", c.body, "Content-Type", c.contentType)
		if p := f.refused(a, c.status, c.code); p["detail"] == "" {
			t.Errorf("%s: no detail", c.name)
		}
	}
}

func TestTooManyReportsAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	body := "[" + strings.TrimSuffix(strings.Repeat("{},", maxReports+1), ",") + "]"
	f.refused(f.do("POST", "/api/v1/reports", body), 400, "invalid_body")
}

func TestABodyThatBreaksOffIsATimeout(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/api/v1/reports", io.MultiReader(strings.NewReader("{"), broken{}))
	w := httptest.NewRecorder()
	f.engine.ServeHTTP(w, r)
	f.refused(answer{w.Code, w.Header(), w.Body.Bytes()}, 408, "request_timeout")
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, fmt.Errorf("read tcp 10.0.0.7:443: i/o timeout") }

func TestAStoreThatFailsIsAnInternalProblemWithoutItsCause(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	f.append = failing{}
	f.build(Options{})
	p := f.refused(f.do("POST", "/api/v1/reports", reportJSON("r", "claimed", "a")), 500, "internal")
	if p["retryable"] != true || strings.Contains(fmt.Sprint(p), "disk") {
		t.Errorf("problem = %v", p)
	}
}

func TestAClosedStoreIsUnavailable(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	if err := f.store.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/tasks", "/tasks/counts", "/tasks/a", "/tasks/a/events", "/in-flight", "/agents", "/stats/fleet", "/gaps", "/quarantine"} {
		if p := f.refused(f.do("GET", Base+path, ""), 503, "unavailable"); p["retryable"] != true {
			t.Errorf("%s: %v", path, p)
		}
	}
}

type failing struct{}

func (failing) Append(context.Context, lifecycle.Batch) (lifecycle.Appended, error) {
	return lifecycle.Appended{}, errors.New("append: disk full")
}

func TestWhatIsWrongWithAReportIsOneLine(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	p := f.refused(f.do("POST", "/api/v1/reports", `{"id":"1"}`), http.StatusUnprocessableEntity, "invalid_report")
	if detail := fmt.Sprint(p["errors"]); strings.Contains(detail, "\n") {
		t.Errorf("errors %q", detail)
	}
}
