package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"fleetglass/internal/health"
	"fleetglass/internal/routes"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/reconcile"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func scrape(t *testing.T, r *Registry) string {
	t.Helper()
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func wantLines(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("metrics lack %q", line)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// shelf is a store whose answers a test sets.
type shelf struct {
	lifecycle.TaskReader
	lifecycle.TraceReader
	tally     lifecycle.Tally
	open      []lifecycle.OpenMessage
	consumers []lifecycle.ConsumerState
	gaps      []lifecycle.Gap
	err       error
	reads     int
}

func (s *shelf) Rollups(_ context.Context, metrics []lifecycle.Metric, from, to lifecycle.Micros, _ bool) (lifecycle.Tally, error) {
	s.reads++
	out := lifecycle.Tally{}
	for cell, n := range s.tally {
		for _, m := range metrics {
			if cell.Metric == m && (cell.Bucket == 0 || (from <= cell.Bucket && cell.Bucket < to)) {
				out[cell] = n
			}
		}
	}
	return out, s.err
}

func (s *shelf) Facets(context.Context) (lifecycle.Facets, error) {
	return lifecycle.Facets{Agents: map[string]int64{"backend": 12, "cto": 1}}, s.err
}

func (s *shelf) OpenMessages(context.Context, lifecycle.StreamID, uint64, int) ([]lifecycle.OpenMessage, error) {
	return s.open, s.err
}
func (s *shelf) Consumers(context.Context) ([]lifecycle.ConsumerState, error) {
	return s.consumers, s.err
}
func (s *shelf) Gaps(context.Context, lifecycle.Micros, lifecycle.Micros, int) ([]lifecycle.Gap, error) {
	return s.gaps, s.err
}
func (s *shelf) Quarantine(context.Context, int) ([]lifecycle.QuarantinedLine, int64, error) {
	return nil, 3, s.err
}
func (s *shelf) Watermark(context.Context, string) (string, error) { return "", s.err }

// fleetOf exports the metrics of a store.
func fleetOf(t *testing.T, s *shelf, now func() time.Time) *Fleet {
	t.Helper()
	ask, err := query.New(query.Config{Store: s, AgentOf: func(consumer string) string { return strings.TrimSuffix(consumer, "-task-worker") }, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ask.Close() })
	return NewFleet(ask)
}

// message is an open message, stored ago before noon, that a worker took began before noon; zero for never.
func message(seq uint64, agent string, ago, began time.Duration) lifecycle.OpenMessage {
	key := lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: seq}
	m := lifecycle.MessageFacts{Key: key}
	at := lifecycle.MicrosOf(noon)
	m.Join(lifecycle.Event{ID: 1, Kind: lifecycle.Published, At: at.Add(-ago), Message: key, Agent: agent, TaskID: key.String()})
	if began > 0 {
		m.Join(lifecycle.Event{
			ID: 2, Kind: lifecycle.Delivered, At: at.Add(-began), Message: key, Agent: agent, Consumer: agent + "-task-worker", ConsumerSeq: seq, Attempt: 1,
		})
	}
	return lifecycle.OpenMessage{Message: m, Task: lifecycle.TaskFacts{ID: key.String()}}
}

func TestFleetMetrics(t *testing.T) {
	t.Parallel()
	hour := lifecycle.MicrosOf(noon).Truncate(time.Hour)
	s := &shelf{
		tally: lifecycle.Tally{
			{Metric: lifecycle.MetricState, Agent: "backend", Label: "completed"}:                                12,
			{Metric: lifecycle.MetricPublished, Agent: "backend", Bucket: hour, Label: "code.review"}:            7,
			{Metric: lifecycle.MetricPublished, Agent: "backend", Bucket: hour, Label: "debug"}:                  4,
			{Metric: lifecycle.MetricPublished, Agent: "backend", Bucket: hour.Add(-24 * time.Hour), Label: "x"}: 100,
			{Metric: lifecycle.MetricFailedAttempts, Agent: "backend", Bucket: hour, Label: "timed_out"}:         2,
		},
		open: []lifecycle.OpenMessage{
			message(1, "backend", 10*time.Minute, time.Minute), message(2, "backend", 3*time.Minute, 0), message(3, "cto", time.Minute, 10*time.Second),
		},
		consumers: []lifecycle.ConsumerState{{
			Stream: lifecycle.StreamID{Name: "TASKS"}, Name: "backend-task-worker", AckWait: 30 * time.Second, MaxDeliver: 3,
		}},
		gaps: []lifecycle.Gap{{Source: "OBS_EVT"}, {Source: "OBS_EVT"}, {Source: "OBS_PUB", Repaired: true}},
	}
	r := NewRegistry("test", slog.New(slog.DiscardHandler))
	r.MustRegister(fleetOf(t, s, func() time.Time { return noon }))
	got := scrape(t, r)
	wantLines(t, got,
		`fleetglass_tasks{agent="backend",state="completed"} 12`,
		`fleetglass_in_flight{agent="backend"} 1`, `fleetglass_in_flight{agent="cto"} 1`,
		`fleetglass_pending_queue_age_seconds{agent="backend"} 180`, `fleetglass_pending_queue_age_seconds{agent="cto"} 0`,
		`fleetglass_stale_in_flight{agent="backend",kind="stale"} 1`,
		`fleetglass_messages_published_total{agent="backend"} 11`,
		`fleetglass_attempts_failed_total{agent="backend",how="timed_out"} 2`,
		`fleetglass_capture_gaps{source="OBS_EVT"} 2`, `fleetglass_quarantined_lines 3`, "fleetglass_in_flight_partial 0", `fleetglass_fleet_metrics_ok 1`,
		`fleetglass_build_info{version="test"} 1`,
	)
	if strings.Contains(got, "code.review") || strings.Contains(got, `source="OBS_PUB"`) {
		t.Errorf("a label is not bounded, or a repaired gap counts:\n%s", got)
	}
	if !strings.Contains(got, "go_goroutines") {
		t.Error("the metrics of the runtime are missing")
	}
}

