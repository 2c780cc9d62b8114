package main

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"fleetglass/fleet"
	"fleetglass/fleet/doctor"
	"fleetglass/internal/testkit"
)

// The command, the API and the page look at one broker and find the same.
func TestTheDoctorSaysTheSameEverywhere(t *testing.T) {
	t.Parallel()
	broker := testkit.BareBroker(t)
	testkit.Provision(t, broker, fleet.Streams{Contract: fleet.NewContract("")})
	examine := func(args ...string) (int, string) {
		var out strings.Builder
		code := run(t.Context(), append([]string{"doctor", "--nats-url", broker.URL()}, args...), vars(), &out, &out)
		return code, out.String()
	}
	if code, text := examine(); code != 0 || !strings.HasPrefix(text, "0 findings on ") {
		t.Fatalf("a right broker: exit code %d: %s", code, text)
	}
	js := testkit.JetStream(t, broker)
	worker := fleet.NewContract("").Worker("cto", fleet.DefaultTiming())
	if _, err := js.CreateConsumer(t.Context(), fleet.StreamTasks, worker); err != nil {
		t.Fatal(err)
	}
	if code, text := examine(); code != 1 || !strings.Contains(text, "nats consumer edit TASKS cto-task-worker --backoff linear --backoff-steps 3 --backoff-min 5m --backoff-max 5m") {
		t.Errorf("a late heartbeat: exit code %d: %s", code, text)
	}
	if code, text := examine("--fail-on", "critical"); code != 0 {
		t.Errorf("nothing is critical: exit code %d: %s", code, text)
	}
	_, text := examine("-o", "json", "--fail-on", "critical")
	var printed []doctor.Finding
	if err := json.Unmarshal([]byte(text), &printed); err != nil {
		t.Fatalf("%v: %s", err, text)
	}

	r := start(t, settings(t, "--nats-url", broker.URL()))
	var answered struct{ Data []doctor.Finding }
	if err := r.get("/api/v1/doctor", &answered); err != nil {
		t.Fatal(err)
	}
	if len(printed) != 3 || len(answered.Data) < len(printed) {
		t.Errorf("printed %+v, answered %+v", printed, answered.Data)
	}
	code, asked := examine("--server", "http://"+r.Addr(), "-o", "json", "--fail-on", "critical")
	var told []doctor.Finding
	if err := json.Unmarshal([]byte(asked), &told); err != nil || code != 0 || !slices.Equal(told, answered.Data) {
		t.Errorf("asked by the command: exit code %d, %v: %s", code, err, asked)
	}
	page := r.request(http.MethodGet, "/doctor", nil, nil)
	body, err := io.ReadAll(page.Body)
	if err != nil || page.StatusCode != http.StatusOK || !strings.Contains(string(body), "The first wait is shorter than a heartbeat") {
		t.Errorf("page: %s, %v: %s", page.Status, err, body)
	}
}
