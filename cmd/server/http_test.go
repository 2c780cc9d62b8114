package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"fleetglass/access"
	"fleetglass/internal/testkit"
)

func TestRequestsNeedATokenWhereAuthenticationIsConfigured(t *testing.T) {
	t.Parallel()
	token, _ := access.NewToken("settings", nil, time.Time{})
	r := start(t, settings(t, "--token", token))
	bearer := http.Header{"Authorization": {"Bearer " + token}}
	for _, tt := range []struct {
		path   string
		header http.Header
		want   int
	}{
		{"/healthz", nil, 200}, {"/", nil, 401}, {"/api/v1/tasks", nil, 401}, {"/metrics", nil, 401}, {"/openapi.json", nil, 401},
		{"/", bearer, 200}, {"/api/v1/tasks", bearer, 200}, {"/metrics", bearer, 200},
	} {
		response := r.request(http.MethodGet, tt.path, tt.header, nil)
		if response.StatusCode != tt.want {
			t.Errorf("GET %s with %v: %s, want %d", tt.path, tt.header, response.Status, tt.want)
		}
		if tt.want == 401 && len(response.Header.Values("WWW-Authenticate")) != 2 {
			t.Errorf("GET %s does not say how to authenticate: %v", tt.path, response.Header)
		}
	}
}

func TestEveryAnswerCarriesTheSecurityHeaders(t *testing.T) {
	t.Parallel()
	r := start(t, settings(t))
	for _, path := range []string{"/", "/tasks", "/api/v1/tasks", "/healthz", "/nowhere", "/api/v1/nowhere", "/openapi.json"} {
		h := r.request(http.MethodGet, path, nil, nil).Header
		if !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") || strings.Contains(h.Get("Content-Security-Policy"), "unsafe") {
			t.Errorf("GET %s: policy %q", path, h.Get("Content-Security-Policy"))
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") == "" {
			t.Errorf("GET %s: headers %v", path, h)
		}
	}
}

func TestForeignHostsAndOriginsAreRefused(t *testing.T) {
	t.Parallel()
	r := start(t, settings(t))
	if got := r.request(http.MethodGet, "/api/v1/tasks", http.Header{"Host": {"evil.example"}}, nil); got.StatusCode != http.StatusForbidden {
		t.Errorf("a foreign host: %s", got.Status)
	}
	foreign := http.Header{"Origin": {"https://evil.example"}, "Sec-Fetch-Site": {"cross-site"}, "Content-Type": {"application/json"}}
	if got := r.request(http.MethodPost, "/api/v1/reports", foreign, strings.NewReader("{}")); got.StatusCode != http.StatusForbidden {
		t.Errorf("a foreign origin: %s", got.Status)
	}
	form := http.Header{"Origin": {"https://evil.example"}, "Sec-Fetch-Site": {"cross-site"}, "Content-Type": {"application/x-www-form-urlencoded"}}
	if got := r.request(http.MethodPost, "/reconciliation", form, strings.NewReader("key=k")); got.StatusCode != http.StatusForbidden {
		t.Errorf("a form on a foreign page: %s", got.Status)
	}
}

func TestBodiesAndHeadersAreLimited(t *testing.T) {
	t.Parallel()
	r := start(t, settings(t, "--max-body", "10kB"))
	header := http.Header{"Content-Type": {"application/cloudevents+json"}}
	if got := r.request(http.MethodPost, "/api/v1/reports", header, bytes.NewReader(make([]byte, 11_000))); got.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a body of 11 kB: %s", got.Status)
	}
	large := http.Header{"X-Large": {strings.Repeat("x", 2*maxHeaderBytes)}}
	if got := r.request(http.MethodGet, "/api/v1/tasks", large, nil); got.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a large header: %s", got.Status)
	}
}

func TestReadOnlyTakesNoReports(t *testing.T) {
	t.Parallel()
	r := start(t, settings(t, "--read-only"))
	if got := r.request(http.MethodPost, "/api/v1/reports", nil, strings.NewReader("{}")); got.StatusCode != http.StatusForbidden {
		t.Errorf("a report in read-only mode: %s", got.Status)
	}
	for _, path := range []string{"/api/v1/reconciliations", "/reconciliation"} {
		if got := r.request(http.MethodPost, path, nil, nil); got.StatusCode != http.StatusForbidden || got.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("POST %s in read-only mode: %s, %s", path, got.Status, got.Header.Get("Content-Type"))
		}
	}
}

