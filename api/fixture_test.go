package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"
	"go.uber.org/goleak"

	"fleetglass/access"
	"fleetglass/alerts"
	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/fleet"
	"fleetglass/internal/health"
	"fleetglass/internal/live"
	"fleetglass/internal/requestkey"
	"fleetglass/internal/routes"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/reconcile"
	"fleetglass/store/postgres"
	"fleetglass/store/sqlite"
)

func TestMain(m *testing.M) {
	gin.SetMode(gin.ReleaseMode)
	goleak.VerifyTestMain(m)
}

// fixture is the API over a real store, with a clock that tests move.
type fixture struct {
	*teller
	t      testing.TB
	store  lifecycle.Store
	append lifecycle.Appender
	hub    *live.Hub
	api    *API
	engine *gin.Engine

	actions    *dlqtriage.Actions
	operations *dlqtriage.Operations

	looks      func() bool // Reports whether a monitor looks at what dies; nil where none does.
	duplicates query.DuplicatesConfig
	reconcile  reconcile.Service // Nil: nobody reconciles.

	mu    sync.Mutex
	parts []health.Part
}

// onEveryStore runs a test over each store: the API gives the same answers on all.
func onEveryStore(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, newFixture(t, sqliteStore))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, newFixture(t, postgresStore))
	})
}

