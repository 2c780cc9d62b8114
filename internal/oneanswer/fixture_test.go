package oneanswer

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/gin-gonic/gin"

	"fleetglass/access"
	"fleetglass/api"
	"fleetglass/fleet"
	"fleetglass/internal/health"
	"fleetglass/internal/live"
	"fleetglass/internal/routes"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/reconcile"
	"fleetglass/web"
	"fleetglass/web/webtest"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// everything tells a story with every state, every stale kind, gaps, duplicates and agents.
func everything() lifecycle.Batch {
	s, sec := webtest.Rich(noon), time.Second
	m := s.Publish("tsk-failed", "cto", "code_review", "Handed back", -time.Minute, "")
	s.Deliver(m, 1, -50*sec)
	s.Say(lifecycle.Nacked, m, 1, -40*sec, lifecycle.Detail{Ending: lifecycle.Ending{Delay: 5 * time.Minute}})
	m = s.Publish("tsk-completing", "cto", "code_review", "Recorded", -time.Minute, "")
	s.Deliver(m, 1, -20*sec)
	s.Say(lifecycle.Heartbeat, m, 1, -10*sec, lifecycle.Detail{})
	s.Record(m, -5*sec)
	m = s.Publish("tsk-exhausted", "devops", "deployment", "Used up", -30*time.Minute, "")
	s.Deliver(m, 3, -20*time.Minute)
	s.Tell(lifecycle.MaxDeliveries, lifecycle.Broker, m, 3, -10*time.Minute, lifecycle.Detail{})
	m = s.Publish("tsk-triaged", "devops", "deployment", "Decided", -30*time.Minute, "")
	s.Deliver(m, 3, -20*time.Minute)
	s.Tell(lifecycle.MaxDeliveries, lifecycle.Broker, m, 3, -10*time.Minute, lifecycle.Detail{})
	s.Bury(m, "permanent", 2001, -10*time.Minute)
	s.Tell(lifecycle.Triaged, lifecycle.Recorded, m, 0, -5*time.Minute, lifecycle.Detail{Triage: lifecycle.Triage{Revision: 1, Outcome: lifecycle.OutcomeDiscarded, Action: "discard", Actor: "ann"}})
	m = s.Publish("tsk-removed", "ceo", "planning", "Pushed out", -30*time.Minute, "")
	s.Tell(lifecycle.Vanished, lifecycle.Broker, m, 0, -10*time.Minute, lifecycle.Detail{Ending: lifecycle.Ending{Removal: lifecycle.RemovedByLimit, Undelivered: true}})
	m = s.Publish("tsk-zombie", "frontend", "implementation", "Two hands", -3*time.Minute, "")
	s.Deliver(m, 1, -100*sec)
	s.Deliver(m, 2, -60*sec)
	s.Say(lifecycle.Heartbeat, m, 2, -30*sec, lifecycle.Detail{})
	s.Say(lifecycle.Heartbeat, m, 1, -20*sec, lifecycle.Detail{})
	m = s.Publish("tsk-weak", "backend", "debugging", "Claimed only", -5*time.Minute, "")
	s.Deliver(m, 3, -3*time.Minute)
	s.Report(lifecycle.ReportClaimed, m, 3, -170*sec, lifecycle.Detail{LeaseReport: lifecycle.LeaseReport{LeaseOwner: "be-1", LeaseVersion: 7}})
	s.Batch.Gaps = append(s.Batch.Gaps,
		lifecycle.Gap{Source: "OBS_RAW", From: s.At(-5*time.Minute - 500*time.Millisecond), To: s.At(-5*time.Minute - 400*time.Millisecond), Reason: "limits"})
	// A publish of which nothing was stored, half a second after lines were lost.
	at := -5 * time.Minute
	named := lifecycle.Naming{MsgID: "tsk-lost", Subject: "genbrain.agents.cso.tasks.compliance", Type: "compliance"}
	s.Event(lifecycle.Event{Kind: lifecycle.PublishAttempted, At: s.At(at), Source: "OBS_RAW", TaskID: "tsk-lost", Agent: "cso", Detail: lifecycle.Detail{Naming: named}})
	s.Event(lifecycle.Event{Kind: lifecycle.NotStored, At: s.At(at), Provenance: lifecycle.Inferred, Source: "OBS_RAW", TaskID: "tsk-lost", Agent: "cso"})
	return s.Batch
}

// both is pages and API over one store.
type both struct {
	t       *testing.T
	ask     *query.Service
	handler http.Handler
}

func newBoth(t *testing.T) both {
	t.Helper()
	now := func() time.Time { return noon }
	store, err := webtest.Store(t.Context(), t.TempDir(), now, everything())
	if err != nil {
		t.Fatal(err)
	}
	parts := webtest.Healthy(now)
	reports, err := reconcile.New(reconcile.Config{Store: store, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	if err := webtest.Reports(t.Context(), store, noon); err != nil {
		t.Fatal(err)
	}
	ask, err := query.New(query.Config{Store: store, Entries: store, AgentOf: fleet.AgentOfWorker, Health: parts, Reconcile: reports, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ask.Close(); _ = store.Close() })
	return both{t, ask, serve(t, ask, store, reports, parts, now)}
}

func serve(t *testing.T, ask *query.Service, appender lifecycle.Appender, reports reconcile.Service, parts health.Reporter, now func() time.Time) http.Handler {
	t.Helper()
	decode := func(json.RawMessage, access.Principal) (lifecycle.Event, error) { return lifecycle.Event{}, io.EOF }
	hub := live.NewHub(1)
	calls, err := api.New(api.Config{Query: ask, Appender: appender, Hub: hub, Health: parts, Reconcile: reports, Now: now, Fleet: api.Fleet{DecodeReport: decode}})
	if err != nil {
		t.Fatal(err)
	}
	pages, err := web.New(web.Config{Query: ask, Hub: hub, Health: parts, Reconcile: reports, Now: now, TaskJSON: calls.TaskJSON})
	if err != nil {
		t.Fatal(err)
	}
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.UseEscapedPath = true
	router := routes.New(engine, routes.Config{Tokens: access.Unprotected()})
	calls.Register(router)
	pages.Register(router)
	return engine
}

func (b both) get(path string) *httptest.ResponseRecorder {
	b.t.Helper()
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, httptest.NewRequestWithContext(b.t.Context(), http.MethodGet, path, nil))
	if w.Code != http.StatusOK {
		b.t.Fatalf("GET %s: %d %s", path, w.Code, w.Body)
	}
	return w
}

func (b both) page(path string) *goquery.Document {
	b.t.Helper()
	doc, err := goquery.NewDocumentFromReader(b.get(path).Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return doc
}

// answer asks the API.
func answer[T any](b both, path string) T {
	b.t.Helper()
	var out T
	if err := json.Unmarshal(b.get("/api/v1"+path).Body.Bytes(), &out); err != nil {
		b.t.Fatalf("GET %s: %v", path, err)
	}
	return out
}
