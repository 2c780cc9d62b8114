package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fleetglass/access"
	"fleetglass/client"
	"fleetglass/internal/testkit"
)

// command runs a command against the server, and returns its exit code and what it printed.
func (r *running) command(args ...string) (int, string) {
	r.t.Helper()
	var out strings.Builder
	code := run(r.t.Context(), append(args, "--server", "http://"+r.Addr()), vars(), &out, &out)
	return code, out.String()
}

// A person at a terminal lists, reads and retries, once.
func TestAPersonTriagesAtATerminal(t *testing.T) {
	t.Parallel()
	r := start(t, settings(t))
	r.die("draft-7", "provider timeout \x1b[2Jafter 30 s")
	testkit.Eventually(t, patience, func() error {
		if _, text := r.command("dlq"); !strings.Contains(text, "draft-7") || !strings.Contains(text, "llm_provider_timeout") {
			return fmt.Errorf("dlq:\n%s", text)
		}
		return nil
	})
	_, dlq := r.command("dlq")
	if strings.Contains(dlq, "\x1b") {
		t.Errorf("a reason controls the terminal: %q", dlq)
	}
	if code, text := r.command("tasks", "agent:marketing"); code != 0 || !strings.Contains(text, "draft-7") {
		t.Errorf("tasks: exit code %d:\n%s", code, text)
	}
	if code, text := r.command("tasks", "agent:nobody"); code != 0 || text != "nothing found\n" {
		t.Errorf("tasks of nobody: exit code %d:\n%s", code, text)
	}
	if code, text := r.command("task", "draft-7"); code != 0 || !strings.Contains(text, "recovery") || !strings.Contains(text, "provider timeout") {
		t.Errorf("task: exit code %d:\n%s", code, text)
	}
	receipt := regexp.MustCompile(`Stored as TASKS:1; nothing later is durable\.|The dead-letter queue stored an entry of this message\.`) // It may have come by now.
	if code, text := r.command("task", "draft-7"); code != 0 || !receipt.MatchString(text) {
		t.Errorf("task: exit code %d, want the answers in full:\n%s", code, text)
	}
	if code, text := r.command("events", "draft-7"); code != 0 || !strings.Contains(text, "terminated") || !strings.Contains(text, "observed") || strings.Contains(text, "These are the first") {
		t.Errorf("events: exit code %d:\n%s", code, text)
	}
	if code, text := r.command("events", "draft-7", "--limit", "1"); code != 0 || !strings.Contains(text, "These are the first 1") {
		t.Errorf("one event: exit code %d:\n%s", code, text)
	}
	if code, text := r.command("in-flight"); code != 0 {
		t.Errorf("in-flight: exit code %d:\n%s", code, text)
	}
	if code, text := r.command("tasks", "--limit", "500"); code != 1 || strings.Count(text, "limit") != 1 {
		t.Errorf("too high a limit: exit code %d, said once is enough:\n%s", code, text)
	}
	_, text := r.command("dlq", "-o", "json")
	var entries client.Page[client.DeadLetter]
	if err := json.Unmarshal([]byte(text), &entries); err != nil || len(entries.Data) != 1 {
		t.Fatalf("entries: %v: %s", err, text)
	}
	for range 2 { // The same key is the same retry.
		if code, text := r.command("retry", entries.Data[0].ID, "--reason", "the provider is back", "--as", "unchanged", "--key", "one"); code != 0 || !strings.Contains(text, "succeeded") {
			t.Errorf("retry: exit code %d:\n%s", code, text)
		}
	}
	var operation client.Operation
	code, text := r.command("retry", entries.Data[0].ID, "--reason", "the provider is back", "--as", "unchanged", "--key", "one", "-o", "json")
	if err := json.Unmarshal([]byte(text), &operation); err != nil || code != 0 || operation.Status != "succeeded" {
		t.Errorf("retry as JSON: exit code %d, %v:\n%s", code, err, text)
	}
	if code, text := r.command("retry", entries.Data[0].ID, "--reason", "once more"); code != 1 || strings.Contains(text, "--key") {
		t.Errorf("a second retry: exit code %d:\n%s", code, text)
	}
}

