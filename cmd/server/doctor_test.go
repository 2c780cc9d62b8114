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

	"github.com/google/go-cmp/cmp"
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

// What is found on several consumers has its reason once, and one fix where theirs differ in the name alone.
func TestTheDoctorSaysAReasonOnce(t *testing.T) {
	t.Parallel()
	finding := func(code, consumer, fix string) doctor.Finding {
		return doctor.Finding{Code: code, Severity: doctor.Warning, Title: "A trap", Resource: "consumer TASKS " + consumer, What: "It is " + consumer + ".", Why: "Because.", Fix: fix}
	}
	var out strings.Builder
	err := doctorCmd{}.print(&out, doctor.Report{Streams: 1, Consumers: 3, Findings: []doctor.Finding{
		finding("same", "a", "nats consumer edit TASKS a --sample 100"), finding("other", "a", "nats consumer edit TASKS a --max-pending 2"),
		finding("same", "b", "nats consumer edit TASKS b --sample 100"), finding("other", "b", "nats consumer edit TASKS b --max-pending 4"),
		finding("alone", "c", "nats consumer resume TASKS c"),
	}})
	const want = `warning  A trap (same), 2 times
  why   Because.
  fix   nats consumer edit TASKS <consumer> --sample 100
  seen  consumer TASKS a: It is a.
  seen  consumer TASKS b: It is b.

warning  A trap (other), 2 times
  why   Because.
  seen  consumer TASKS a: It is a.
  fix   nats consumer edit TASKS a --max-pending 2
  seen  consumer TASKS b: It is b.
  fix   nats consumer edit TASKS b --max-pending 4

warning  consumer TASKS c: A trap (alone)
  seen  It is c.
  why   Because.
  fix   nats consumer resume TASKS c

5 findings on 1 stream and 3 consumers
`
	if diff := cmp.Diff(want, out.String()); err != nil || diff != "" {
		t.Errorf("%v, printed (-want +got):\n%s", err, diff)
	}
}

// The sentence before it says what is wrong: a command that follows without a word read as the rest of it.
func TestAlertsSayThatACommandIsToBeRun(t *testing.T) {
	t.Parallel()
	for fix, want := range map[string]string{"nats stream edit TASKS --max-msgs 10000": "Run: nats stream edit TASKS --max-msgs 10000", "Let workers ask for shorter delays.": "Let workers ask for shorter delays."} {
		got := trapOf(doctor.Group{Code: "limit_near", Found: []doctor.Finding{{Resource: "stream TASKS", Fix: fix}, {Resource: "stream LATE"}}})
		if got.Fix != want || !slices.Equal(got.On, []string{"stream TASKS", "stream LATE"}) {
			t.Errorf("%q: got %+v", fix, got)
		}
	}
}
