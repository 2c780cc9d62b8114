package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fleetglass/access"
	"fleetglass/internal/testkit"
	"fleetglass/mcp"
)

// bearing sends a token with every request.
type bearing struct{ token string }

// RoundTrip implements http.RoundTripper.
func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if b.token != "" {
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// agent connects an independent client of the protocol to the program.
func (r *running) agent(token string) *sdk.ClientSession {
	r.t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(r.t.Context(), &sdk.StreamableClientTransport{
		Endpoint: "http://" + r.Addr() + mcp.Path, HTTPClient: &http.Client{Transport: bearing{token}}, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = session.Close() })
	return session
}

// used is the result of a tool.
type used struct {
	text       string
	structured map[string]any
	failed     bool
}

// use calls a tool.
func use(t *testing.T, s *sdk.ClientSession, tool string, arguments map[string]any) used {
	t.Helper()
	result, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	out := used{failed: result.IsError}
	for _, c := range result.Content {
		out.text += c.(*sdk.TextContent).Text
	}
	out.structured, _ = result.StructuredContent.(map[string]any)
	return out
}

// Streams and sessions are not offered: MCP wants 405 then, and leaves the body open.
func TestWhatTheToolsDoNotOfferIsRefusedAsEverywhere(t *testing.T) {
	t.Parallel()
	r := start(t, settings(t))
	for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodPut} {
		got := r.request(method, "/mcp", http.Header{"Accept": {"text/event-stream"}}, nil)
		var problem struct{ Code string }
		if err := json.NewDecoder(got.Body).Decode(&problem); err != nil || got.StatusCode != http.StatusMethodNotAllowed || problem.Code != "method_not_allowed" ||
			got.Header.Get("Content-Type") != "application/problem+json" || got.Header.Get("Allow") != http.MethodPost {
			t.Errorf("%s: %s, %v, problem %+v (%v)", method, got.Status, got.Header, problem, err)
		}
	}
}

// whole is the answer of a call, as the client of the protocol decodes it.
func (r *running) whole(path string) (out map[string]any) {
	r.t.Helper()
	response := r.request(http.MethodGet, path, nil, nil)
	body, err := io.ReadAll(response.Body)
	if err == nil {
		err = json.Unmarshal(body, &out)
	}
	if err != nil {
		r.t.Fatalf("%s: %v", path, err)
	}
	return out
}

// The times of asking differ between two calls.
var withoutClock = cmp.FilterPath(func(p cmp.Path) bool {
	key, ok := p.Last().(cmp.MapIndex)
	return ok && slices.Contains([]string{"as_of", "held_ms", "age_ms", "lag_ms", "pending", "due_at", "prev"}, key.Key().String())
}, cmp.Ignore())

func TestAnAgentFindsItsWayByTools(t *testing.T) {
	t.Parallel()
	r := start(t, settings(t, "--demo", "--demo-rate", "20"))
	s := r.agent("")
	deadline := time.Now().Add(60 * time.Second)
	var rows []any
	for len(rows) == 0 && time.Now().Before(deadline) {
		found := use(t, s, "search_tasks", map[string]any{"q": "state:completed", "limit": 3})
		rows, _ = found.structured["data"].([]any)
	}
	if len(rows) == 0 {
		t.Fatal("no task completed within a minute")
	}
	id := rows[0].(map[string]any)["task_id"].(string)
	var trace used
	testkit.Eventually(t, patience, func() error { // Later lines of the task may still come between both.
		trace = use(t, s, "get_trace", map[string]any{"task_id": id})
		if diff := cmp.Diff(r.whole("/api/v1/tasks/"+id), trace.structured, withoutClock); diff != "" {
			return fmt.Errorf("the structured content is not the JSON of the call (-call +tool):\n%s", diff)
		}
		return nil
	})
	if trace.failed || trace.structured["task_id"] != id || !strings.Contains(trace.text, id) || !strings.Contains(trace.text, "ownership") {
		t.Errorf("trace of %s: %+v", id, trace)
	}
	for tool, arguments := range map[string]map[string]any{
		"list_in_flight": {"agent": "marketing"}, "list_stale": {"limit": 2}, "duplicate_report": {"bucket": "day"}, "fleet_health": {},
		"reconcile_report": {}, "preflight": {"agent": "marketing", "estimated_tokens": 170000},
	} {
		if got := use(t, s, tool, arguments); got.failed || got.structured == nil || got.text == "" {
			t.Errorf("%s: %+v", tool, got)
		}
	}
	if got := use(t, s, "preflight", map[string]any{"model": "gpt-5", "payload": map[string]any{"a": "hello"}}); got.structured["verdict"] != "ok" {
		t.Errorf("preflight: %+v", got)
	}
}

func TestARefusalOfAToolIsTheProblemOfItsCall(t *testing.T) {
	t.Parallel()
	r := start(t, settings(t))
	s := r.agent("")
	for _, c := range []struct {
		tool      string
		arguments map[string]any
		code      string
	}{
		{"get_trace", map[string]any{"task_id": "no/such task?"}, "not_found"},
		{"search_tasks", map[string]any{"q": "state:lost"}, "invalid_parameter"},
		{"search_tasks", map[string]any{"limit": 1000}, "invalid_parameter"},
		{"preflight", map[string]any{"estimated_tokens": 1}, "invalid_body"},
		{"reconcile_report", map[string]any{"id": "../tasks"}, "not_found"},
	} {
		got := use(t, s, c.tool, c.arguments)
		if !got.failed || got.structured["code"] != c.code || !strings.Contains(got.text, c.code) {
			t.Errorf("%s %v: got %+v, want %s", c.tool, c.arguments, got, c.code)
		}
	}
}

func TestToolsAskWhoIsThere(t *testing.T) {
	t.Parallel()
	reader, readerEntry := access.NewToken("reader", []access.Scope{access.Read}, time.Time{})
	reporter, reporterEntry := access.NewToken("reporter", []access.Scope{access.Report}, time.Time{})
	r := start(t, settings(t, "--auth-tokens-file", writeTokens(t, readerEntry, reporterEntry)))
	if got := use(t, r.agent(reader), "search_tasks", nil); got.failed {
		t.Errorf("a reader: %+v", got)
	}
	for name, token := range map[string]string{"nobody": "", "a reporter": reporter, "a stranger": "fg_wrong"} {
		client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
		_, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{
			Endpoint: "http://" + r.Addr() + mcp.Path, HTTPClient: &http.Client{Transport: bearing{token}}, DisableStandaloneSSE: true, MaxRetries: -1,
		}, nil)
		if err == nil {
			t.Errorf("%s may use tools", name)
		}
	}
}

func TestToolsThatOnlyLookSaySo(t *testing.T) {
	t.Parallel()
	readOnly := func(args ...string) map[string]bool {
		r := start(t, settings(t, args...))
		listed, err := r.agent("").ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]bool{}
		for _, tool := range listed.Tools {
			out[tool.Name] = tool.Annotations.ReadOnlyHint
			if tool.Description == "" || tool.InputSchema == nil || tool.Annotations.Title == "" {
				t.Errorf("%s is not described", tool.Name)
			}
		}
		return out
	}
	all := readOnly()
	for _, name := range []string{
		"search_tasks", "get_trace", "list_in_flight", "list_stale", "duplicate_report", "reconcile_report", "preflight", "fleet_health",
	} {
		if !all[name] {
			t.Errorf("%s is missing, or does not say that it only looks", name)
		}
	}
	for name, looks := range readOnly("--read-only") {
		if !looks {
			t.Errorf("%s changes something and is there in read-only mode", name)
		}
	}
}
