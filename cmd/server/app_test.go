package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/internal/testkit"
)

const patience = 20 * time.Second

// longForm says that a test takes its time (make torture).
func longForm() bool { return os.Getenv("FLEETGLASS_TORTURE") == "long" }

// TestMain lets tests start the whole program: the test binary is the program when it is told so.
func TestMain(m *testing.M) {
	if os.Getenv("FLEETGLASS_TEST_BE_THE_PROGRAM") != "" {
		if n, err := strconv.ParseUint(os.Getenv("FLEETGLASS_TEST_DESCRIPTORS"), 10, 32); err == nil {
			if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: n, Max: n}); err != nil {
				panic(err)
			}
		}
		main()
	}
	os.Exit(m.Run())
}

// settings reads a configuration that touches nothing outside the test: free ports and a directory of its own.
func settings(t *testing.T, args ...string) Config {
	t.Helper()
	standard := []string{"--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0", "--data-dir", t.TempDir(), "--poll-interval", "100ms"}
	l, err := load(append(standard, args...), vars(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return l.cli.Config
}

// running is an App that serves.
type running struct {
	*App
	t    *testing.T
	stop context.CancelFunc
	done chan error
}

// start starts an App; it is stopped when the test ends, if not before.
func start(t *testing.T, cfg Config) *running {
	t.Helper()
	return startWith(t, cfg, slog.New(slog.DiscardHandler))
}

// startWith is start with a log.
func startWith(t *testing.T, cfg Config, log *slog.Logger) *running {
	t.Helper()
	app, err := New(t.Context(), cfg, log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{App: app, t: t, stop: cancel, done: make(chan error, 1)}
	go func() { r.done <- app.Run(ctx) }()
	t.Cleanup(r.end)
	return r
}

// end stops it and waits. It is idempotent.
func (r *running) end() {
	r.t.Helper()
	r.stop()
	select {
	case err := <-r.done:
		if err != nil {
			r.t.Errorf("Run: %v", err)
		}
		r.done <- nil
	case <-time.After(patience):
		r.t.Fatal("the program does not stop")
	}
}

func (r *running) request(method, path string, header http.Header, body io.Reader) *http.Response {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), method, "http://"+r.Addr()+path, body)
	if err != nil {
		r.t.Fatal(err)
	}
	for name, values := range header {
		request.Header[name] = values
	}
	if host := header.Get("Host"); host != "" {
		request.Host = host
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// get decodes a JSON answer, and errors when its status is not 200.
func (r *running) get(path string, into any) error {
	r.t.Helper()
	response := r.request(http.MethodGet, path, nil, nil)
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s: %s", path, response.Status, text)
	}
	return json.Unmarshal(text, into)
}

// trace is the part of a task's trace that does not depend on when it is asked for.
type trace struct {
	TaskID     string `json:"task_id"`
	State      string `json:"state"`
	Agent      string `json:"agent"`
	Type       string `json:"type"`
	Title      string `json:"title"`
	Attempts   int    `json:"attempts"`
	Duplicates struct {
		CaughtByStream int `json:"caught_by_stream"`
		Publishes      []struct {
			Unclear int `json:"unclear"`
		} `json:"publishes"`
	} `json:"duplicates"`
	Messages []struct {
		Stream   string `json:"stream"`
		Seq      string `json:"seq"`
		Attempts []struct {
			N   int    `json:"n"`
			End string `json:"end"`
		} `json:"attempts"`
	} `json:"messages"`
}

// completed waits until a task worked by [agent.work] is completed and its repeated publishes, which another source tells of, are seen.
func (r *running) completed(id string) trace {
	r.t.Helper()
	var got trace
	testkit.Eventually(r.t, patience, func() error {
		got = trace{}
		if err := r.get("/api/v1/tasks/"+id, &got); err != nil {
			return err
		}
		caught := got.Duplicates.CaughtByStream
		for _, p := range got.Duplicates.Publishes {
			caught += p.Unclear // On a busy machine it may be unclear which publish was stored, and which was caught (ADR 66).
		}
		if got.State != "completed" || caught != 2 {
			return fmt.Errorf("%s is %s with %d duplicates, want completed with 2: %+v", id, got.State, caught, got.Duplicates)
		}
		return nil
	})
	return got
}

// agent is a program that knows nothing of Fleetglass: plain nats.go.
type agent struct {
	t        *testing.T
	js       jetstream.JetStream
	consumer jetstream.Consumer
}

func connectAgent(t *testing.T, url string) *agent {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	consumer, err := js.CreateOrUpdateConsumer(t.Context(), "TASKS", jetstream.ConsumerConfig{
		Durable: "backend-task-worker", FilterSubject: "genbrain.agents.backend.tasks.>", AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: 30 * time.Second, MaxDeliver: 3, MaxAckPending: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	return &agent{t: t, js: js, consumer: consumer}
}

func (a *agent) publish(id, body string) {
	a.t.Helper()
	msg := nats.NewMsg("genbrain.agents.backend.tasks.code_review")
	msg.Header.Set("Nats-Msg-Id", id)
	msg.Data = []byte(body)
	if _, err := a.js.PublishMsg(a.t.Context(), msg); err != nil {
		a.t.Fatal(err)
	}
}

func (a *agent) take() jetstream.Msg {
	a.t.Helper()
	msg, err := a.consumer.Next(jetstream.FetchMaxWait(patience))
	if err != nil {
		a.t.Fatal(err)
	}
	return msg
}

func (a *agent) do(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

// work publishes a task three times, hands its first attempt back and completes the second.
func (a *agent) work(id string) {
	a.t.Helper()
	for range 3 {
		a.publish(id, `{"taskId":"`+id+`","type":"code_review","payload":{"title":"Review the outbox"}}`)
	}
	a.do(a.take().Nak())
	second := a.take()
	a.do(second.InProgress())
	a.do(second.Ack())
}

// stores are the two forms of the program's memory.
func stores(t *testing.T, test func(t *testing.T, args ...string)) {
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); test(t) })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); test(t, "--database-url", testkit.Postgres(t)) })
}

