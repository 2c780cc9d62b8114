package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"fleetglass/internal/testkit"
)

const (
	callersTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	callersSpan  = "00f067aa0ba902b7"
)

// eachProtocol runs a test with a receiver of every protocol, and the variable that names it.
func eachProtocol(t *testing.T, test func(t *testing.T, receiver *testkit.OTLP, protocol string)) {
	t.Parallel()
	for protocol, receiver := range map[string]func(testing.TB) *testkit.OTLP{"http/protobuf": testkit.Receiver, "grpc": testkit.ReceiverOverGRPC} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			test(t, receiver(t), "OTEL_EXPORTER_OTLP_PROTOCOL="+protocol)
		})
	}
}

// TestTracesAndMetricsOfTheProgramAreSent runs the program with the standard variables, asks for a page as part of somebody's trace, and looks at
// what a receiver got.
func TestTracesAndMetricsOfTheProgramAreSent(t *testing.T) {
	eachProtocol(t, programIsSent)
}

func programIsSent(t *testing.T, receiver *testkit.OTLP, protocol string) {
	cmd, out := program(t, []string{
		protocol, "OTEL_EXPORTER_OTLP_ENDPOINT=" + receiver.URL, "OTEL_BSP_SCHEDULE_DELAY=100", "OTEL_METRIC_EXPORT_INTERVAL=200", "OTEL_RESOURCE_ATTRIBUTES=service.instance.id=one", "FLEETGLASS_LOG_LEVEL=debug",
	}, "--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0", "--data-dir", t.TempDir(), "--demo", "--demo-rate", "20")
	pages := servedAt(t, out)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, pages+"/api/v1/tasks?limit=x", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("traceparent", "00-"+callersTrace+"-"+callersSpan+"-01")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	request.URL.RawQuery = ""
	if response, err = http.DefaultClient.Do(request); err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	testkit.Eventually(t, patience, func() error { return gotSpans(receiver, "GET /api/v1/tasks", "list tasks", "commit batch") })
	if log := out.String(); !strings.Contains(log, "trace_id="+callersTrace) {
		t.Errorf("no line of the log names the caller's trace:\n%s", log)
	}
	for _, name := range []string{"fleetglass_tasks", "fleetglass_events_appended_total", "fleetglass_http_request_seconds", "go_goroutines", "fleetglass_otlp_failures_total"} {
		testkit.Eventually(t, patience, func() error {
			if !receiver.HasMetric(name) {
				return fmt.Errorf("the receiver has no metric %s", name)
			}
			return nil
		})
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("exit: %v\n%s", err, out)
	}
}

// servedAt waits until a process serves, and returns where.
func servedAt(t *testing.T, out *output) string {
	t.Helper()
	pages := regexp.MustCompile(`msg=serving pages=(http://\S+)`)
	testkit.Eventually(t, patience, func() error {
		if pages.MatchString(out.String()) {
			return nil
		}
		return errLog(out.String())
	})
	return pages.FindStringSubmatch(out.String())[1]
}

// gotSpans says which spans a receiver lacks. The request and the call of the store are part of the caller's trace.
func gotSpans(receiver *testkit.OTLP, names ...string) error {
	found := map[string]bool{}
	for _, s := range receiver.Spans() {
		if s.Service != "fleetglass" {
			return fmt.Errorf("span %q is of service %q", s.GetName(), s.Service)
		}
		if s.GetName() == "GET /api/v1/tasks" && fmt.Sprintf("%x", s.GetTraceId()) == callersTrace && fmt.Sprintf("%x", s.GetParentSpanId()) != callersSpan {
			return fmt.Errorf("the request is a span below %x, not below its caller's", s.GetParentSpanId())
		}
		if s.GetName() == "commit batch" || fmt.Sprintf("%x", s.GetTraceId()) == callersTrace {
			found[s.GetName()] = true
		}
	}
	for _, name := range names {
		if !found[name] {
			return fmt.Errorf("no span %q; there are %v", name, found)
		}
	}
	return nil
}

func TestAReceiverThatIsAwayDelaysNothing(t *testing.T) {
	t.Parallel()
	cmd, out := program(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_BSP_SCHEDULE_DELAY=100", "OTEL_EXPORTER_OTLP_TIMEOUT=500"},
		"--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0", "--data-dir", t.TempDir())
	servedAt(t, out)
	testkit.Eventually(t, patience, func() error {
		if strings.Contains(out.String(), "telemetry could not be sent") {
			return nil
		}
		return errLog(out.String())
	})
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("exit: %v\n%s", err, out)
	}
}

func TestATaskOfTheDemonstrationOpensInTheTraceOfItsAgent(t *testing.T) {
	eachProtocol(t, taskOpens)
}

func taskOpens(t *testing.T, receiver *testkit.OTLP, protocol string) {
	_, out := program(t, []string{protocol, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + receiver.URL + "/v1/traces", "OTEL_TRACES_SAMPLER=always_off"},
		"--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0", "--data-dir", t.TempDir(), "--demo", "--demo-rate", "20", "--task-traces", "--task-traces-after", "100ms")
	pages := servedAt(t, out)
	var task testkit.Span
	testkit.Eventually(t, patience, func() error {
		for _, s := range receiver.Spans() {
			if s.GetName() == "task" && s.Attribute("fleetglass.state") == "completed" {
				task = s
				return nil
			}
		}
		return errors.New("no task has come")
	})
	var shown struct {
		Messages []struct{ TraceParent string }
	}
	response, err := http.Get(pages + "/api/v1/tasks/" + url.PathEscape(task.Attribute("fleetglass.task.id")))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if err := json.NewDecoder(response.Body).Decode(&shown); err != nil || len(shown.Messages) == 0 {
		t.Fatalf("%+v, %v", shown, err)
	}
	if want := fmt.Sprintf("00-%x-%x-01", task.GetTraceId(), task.GetParentSpanId()); shown.Messages[0].TraceParent != want {
		t.Errorf("the message names %q, the span %q", shown.Messages[0].TraceParent, want)
	}
	for _, s := range receiver.Spans() {
		if s.Service != "fleetglass-tasks" {
			t.Errorf("span %q is of service %q", s.GetName(), s.Service)
		}
	}
}

func TestTracesOfTasksNeedAReceiver(t *testing.T) {
	t.Parallel()
	if _, err := load([]string{"--task-traces"}, vars(), io.Discard); err == nil || !strings.Contains(err.Error(), "OTEL_EXPORTER_OTLP_ENDPOINT") {
		t.Errorf("error %v", err)
	}
	if _, err := load([]string{"--task-traces"}, vars("OTEL_EXPORTER_OTLP_ENDPOINT", "http://x"), io.Discard); err != nil {
		t.Error(err)
	}
}
