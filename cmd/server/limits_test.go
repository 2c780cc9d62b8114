package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode"

	"github.com/nats-io/nats.go"

	"fleetglass/internal/testkit"
)

func TestEveryAddressHasTheSameBounds(t *testing.T) {
	t.Parallel()
	r, secrets := guarded(t)
	many := with(secrets["admin"])
	for n := range 100 {
		many.Set(fmt.Sprintf("X-%d", n), "x")
	}
	for _, path := range []string{"/", "/tasks", "/login", "/metrics", "/healthz", "/api/v1/tasks", "/mcp", "/nowhere", "/api/v1/nowhere", "/static/x", "/openapi.json"} {
		for _, secret := range []string{"", secrets["admin"]} {
			if got := r.request(http.MethodGet, path+"?"+strings.Repeat("x", 17<<10), with(secret), nil); got.StatusCode != http.StatusRequestURITooLong {
				t.Errorf("%s with a long address: %s", path, got.Status)
			}
		}
		if got := r.request(http.MethodGet, path, many, nil); got.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%s with many headers: %s", path, got.Status)
		}
	}
}

func TestASearchHasABudgetAndSaysSo(t *testing.T) {
	t.Parallel()
	r := start(t, settings(t))
	var words strings.Builder
	for n := range 400 {
		fmt.Fprintf(&words, "w%d+", n)
	}
	for path, pointer := range map[string]string{
		"/api/v1/tasks?q=" + strings.Repeat("w+", 3000):                         "", // One word, often.
		"/api/v1/tasks?q=" + words.String():                                     "/query/q",
		"/api/v1/tasks/counts?q=" + words.String():                              "/query/q",
		"/api/v1/dlq?q=" + words.String():                                       "/query/q",
		"/api/v1/tasks?q=" + strings.ReplaceAll(words.String(), "w", "agent:w"): "/query/agent",
		"/api/v1/tasks?id=" + strings.Repeat("x", 3000):                         "/query/id",
	} {
		response := r.request(http.MethodGet, path, nil, nil)
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		if pointer == "" && response.StatusCode != 200 || pointer != "" && (response.StatusCode != 400 || !strings.Contains(string(text), `"pointer":"`+pointer+`"`)) {
			t.Errorf("%.40s: %s, want pointer %q: %s", path, response.Status, pointer, text)
		}
	}
}

func TestABaseAddressBeyondThisMachineNeedsAuthentication(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--base-url=https://f.example.org":                                    "everybody who reaches the proxy",
		"--base-url=https://f.example.org --token=" + strings.Repeat("x", 40): "can be guessed",
		"--base-url=http://localhost:8080":                                    "",
		"--base-url=http://[::1]":                                             "",
		"--max-streams=0":                                                     "--max-streams (",
		"--max-streams-each=-1":                                               "--max-streams-each (",
	} {
		_, err := load(strings.Fields(args), vars(), io.Discard)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Count(err.Error(), "\n") > 0) {
			t.Errorf("%s: got %v, want %q and nothing else", args, err, want)
		}
	}
}

func TestHalfOfTheDescriptorsAreForBrokerAndStore(t *testing.T) {
	t.Parallel()
	cfg := settings(t)
	for descriptors, want := range map[int][3]int{256: {128, 64, 64}, 1024: {512, 256, 256}, 20_000: {8192, 512, 5000}, 1 << 20: {8192, 512, 8192}} {
		if got := [3]int{httpConnections(descriptors), cfg.streamLimits(descriptors).Total, brokerConnections(descriptors)}; got != want {
			t.Errorf("%d descriptors: %v connections, streams and connections to the broker, want %v", descriptors, got, want)
		}
	}
}

// hostile is a name with what terminals, pages and tables would take for more than text.
const hostile = "ev\x1b[31mil\x07\u009b2J<b>"

func TestNoControlCharacterOfANameIsServed(t *testing.T) {
	t.Parallel()
	r := start(t, settings(t))
	a := connectAgent(t, r.AgentsURL())
	msg := nats.NewMsg("genbrain.agents." + hostile + ".tasks." + hostile)
	msg.Header.Set("Nats-Msg-Id", "hostile-1")
	msg.Header.Set("X-Evil", "a\x1b]0;title\x07")
	msg.Data = []byte(`{"taskId":"hostile-1","payload":{"title":"\u001b[2J\u009b31m<script>alert(1)</script>"}}`)
	if _, err := a.js.PublishMsg(t.Context(), msg); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, patience, func() error { var task trace; return r.get("/api/v1/tasks/hostile-1", &task) })
	pages := []string{
		"/", "/tasks", "/tasks/hostile-1", "/tasks/hostile-1?tab=events", "/tasks/hostile-1?tab=payload", "/tasks/hostile-1?tab=related", "/tasks/hostile-1?tab=json",
		"/agents", "/agents/x", "/in-flight", "/dlq", "/duplicates", "/capture", "/metrics", "/api/v1/tasks/hostile-1/report", "/tasks?q=%1b%5b31m%c2%9b", "/%1b%5b31m",
		"/api/v1/tasks", "/api/v1/tasks/hostile-1", "/api/v1/tasks/hostile-1/events", "/api/v1/agents",
	}
	for _, path := range pages {
		response := r.request(http.MethodGet, path, nil, nil)
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		if i := strings.IndexFunc(string(text), func(c rune) bool { return c != '\n' && c != '\t' && c != '\r' && unicode.IsControl(c) }); i >= 0 {
			t.Errorf("%s serves a control character: %q", path, text[max(0, i-60):min(len(text), i+20)])
		}
		if strings.Contains(string(text), "<script>alert") && strings.HasPrefix(response.Header.Get("Content-Type"), "text/html") {
			t.Errorf("%s serves a foreign script", path)
		}
	}
}