func sqliteStore(t testing.TB, now func() time.Time) lifecycle.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "lifecycle.db"), Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func postgresStore(t testing.TB, now func() time.Time) lifecycle.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), postgres.Config{URL: testkit.Postgres(t), MaxConns: 4, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newFixture(t testing.TB, open func(testing.TB, func() time.Time) lifecycle.Store) *fixture {
	t.Helper()
	f := &fixture{t: t, teller: newTeller(), hub: live.NewHub(1000)}
	f.store = open(t, f.clock)
	t.Cleanup(func() {
		if err := f.store.Close(); err != nil {
			t.Error(err)
		}
	})
	f.append = live.Wrap(f.store, f.hub)
	f.parts = []health.Part{{Name: "publishes", Kind: "collector", State: health.OK, Lag: 1500 * time.Millisecond, Pending: 3, Handled: 10}}
	f.api = f.build(Options{Pace: time.Millisecond})
	return f
}

// build makes the API with other options over the same store.
func (f *fixture) build(o Options) *API {
	f.t.Helper()
	contract := Fleet{DecodeReport: f.decode}
	board, err := alerts.NewService(alerts.ServiceConfig{Store: f.store.(alerts.Store), Now: f.clock})
	if err != nil {
		f.t.Fatal(err)
	}
	questions, err := query.New(query.Config{
		Alerts: board, Store: f.store, Entries: f.store.(query.EntryStore), AgentOf: fleet.AgentOfWorker, TaskName: fleet.TaskName, Health: health.ReporterFunc(f.health), Reconcile: f.reconcile, Duplicates: f.duplicates, Looks: f.monitored, Now: f.clock,
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = questions.Close() })
	decisions := f.store.(decision.Store)
	keys, err := requestkey.New(requestkey.Config{Store: decisions, Now: f.clock})
	if err != nil {
		f.t.Fatal(err)
	}
	f.triage()
	tokens, err := access.NewTokens(access.Config{Now: f.clock})
	if err != nil {
		f.t.Fatal(err)
	}
	issuer, err := access.NewIssuer(access.IssuerConfig{Store: f.store.(access.TokenStore), Tokens: tokens, Now: f.clock})
	if err != nil {
		f.t.Fatal(err)
	}
	a, err := New(Config{
		Query: questions, Appender: f.append, Hub: f.hub, Now: f.clock, Log: slog.New(slog.DiscardHandler), Options: o,
		Health: health.ReporterFunc(f.health), Fleet: contract, Reconcile: f.reconcile, Keys: keys, Audit: decisions, Alerts: board, Actions: f.actions, Operations: f.operations, Tokens: issuer,
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.engine = gin.New()
	f.engine.UseEscapedPath = true
	a.Register(routes.New(f.engine, routes.Config{Tokens: access.Unprotected(), Streams: routes.StreamLimits{Total: 2}}))
	f.api = a
	return a
}

// triage prepares the actions on dead letters over the store.
func (f *fixture) triage() {
	f.t.Helper()
	store := f.store.(interface {
		decision.Store
		dlqtriage.EntryStore
	})
	var err error
	f.actions, err = dlqtriage.NewActions(dlqtriage.ActionsConfig{
		Entries: store, Tasks: f.store, Decisions: store, Fleet: f.store, Policy: dlqtriage.DefaultPolicy, Contract: fleet.NewContract(""), Looks: f.monitored, Now: f.clock,
	})
	if err == nil {
		f.operations, err = dlqtriage.NewOperations(dlqtriage.OperationsConfig{Actions: f.actions, Store: store, Changed: f.operationChanged})
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) operationChanged(o dlqtriage.Operation) {
	f.hub.PublishOperation(live.OperationChange{ID: o.ID, Status: string(o.Status), Selected: o.Counts.Selected, Done: o.Counts.Done, Blocked: o.Counts.Blocked, At: o.UpdatedAt})
}

// monitored reports whether there is a monitor of dead letters that looks at what dies.
func (f *fixture) monitored() bool { return f.looks != nil && f.looks() }

func (f *fixture) health() []health.Part {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.parts
}

func (f *fixture) decode(body json.RawMessage, by access.Principal) (lifecycle.Event, error) {
	events, err := fleet.DecodeReports(nil, body, fleet.ReportOrigin{Source: "http", At: lifecycle.MicrosOf(f.clock()), Agents: by.Agents})
	if err != nil {
		return lifecycle.Event{}, err
	}
	if len(events) != 1 {
		return lifecycle.Event{}, errors.New("want one event")
	}
	return events[0], nil
}

// commit stores what was told since the last commit, and lets time pass, so that nothing is answered from memory.
func (f *fixture) commit() {
	f.t.Helper()
	if _, err := f.append.Append(f.t.Context(), f.take()); err != nil {
		f.t.Fatal(err)
	}
	f.pass(time.Minute)
}

// answer is a response with its body read.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (f *fixture) do(method, target, body string, header ...string) answer {
	f.t.Helper()
	r := httptest.NewRequestWithContext(f.t.Context(), method, target, strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	f.engine.ServeHTTP(w, r)
	return answer{w.Code, w.Header(), w.Body.Bytes()}
}

// get asks and expects success, and that the answer is what the OpenAPI document says.
func get[T any](f *fixture, target string, header ...string) T {
	f.t.Helper()
	a := f.do("GET", target, "", header...)
	if a.status != http.StatusOK {
		f.t.Fatalf("GET %s: %d %s", target, a.status, a.body)
	}
	f.conforms(reflect.TypeFor[T](), a.body)
	return parse[T](f.t, a.body)
}

func parse[T any](t testing.TB, body []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return v
}

// conforms checks JSON against the schema of a type in the document.
func (f *fixture) conforms(typ reflect.Type, body []byte) {
	f.t.Helper()
	registry := f.api.huma.OpenAPI().Components.Schemas
	checkSchema(f.t, registry, registry.Schema(typ, true, ""), body)
}

func checkSchema(t testing.TB, registry huma.Registry, schema *huma.Schema, body []byte) {
	t.Helper()
	schema.PrecomputeMessages()
	var res huma.ValidateResult
	huma.Validate(registry, schema, huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer, parse[any](t, body), &res)
	for _, err := range res.Errors {
		t.Errorf("answer does not conform: %v in %s", err, body[:min(len(body), 2000)])
	}
}

// refused asks and expects a problem of the given status and code.
func (f *fixture) refused(a answer, status int, code string) map[string]any {
	f.t.Helper()
	p := parse[map[string]any](f.t, a.body)
	if a.status != status || p["code"] != code || a.header.Get("Content-Type") != "application/problem+json" {
		f.t.Errorf("got %d %s %s, want %d %s", a.status, a.header.Get("Content-Type"), a.body, status, code)
	}
	for _, name := range []string{"type", "title", "status", "detail", "code", "errors", "retryable"} {
		if _, ok := p[name]; !ok {
			f.t.Errorf("problem without %s: %s", name, a.body)
		}
	}
	return p
}

// teller writes events as collectors would.
type teller struct {
	mu    sync.Mutex
	now   lifecycle.Micros
	lines uint64
	batch lifecycle.Batch
}

func newTeller() *teller {
	return &teller{now: lifecycle.MicrosOf(time.Now().Truncate(time.Hour))}
}

func (w *teller) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now.Time()
}

func (w *teller) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *teller) take() lifecycle.Batch {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.batch
	w.batch = lifecycle.Batch{}
	return b
}

func (w *teller) tell(e lifecycle.Event) lifecycle.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines++
	w.now += 1000
	e.At, e.Source, e.SourceSeq = w.now, "OBS_TEST", w.lines
	e.ID = lifecycle.NewEventID(e.Source, strconv.FormatUint(w.lines, 10))
	if e.Provenance == "" {
		e.Provenance = lifecycle.Observed
	}
	w.batch.Events = append(w.batch.Events, e)
	return e
}

func inTasks(seq uint64) lifecycle.MessageKey {
	return lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: seq}
}