// A retry that the plan delays says when its message is published.
func TestARetryThatWaitsSaysUntilWhen(t *testing.T) {
	t.Parallel()
	r := start(t, settings(t))
	r.die("draft-8", "provider timeout after 30 s")
	var entries client.Page[client.DeadLetter]
	testkit.Eventually(t, patience, func() error {
		_, text := r.command("dlq", "-o", "json")
		if err := json.Unmarshal([]byte(text), &entries); err != nil || len(entries.Data) != 1 || entries.Data[0].Plan.Strategy != "back_off" {
			return fmt.Errorf("entries: %w: %s", err, text)
		}
		return nil
	})
	code, text := r.command("retry", entries.Data[0].ID, "--reason", "the provider is back", "--wait", "0s")
	if code != 0 || !strings.Contains(text, "to be published") || !strings.Contains(text, "in ") || !strings.Contains(text, "UTC") {
		t.Errorf("exit code %d:\n%s", code, text)
	}
	r.nextSays("draft-8", "asked for a retry; it is due at ")
	_, text = r.command("operations", "-o", "json")
	var operations client.Page[client.Operation]
	if err := json.Unmarshal([]byte(text), &operations); err != nil || len(operations.Data) != 1 || operations.Data[0].Reason != "the provider is back" {
		t.Fatalf("operations: %v: %s", err, text)
	}
	id := operations.Data[0].ID
	if code, text := r.command("cancel", id, "--reason", "the wrong one"); code != 0 || !strings.Contains(text, "cancelled") {
		t.Errorf("cancel: exit code %d:\n%s", code, text)
	}
	if code, text := r.command("operations"); code != 0 || !strings.Contains(text, id) || !strings.Contains(text, "cancelled") {
		t.Errorf("operations: exit code %d:\n%s", code, text)
	}
	if code, text := r.command("cancel", "op-none"); code != 1 || !strings.Contains(text, "fleetglass: ") {
		t.Errorf("cancelling none: exit code %d:\n%s", code, text)
	}
	r.nextSays("draft-8", "The page DLQ says what can be done about it.")
}

// nextSays waits until the task says that of what comes next.
func (r *running) nextSays(task, want string) {
	r.t.Helper()
	testkit.Eventually(r.t, patience, func() error {
		var got struct {
			Answers struct {
				Recovery struct{ Text string } `json:"recovery"`
			} `json:"answers"`
		}
		if err := r.get("/api/v1/tasks/"+task, &got); err != nil {
			return err
		}
		if !strings.Contains(got.Answers.Recovery.Text, want) {
			return fmt.Errorf("what comes next: %q", got.Answers.Recovery.Text)
		}
		return nil
	})
}

// Each failure is one sentence on standard error, whatever form the answer was to have.
func TestCommandsSayWhyTheServerCannotBeAsked(t *testing.T) {
	t.Parallel()
	odd := httptest.NewServer(http.HandlerFunc(answerOddly))
	defer odd.Close()
	wrong := "fleetglass: the command line or the settings are wrong:\n  tasks: server %q is no address: it begins with http:// or https://, such as https://fleetglass.example.com\n"
	for _, tt := range []struct {
		server string
		code   int
		want   string
	}{
		{"nowhere", 2, fmt.Sprintf(wrong, "nowhere")},
		{"localhost:8080", 2, fmt.Sprintf(wrong, "localhost:8080")},
		{"http://127.0.0.1:1", 1, "fleetglass: http://127.0.0.1:1 does not answer: connect: connection refused\n"},
		{odd.URL + "/page", 1, "fleetglass: " + odd.URL + "/page sent no valid JSON (text/html): something else may answer there, such as a proxy or a sign-in page\n"},
		{odd.URL + "/cut", 1, "fleetglass: the answer of " + odd.URL + "/cut broke off: unexpected EOF\n"},
		{odd.URL + "/proxy", 1, "fleetglass: 503 Service Unavailable: something between here and the server said so, such as a proxy; try again in 7s\n"},
		{odd.URL + "/busy", 1, "fleetglass: The store is busy: Nothing was changed; try again in 5s\n"},
	} {
		for _, form := range []string{"table", "json"} {
			var out, failed strings.Builder
			if code := run(t.Context(), []string{"tasks", "--server", tt.server, "-o", form}, vars(), &out, &failed); code != tt.code || failed.String() != tt.want || out.Len() > 0 {
				t.Errorf("%s as %s: exit code %d, printed %q, failed with %q; want %d and %q", tt.server, form, code, &out, &failed, tt.code, tt.want)
			}
		}
	}
}