func TestAForeignAgentsTaskIsTracedAndSurvivesRestartAndRebuild(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, args ...string) {
		cfg := settings(t, args...)
		first := start(t, cfg)
		connectAgent(t, first.AgentsURL()).work("review-1")
		got := first.completed("review-1")
		if got.Agent != "backend" || got.Type != "code_review" || got.Attempts != 2 || len(got.Messages) != 1 {
			t.Errorf("trace: %+v", got)
		}
		first.end()

		second := start(t, cfg)
		if diff := cmp.Diff(got, second.completed("review-1")); diff != "" {
			t.Errorf("the trace after a restart (-before +after):\n%s", diff)
		}
		connectAgent(t, second.AgentsURL()).work("review-2")
		second.completed("review-2")
		second.end()

		var out strings.Builder
		if code := run(t.Context(), append([]string{"rebuild", "--data-dir", cfg.DataDir}, args...), vars(), &out, &out); code != 0 {
			t.Fatalf("rebuild: exit code %d: %s", code, &out)
		}
		third := start(t, cfg)
		if diff := cmp.Diff(got, third.completed("review-1")); diff != "" {
			t.Errorf("the trace after a rebuild (-before +after):\n%s", diff)
		}
	})
}

func TestTheServerIsReadyAndTellsWhereAgentsConnect(t *testing.T) {
	t.Parallel()
	r := start(t, settings(t))
	var ready struct {
		Ready bool `json:"ready"`
		Parts []struct{ Name, State, Detail string }
	}
	testkit.Eventually(t, patience, func() error { return r.get("/readyz", &ready) })
	detail := map[string]string{}
	for _, p := range ready.Parts {
		detail[p.Name] = p.Detail
	}
	if !strings.Contains(detail["nats"], r.AgentsURL()) {
		t.Errorf("readyz says %q, want the address %s", detail["nats"], r.AgentsURL())
	}
	for _, name := range []string{"store", "nats", "streams", "publishes", "acks", "advisories", "reports"} {
		if _, ok := detail[name]; !ok {
			t.Errorf("readyz lacks %s: %v", name, detail)
		}
	}
}

func TestATakenBrokerPortFallsBackAndSaysSo(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	cfg := settings(t)
	cfg.NATSListen = taken.Addr().String()
	r := start(t, cfg)
	if r.AgentsURL() == "nats://"+cfg.NATSListen || !strings.HasPrefix(r.AgentsURL(), "nats://127.0.0.1:") {
		t.Errorf("agents connect to %s although %s is taken", r.AgentsURL(), cfg.NATSListen)
	}
	var text json.RawMessage
	testkit.Eventually(t, patience, func() error { return r.get("/readyz", &text) })
	if !strings.Contains(string(text), "because "+cfg.NATSListen+" was taken") {
		t.Errorf("readyz does not say that the port was taken: %s", text)
	}
	connectAgent(t, r.AgentsURL())
}