// published tells that a message was stored, with its body.
func (w *teller) published(task, agent string, seq uint64, edit ...func(*lifecycle.Event)) {
	e := lifecycle.Event{
		Kind: lifecycle.Published, TaskID: task, Message: inTasks(seq), Agent: agent,
		Detail: lifecycle.Detail{
			Naming: lifecycle.Naming{
				MsgID: task, Type: "content_creation", Subject: "genbrain.agents." + agent + ".tasks.content_creation",
				IdempotencyKey: task + "-1", PayloadHash: "ab12",
			},
			Publication: lifecycle.Publication{Title: "Title of " + task, Size: 2},
		},
	}
	for _, f := range edit {
		f(&e)
	}
	e = w.tell(e)
	w.batch.Payloads = append(w.batch.Payloads, lifecycle.Payload{
		Message: e.Message, Headers: map[string][]string{"Nats-Msg-Id": {e.Detail.MsgID}}, Body: []byte("{}"), Size: 2, At: e.At,
	})
}

// did tells what a worker did about a message.
func (w *teller) did(kind lifecycle.Kind, task, agent string, seq uint64, attempt int, edit ...func(*lifecycle.Event)) lifecycle.Event {
	e := lifecycle.Event{
		Kind: kind, TaskID: task, Message: inTasks(seq), Agent: agent, Consumer: fleet.WorkerName(agent), Attempt: attempt,
		ConsumerSeq: seq*10 + uint64(attempt), Raw: []byte("$JS.ACK.TASKS." + fleet.WorkerName(agent) + "\n+ACK"),
	}
	for _, f := range edit {
		f(&e)
	}
	return w.tell(e)
}

// died tells that the attempts of a message are used up and that it is in the dead-letter queue.
func (w *teller) died(task, agent string, seq uint64) {
	w.did(lifecycle.MaxDeliveries, task, agent, seq, 3)
	w.did(lifecycle.DeadLettered, task, agent, seq, 3)
}

// delivered tells that the broker handed a message out.
func (w *teller) delivered(task, agent string, seq uint64, attempt int) {
	w.did(lifecycle.Delivered, task, agent, seq, attempt, func(e *lifecycle.Event) {
		e.Provenance, e.Detail.Exact, e.Raw = lifecycle.Broker, true, nil
	})
}

// completed tells a whole ordinary story.
func (w *teller) completed(task, agent string, seq uint64) {
	w.published(task, agent, seq)
	w.delivered(task, agent, seq, 1)
	w.pass(20 * time.Second)
	w.did(lifecycle.Acked, task, agent, seq, 1)
}

// worker tells what the broker says about an agent's durable.
func (w *teller) worker(agent string) {
	w.batch.Consumers = append(w.batch.Consumers, lifecycle.ConsumerState{
		Stream: lifecycle.StreamID{Name: "TASKS"}, Name: fleet.WorkerName(agent), ObservedAt: lifecycle.MicrosOf(w.clock()),
		Filters: []string{"genbrain.agents." + agent + ".tasks.>"}, AckWait: 5 * time.Minute,
		Backoff: []time.Duration{30 * time.Second, 2 * time.Minute, 5 * time.Minute}, MaxDeliver: 3, MaxAckPending: 1, Pending: 4, AckPending: 1,
	})
}

// server is the fixture over a real connection.
func (f *fixture) server() *httptest.Server {
	s := httptest.NewServer(f.engine)
	f.t.Cleanup(s.Close)
	return s
}

// open begins a streamed answer; it ends with the test.
func (f *fixture) open(s *httptest.Server, path string, header ...string) io.Reader {
	f.t.Helper()
	ctx, cancel := context.WithCancel(f.t.Context())
	r, err := http.NewRequestWithContext(ctx, "GET", s.URL+path, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	res, err := s.Client().Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		cancel()
		_ = res.Body.Close()
	})
	return res.Body
}

func changesOf(task string, at int) []lifecycle.TaskChange {
	return []lifecycle.TaskChange{{TaskID: task, State: lifecycle.StatePublished, At: lifecycle.Micros(at)}}
}