// A server that listens everywhere is asked here, and by a name that its certificate may have.
func TestAnAddressThatIsListenedOnCanBeAsked(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]string{
		"127.0.0.1:8080": "127.0.0.1:8080", "0.0.0.0:8080": "localhost:8080", "[::]:8080": "localhost:8080", ":8080": "localhost:8080", "glass.example.org:8080": "glass.example.org:8080",
	} {
		if got := askedAt(listen); got != want {
			t.Errorf("%s is asked at %s, want %s", listen, got, want)
		}
	}
}

func TestCommandsSayWhatToDoAboutACertificate(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	var out, failed strings.Builder
	if code := run(t.Context(), []string{"tasks", "--server", s.URL}, vars(), &out, &failed); code != 1 || !strings.Contains(failed.String(), "unknown authority; name the file of that authority with SSL_CERT_FILE") {
		t.Errorf("exit code %d, %q", code, &failed)
	}
}

// A list of leases, also an empty one, says how far workers' answers were read where that is long ago: what nobody looked at is not "nothing".
func TestLeasesSayHowFarAnswersWereRead(t *testing.T) {
	t.Parallel()
	const lease = `{"task_id":"draft-7","stream":"TASKS","seq":"7"}`
	for _, tt := range []struct{ data, read, want, not string }{
		{"", `"2026-01-02T03:04:03Z"`, "nothing found\n", "nswers"},
		{lease, `"2026-01-02T03:04:03Z"`, "draft-7", "nswers"},
		{"", `"2026-01-02T03:03:00Z"`, "answers were read up to 1m 05s ago only (03:03:00 UTC)", "nothing found"},
		{lease, `"2026-01-02T03:03:00Z"`, "answers were read up to 1m 05s ago only (03:03:00 UTC)", "nothing found"},
		{"", `null`, "No answer of a worker was read yet", "nothing found"},
		{lease, `null`, "No answer of a worker was read yet", "nothing found"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"data":[`+tt.data+`],"page":{"next":null},"as_of":"2026-01-02T03:04:05Z","gaps":[],"answers_read_at":`+tt.read+`}`)
		}))
		var out strings.Builder
		code := run(t.Context(), []string{"in-flight", "--server", server.URL}, vars(), &out, &out)
		server.Close()
		if code != 0 || !strings.Contains(out.String(), tt.want) || strings.Contains(out.String(), tt.not) || strings.Contains(out.String(), "draft-7") != (tt.data != "") {
			t.Errorf("leases %q, read at %s: exit code %d, want %q and not %q:\n%s", tt.data, tt.read, code, tt.want, tt.not, &out)
		}
	}
}

// answerOddly answers as what may stand in the way of a server, and as one that is busy.
func answerOddly(w http.ResponseWriter, r *http.Request) {
	switch place, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/"); place {
	case "page":
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html>Sign in</html>")
	case "cut":
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"data":[`)
	case "proxy":
		w.Header().Set("Retry-After", "7")
		http.Error(w, "<html>upstream is away</html>", http.StatusServiceUnavailable)
	case "busy":
		w.Header().Set("Retry-After", "5")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"status":503,"code":"unavailable","title":"The store is busy","detail":"Nothing was changed.","retryable":true}`)
	}
}

// Whoever lost the answer of a retry learns how to ask for the same one; whoever was refused, or reached nobody, does not.
func TestALostAnswerOfARetrySaysItsKey(t *testing.T) {
	t.Parallel()
	odd := httptest.NewServer(http.HandlerFunc(answerOddly))
	defer odd.Close()
	for server, lost := range map[string]bool{odd.URL + "/page": true, odd.URL + "/cut": true, odd.URL + "/proxy": true, odd.URL + "/busy": true, "http://127.0.0.1:1": false, "http://no.invalid": false} {
		var out strings.Builder
		code := run(t.Context(), []string{"retry", "TASKS:1", "--reason", "it is back", "--key", "k-1", "--server", server}, vars(), &out, &out)
		if code != 1 || strings.Contains(out.String(), "--key k-1") != lost {
			t.Errorf("%s: exit code %d, lost %t: %s", server, code, lost, &out)
		}
	}
}

func TestAWrongTokenIsNamed(t *testing.T) {
	t.Parallel()
	_, entry := access.NewToken("ada", []access.Scope{access.Read}, time.Time{})
	stranger, _ := access.NewToken("eve", []access.Scope{access.Read}, time.Time{})
	r := start(t, settings(t, "--auth-tokens-file", writeTokens(t, entry)))
	for _, args := range [][]string{{"tasks"}, {"doctor"}, {"retry", "TASKS:1", "--reason", "it is back"}} {
		for _, token := range [][]string{nil, {"--token", stranger}} {
			if code, text := r.command(append(args, token...)...); code != 1 || !strings.Contains(text, "valid token") || !strings.HasSuffix(text, "Set the token with FLEETGLASS_TOKEN or --token\n") {
				t.Errorf("%v with %d words of a token: exit code %d: %s", args, len(token), code, text)
			}
		}
	}
}

// bash itself says what the script completes.
func TestBashCompletesCommandsAndFlags(t *testing.T) {
	t.Parallel()
	var script strings.Builder
	if code := run(t.Context(), []string{"completion", "bash"}, vars(), &script, &script); code != 0 {
		t.Fatalf("exit code %d: %s", code, &script)
	}
	for _, tt := range []struct{ words, want string }{
		{"(fleetglass ta)", "tasks task"}, {"(fleetglass retry --re)", "--reason"}, {"(fleetglass token re)", "revoke"}, {"(fleetglass serve --nats-u)", "--nats-user --nats-url"},
		{"(fleetglass --nats-u)", "--nats-user --nats-url"}, {"(fleetglass provision --nats-u)", "--nats-user --nats-url"}, {"(fleetglass completion '')", "bash zsh fish"}, {"(fleetglass doctor --fail-on '')", "critical warning info"}, {"(fleetglass dlq -o j)", "json"},
	} {
		last := strings.Count(tt.words, " ")
		shell := exec.CommandContext(t.Context(), "bash", "-c", fmt.Sprintf("%s\nCOMP_WORDS=%s COMP_CWORD=%d; _fleetglass; echo ${COMPREPLY[@]}", &script, tt.words, last))
		got, err := shell.CombinedOutput()
		if want := strings.Fields(tt.want); err != nil || !sameWords(strings.Fields(string(got)), want) {
			t.Errorf("%s: completed %q, %v; want %q", tt.words, got, err, want)
		}
	}
}

func sameWords(a, b []string) bool {
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

func TestCommandsWriteSpansAsPagesDo(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(d time.Duration) *time.Time { when := now.Add(d); return &when }
	for _, test := range []struct{ got, want string }{
		{ago(at(-29*time.Second), now), "29 s ago"}, {ago(at(-65*time.Second), now), "1m 05s ago"}, {ago(at(-300*time.Millisecond), now), "now"},
		{ago(at(time.Second), now), "now"}, {ago(nil, now), "–"}, {until(*at(5 * time.Second), now), "in 5 s"}, {until(*at(-12 * time.Second), now), "overdue for 12 s"}, {until(*at(-200 * time.Millisecond), now), "now"},
		{milliseconds(559), "559 ms"}, {milliseconds(4_230), "4.2 s"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
}