func TestAnUnknownCallIsAProblemAndAnUnknownPageIsAPage(t *testing.T) {
	t.Parallel()
	r := start(t, settings(t))
	for path, want := range map[string]string{
		"/api/v1/nowhere": "application/problem+json", "/api/v1": "application/problem+json", "/api": "application/problem+json", "/nowhere": "text/html", "/apiary": "text/html",
	} {
		got := r.request(http.MethodGet, path, nil, nil)
		if got.StatusCode != http.StatusNotFound || !strings.HasPrefix(got.Header.Get("Content-Type"), want) {
			t.Errorf("GET %s: %s, %s; want 404, %s", path, got.Status, got.Header.Get("Content-Type"), want)
		}
	}
}

func TestMetricsSpeakOfEveryPart(t *testing.T) {
	t.Parallel()
	r := start(t, settings(t))
	testkit.Eventually(t, patience, func() error { // A collector that is starting has no lag yet.
		text, err := io.ReadAll(r.request(http.MethodGet, "/metrics", nil, nil).Body)
		if err != nil {
			return err
		}
		for _, want := range []string{
			`fleetglass_part_up{kind="store",part="store"`, "fleetglass_collector_lag_seconds{part=\"acks\"}", "fleetglass_fleet_metrics_ok 1",
			"fleetglass_events_appended_total", "go_goroutines",
		} {
			if !strings.Contains(string(text), want) {
				return fmt.Errorf("metrics lack %q", want)
			}
		}
		return nil
	})
}

// live opens the stream of changes and returns its lines.
func (r *running) live() (*http.Response, *bufio.Scanner) {
	r.t.Helper()
	response := r.request(http.MethodGet, "/api/v1/stream", http.Header{"Accept": {"text/event-stream"}, "Accept-Encoding": {"gzip, zstd"}}, nil)
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Encoding") != "" {
		r.t.Fatalf("stream: %s, %v", response.Status, response.Header)
	}
	return response, bufio.NewScanner(response.Body)
}

func TestTheStreamTellsWhatChangesAtOnce(t *testing.T) {
	t.Parallel()
	r := start(t, settings(t))
	_, lines := r.live()
	worker := connectAgent(t, r.AgentsURL())
	worker.work("live-1")
	found := make(chan bool, 1)
	go func() {
		for lines.Scan() {
			if strings.Contains(lines.Text(), "live-1") {
				found <- true
				return
			}
		}
		found <- false
	}()
	select {
	case ok := <-found:
		if !ok {
			t.Errorf("the stream ended: %v", lines.Err())
		}
	case <-time.After(patience):
		t.Error("the stream does not tell of the task")
	}
}

func TestAStopEndsStreamsInGoodOrder(t *testing.T) {
	t.Parallel()
	r := start(t, settings(t))
	_, lines := r.live()
	begin := time.Now()
	r.end()
	for lines.Scan() {
	}
	if lines.Err() != nil {
		t.Errorf("the stream broke: %v", lines.Err())
	}
	if took := time.Since(begin); took > shutdownTimeout {
		t.Errorf("the stop took %s", took)
	}
}

func TestAQuestionAboutTheServerItselfNeedsATokenToo(t *testing.T) {
	t.Parallel()
	r, _ := guarded(t)
	conn, err := (&net.Dialer{Timeout: patience}).DialContext(t.Context(), "tcp", r.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized {
		t.Errorf("OPTIONS *: %s, want 401", response.Status)
	}
}

// Two replicas share a Postgres, and the broker gives each line to one of them. Readers of either see what both commit.
func TestTheStreamTellsWhatAnotherReplicaStores(t *testing.T) {
	t.Parallel()
	srv, database := testkit.Broker(t), testkit.Postgres(t)
	told := map[int]map[string]string{}
	var mu sync.Mutex
	for i := range 2 {
		r := start(t, settings(t, "--nats-url", srv.URL(), "--database-url", database))
		told[i] = map[string]string{}
		response, lines := r.live()
		go func() {
			defer response.Body.Close()
			for lines.Scan() {
				var task struct {
					ID    string `json:"task_id"`
					State string
				}
				if data, is := strings.CutPrefix(lines.Text(), "data: "); is && json.Unmarshal([]byte(data), &task) == nil && task.ID != "" {
					mu.Lock()
					told[i][task.ID] = task.State
					mu.Unlock()
				}
			}
		}()
	}
	worker := connectAgent(t, srv.URL())
	for n := range 20 {
		worker.work(fmt.Sprintf("shared-%d", n))
	}
	testkit.Eventually(t, patience, func() error {
		mu.Lock()
		defer mu.Unlock()
		for i, tasks := range told {
			for n := range 20 {
				if id := fmt.Sprintf("shared-%d", n); tasks[id] != "completed" {
					return fmt.Errorf("the stream of replica %d says that %s is %q", i, id, tasks[id])
				}
			}
		}
		return nil
	})
}