func TestATakenPagesPortIsAnErrorAndLeavesNothingOpen(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg := settings(t)
	cfg.Listen = taken.Addr().String()
	if _, err := New(t.Context(), cfg, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "--listen") {
		t.Errorf("got %v, want an error that names the setting", err)
	}
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	cfg.Listen = "127.0.0.1:0"
	start(t, cfg) // The data directory is free again.
}

func TestOnlyOneProcessUsesADataDirectory(t *testing.T) {
	t.Parallel()
	cfg := settings(t)
	start(t, cfg)
	if _, err := New(t.Context(), cfg, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("got %v, want an error that says that the directory is in use", err)
	}
}

func TestAForeignBrokerIsNotTouchedUntilToldTo(t *testing.T) {
	t.Parallel()
	broker := testkit.BareBroker(t)
	cfg := settings(t, "--nats-url", broker.URL())
	r := start(t, cfg)
	testkit.Eventually(t, patience, func() error {
		response := r.request(http.MethodGet, "/readyz", nil, nil)
		text, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(text), "run fleetglass provision --apply") {
			return fmt.Errorf("readyz: %s: %s", response.Status, text)
		}
		return nil
	})
	provision := func(args ...string) string {
		var out strings.Builder
		args = append([]string{"provision", "--nats-url", broker.URL()}, args...)
		if code := run(t.Context(), args, vars(), &out, &out); code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, code, &out)
		}
		return out.String()
	}
	if plan := provision(); !strings.Contains(plan, "+ create stream OBS_PUB") || !strings.Contains(plan, "nothing was changed") {
		t.Errorf("plan:\n%s", plan)
	}
	js := testkit.JetStream(t, broker)
	if _, err := js.Stream(t.Context(), "TASKS"); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("the plan alone created TASKS: %v", err)
	}
	if applied := provision("--apply"); !strings.HasSuffix(applied, "applied\n") {
		t.Errorf("apply:\n%s", applied)
	}
	if again := provision("--apply"); !strings.Contains(again, "nothing to change") {
		t.Errorf("a second apply:\n%s", again)
	}
	if permissions := provision("--permissions"); !strings.Contains(permissions, "permissions: {") {
		t.Errorf("permissions:\n%s", permissions)
	}
	if user := provision("--permissions-of", "observer,retry"); !strings.HasPrefix(user, "# observer, retry\n{ user: fleetglass, password: $FLEETGLASS_PASSWORD,") || strings.Contains(user, "as it should be") {
		t.Errorf("the user to run with:\n%s", user)
	}
	if user := provision("--permissions-of", "observer,retry", "--nsc"); !strings.Contains(user, "\nnsc edit signing-key --sk \"$SIGNING_KEY\" --role fleetglass ") {
		t.Errorf("the command of nsc:\n%s", user)
	}
	connectAgent(t, broker.URL()).work("foreign-1")
	if got := r.completed("foreign-1"); got.Attempts != 2 {
		t.Errorf("trace: %+v", got)
	}
}

func TestADataDirectoryWithSQLiteIsUsedByOneProcessAtATime(t *testing.T) {
	t.Parallel()
	broker := testkit.BareBroker(t)
	cfg := settings(t, "--nats-url", broker.URL())
	rebuild := func() (int, string) {
		var out strings.Builder
		code := run(t.Context(), []string{"rebuild", "--data-dir", cfg.DataDir}, vars(), &out, &out)
		return code, out.String()
	}
	if code, told := rebuild(); code != 1 || !strings.Contains(told, "there is no database") {
		t.Errorf("rebuild of an empty directory: exit code %d, %s; want an error that says so", code, told)
	}
	first := start(t, cfg)
	if _, err := New(t.Context(), cfg, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("a second server of the directory: got %v, want a refusal", err)
	}
	if code, told := rebuild(); code != 1 || !strings.Contains(told, "in use by another process") {
		t.Errorf("rebuild beside a server: exit code %d, %s; want a refusal", code, told)
	}
	first.end()
	if code, told := rebuild(); code != 0 {
		t.Errorf("rebuild after the server: exit code %d, %s", code, told)
	}
}