func TestScrapesThatComeCloseTogetherShareWhatWasRead(t *testing.T) {
	t.Parallel()
	now, s := noon, &shelf{}
	r := NewRegistry("test", slog.New(slog.DiscardHandler))
	r.MustRegister(fleetOf(t, s, func() time.Time { return now }))
	scrape(t, r)
	first := s.reads
	scrape(t, r)
	if s.reads != first {
		t.Errorf("a second scrape read again: %d, then %d", first, s.reads)
	}
	now = now.Add(time.Minute)
	scrape(t, r)
	if s.reads != 2*first {
		t.Errorf("after the cache's time: %d reads, want %d", s.reads, 2*first)
	}
}

func TestAStoreThatFailsDoesNotHideTheOtherMetrics(t *testing.T) {
	t.Parallel()
	r := NewRegistry("test", slog.New(slog.DiscardHandler))
	r.MustRegister(fleetOf(t, &shelf{err: errors.New("disk on fire")}, func() time.Time { return noon }))
	got := scrape(t, r)
	wantLines(t, got, "fleetglass_fleet_metrics_ok 0")
	if !strings.Contains(got, "go_goroutines") || strings.Contains(got, "disk on fire") {
		t.Errorf("metrics:\n%s", got)
	}
}

func TestDailyCountersNeverFallWithinADay(t *testing.T) {
	t.Parallel()
	var d dailyCounters
	key := dailyKey{metric: lifecycle.MetricPublished, agent: "a"}
	var got []float64
	for _, step := range []struct {
		day   lifecycle.Micros
		value float64
	}{{1, 5}, {1, 4}, {1, 6}, {2, 1}, {2, 0}} {
		d.begin(step.day)
		got = append(got, d.rise(key, step.value))
	}
	for i, want := range []float64{5, 5, 6, 1, 1} {
		if got[i] != want {
			t.Errorf("step %d: %v, want %v", i, got[i], want)
		}
	}
}

func TestAgentsBeyondTheLimitShareALabel(t *testing.T) {
	t.Parallel()
	s := sampler{labels: &agentLabels{}}
	for i := range agentLimit {
		s.agent(strings.Repeat("a", i+1))
	}
	if got := s.agent("one-more"); got != "other" {
		t.Errorf("label %q, want other", got)
	}
	if got := s.agent("a"); got != "a" {
		t.Errorf("label %q, want a", got)
	}
}

func TestALabelStaysWithTheAgentThatHadItFirst(t *testing.T) {
	t.Parallel()
	labels := &agentLabels{}
	for i := range agentLimit {
		labels.label(fmt.Sprintf("m-%04d", i))
	}
	for i := range 3000 { // A flood of names that come first in every list.
		if got := labels.label(fmt.Sprintf("a-%04d", i)); got != "other" {
			t.Fatalf("name %d of the flood has label %q", i, got)
		}
	}
	if got := labels.label("m-0199"); got != "m-0199" {
		t.Errorf("the last of the first has label %q now", got)
	}
}

func TestALabelHoldsNoControlCharacter(t *testing.T) {
	t.Parallel()
	if got := (&agentLabels{}).label("ev\x1b[31mil\x00\xff"); got != "ev\uFFFD[31mil\uFFFD\uFFFD" {
		t.Errorf("label %q", got)
	}
}

func TestHealthMetrics(t *testing.T) {
	t.Parallel()
	r := NewRegistry("test", slog.New(slog.DiscardHandler))
	r.MustRegister(Health{Parts: health.ReporterFunc(func() []health.Part {
		return []health.Part{
			{Name: "acks", Kind: "collector", State: health.Behind, Lag: 3 * time.Second, Pending: 40, Handled: 1000, Quarantine: 2},
			{Name: "nats", Kind: "broker", State: health.Down},
			{Name: "reports", Kind: "collector", State: health.Down, Handled: 7},
			{Name: "firestore", Kind: "collector", State: health.NotConfigured},
		}
	})})
	text := scrape(t, r)
	for _, blind := range []string{`lag_seconds{part="reports"}`, `pending_lines{part="reports"}`, `lag_seconds{part="firestore"}`} {
		if strings.Contains(text, blind) {
			t.Errorf("%s is told of a part that looks at nothing", blind)
		}
	}
	wantLines(t, text, `fleetglass_collector_lines_total{part="reports"} 7`,
		`fleetglass_part_up{kind="collector",part="acks",state="behind"} 1`, `fleetglass_part_up{kind="broker",part="nats",state="down"} 0`,
		`fleetglass_collector_lag_seconds{part="acks"} 3`, `fleetglass_collector_pending_lines{part="acks"} 40`,
		`fleetglass_collector_lines_total{part="acks"} 1000`, `fleetglass_collector_quarantined_total{part="acks"} 2`,
	)
}

type takes struct{ err error }

func (t takes) Append(_ context.Context, b lifecycle.Batch) (lifecycle.Appended, error) {
	return lifecycle.Appended{New: len(b.Events) - 1}, t.err
}

func TestWhatIsAppendedIsCounted(t *testing.T) {
	t.Parallel()
	r := NewRegistry("test", slog.New(slog.DiscardHandler))
	a := NewAppender(r, takes{}, func() time.Time { return noon })
	batch := lifecycle.Batch{Events: make([]lifecycle.Event, 5), Quarantined: make([]lifecycle.QuarantinedLine, 2)}
	if done, err := a.Append(t.Context(), batch); err != nil || done.New != 4 {
		t.Fatalf("got %+v, %v", done, err)
	}
	a.next = takes{errors.New("full")}
	if _, err := a.Append(t.Context(), batch); err == nil {
		t.Fatal("the error was lost")
	}
	wantLines(t, scrape(t, r), "fleetglass_events_appended_total 4", "fleetglass_events_known_total 1", "fleetglass_lines_quarantined_total 2",
		"fleetglass_append_failures_total 1", "fleetglass_append_seconds_count 1")
}

func TestRequestsAreCountedByRoute(t *testing.T) {
	t.Parallel()
	r := NewRegistry("test", slog.New(slog.DiscardHandler))
	e := gin.New()
	e.Use(HTTP(r, func() time.Time { return noon }))
	e.GET("/tasks/:id", func(c *gin.Context) { c.Status(204) })
	for _, target := range []string{"/tasks/1", "/tasks/2", "/nowhere", "/tasks/3"} {
		e.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", target, nil))
	}
	e.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("BREW", "/tasks/1", nil))
	got := scrape(t, r)
	wantLines(t, got, `fleetglass_http_requests_total{method="GET",route="/tasks/:id",status="2xx"} 3`,
		`fleetglass_http_requests_total{method="GET",route="none",status="4xx"} 1`, `fleetglass_http_requests_total{method="other",route="none",status="4xx"} 1`)
	if strings.Contains(got, "nowhere") || strings.Contains(got, "BREW") {
		t.Errorf("a label is not bounded:\n%s", got)
	}
}

func TestLogLevelsAndForms(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	log, err := NewLog(&out, "warn", "json")
	if err != nil {
		t.Fatal(err)
	}
	log.Info("quiet")
	log.Warn("loud", "part", "nats")
	if got := out.String(); strings.Contains(got, "quiet") || !strings.Contains(got, `"part":"nats"`) {
		t.Errorf("log: %s", got)
	}
	for _, bad := range [][2]string{{"loud", "text"}, {"info", "xml"}} {
		if _, err := NewLog(&out, bad[0], bad[1]); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
}

func TestTheNewestReconciliationIsExported(t *testing.T) {
	t.Parallel()
	var found reconcile.Run
	err := lifecycle.ErrNotFound
	r := NewRegistry("dev", slog.New(slog.DiscardHandler))
	r.MustRegister(Reconciliation{Latest: func(context.Context) (reconcile.Run, error) { return found, err }})
	wantLines(t, scrape(t, r), "fleetglass_reconciliation_timestamp_seconds 0")
	err = nil
	found.Report = &reconcile.Report{
		AsOf: lifecycle.MicrosOf(noon), Total: reconcile.Balance{Unexplained: 3},
		Lists: []reconcile.DiscrepancyList{{Kind: reconcile.NeverSeen, Total: 2}},
	}
	wantLines(t, scrape(t, r), "fleetglass_reconciliation_unexplained 3", `fleetglass_reconciliation_discrepancies{kind="never_seen"} 2`,
		`fleetglass_reconciliation_discrepancies{kind="expired"} 0`, "fleetglass_reconciliation_timestamp_seconds 1.795176e+09")
}

func TestFailedSignInsAreThereBeforeTheFirst(t *testing.T) {
	t.Parallel()
	r := NewRegistry("test", slog.New(slog.DiscardHandler))
	SignIns(r)(routes.FailedUnknown)
	wantLines(t, scrape(t, r), `fleetglass_failed_sign_ins_total{reason="unknown"} 1`, `fleetglass_failed_sign_ins_total{reason="expired"} 0`,
		`fleetglass_failed_sign_ins_total{reason="limited"} 0`)
}
