package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fleetglass/access"
	"fleetglass/api"
	"fleetglass/internal/routes"
	"fleetglass/web"
)

// whoAsks are the principals of the matrix, each with the scopes that its token carries.
var whoAsks = map[string][]access.Scope{
	"nobody": nil, "a stranger": nil, "agent": {access.Report}, "prometheus": {access.Metrics},
	"viewer": access.Viewer.Scopes(), "triager": access.Triager.Scopes(), "admin": access.Administrator.Scopes(),
}

// guarded starts the program with a token for each principal that has scopes, and returns all secrets by name.
func guarded(t *testing.T, args ...string) (*running, map[string]string) {
	t.Helper()
	secrets := map[string]string{"nobody": "", "a stranger": "fg_" + strings.Repeat("stranger", 5)}
	var entries []access.Token
	for name, scopes := range whoAsks {
		if len(scopes) > 0 {
			text, entry := access.NewToken(name, scopes, time.Time{})
			secrets[name], entries = text, append(entries, entry)
		}
	}
	return start(t, settings(t, append(args, "--requests-per-second", "0", "--auth-tokens-file", writeTokens(t, entries...))...)), secrets
}

func writeTokens(t *testing.T, entries ...access.Token) string {
	t.Helper()
	text, err := access.Marshal(entries...)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "tokens.yaml")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestEveryRouteNamesTheScopeThatItNeeds(t *testing.T) {
	t.Parallel()
	r, _ := guarded(t, "--base-url", "http://fleetglass.test", "--oidc-issuer", "http://127.0.0.1:1", "--oidc-client-id", "fleetglass")
	exceptions := map[string]access.Scope{ // Whatever else there is only looks, and needs the scope for that.
		"GET /healthz": access.Open, "HEAD /healthz": access.Open,
		"GET /metrics": access.Metrics, "GET /static/*asset": access.Open, "HEAD /static/*asset": access.Open, // The page to sign in needs them.
		"GET /login": access.Open, "HEAD /login": access.Open, "POST /login": access.Open, "POST /logout": access.Open,
		"GET /login/provider": access.Open, "HEAD /login/provider": access.Open, "GET /login/callback": access.Open, "HEAD /login/callback": access.Open,
		"POST /api/v1/reports": access.Report, "POST /api/v1/reconciliations": access.Admin, "POST /reconciliation": access.Admin, "POST /dlq/*id": access.TriagePropose,
		"POST /api/v1/dlq/:id/actions": access.TriagePropose, "POST /api/v1/operations": access.TriagePropose, "POST /api/v1/operations/:id/cancel": access.TriageApply,
		"POST /api/v1/in-flight/:stream/:seq/actions": access.TriagePropose, "POST /operations": access.TriagePropose, "POST /operations/:id/cancel": access.TriageApply,
		"POST /api/v1/alerts/:id/ack":   access.TriageApply,
		"POST /api/v1/alerts/:id/unack": access.TriageApply,
		"POST /api/v1/silences":         access.TriageApply,
		"DELETE /api/v1/silences/:id":   access.TriageApply,
		"POST /in-flight/*id":           access.TriagePropose,
		"POST /alerts":                  access.TriageApply,
		"POST /alerts/silence":          access.TriageApply,
		"POST /settings":                access.Admin,
		"GET /settings/tokens/:id":      access.Oversee, "HEAD /settings/tokens/:id": access.Oversee, "POST /settings/tokens/:id": access.Admin,
		"GET /api/v1/tokens": access.Oversee, "HEAD /api/v1/tokens": access.Oversee, "POST /api/v1/tokens": access.Admin, "DELETE /api/v1/tokens/:id": access.Admin,
	}
	asks := map[string]bool{ // They have a body, and change nothing by themselves.
		"POST /api/v1/preflight": true, "POST /api/v1/risk": true, "POST /mcp": true, "DELETE /mcp": true,
		"POST /payload": true, "POST /api/v1/tasks/:task_id/payload/reveal": true,
	}
	seen := map[string]bool{}
	for _, route := range r.routes.Routes() {
		name := route.Method + " " + route.Path
		seen[name] = true
		if want := cmp.Or(exceptions[name], access.Read); route.Needs != want {
			t.Errorf("%s names scope %q, want %q", name, route.Needs, want)
		}
		if looks := route.Method == http.MethodGet || route.Method == http.MethodHead || asks[name]; looks == route.Needs.Changes() && route.Needs != access.Open {
			t.Errorf("%s needs %q: read-only mode would be wrong about it", name, route.Needs)
		}
	}
	for name := range exceptions {
		if !seen[name] {
			t.Errorf("there is no route %s", name)
		}
	}
	if len(seen) < 60 {
		t.Errorf("%d routes, want all of pages, calls, documents, probes and metrics", len(seen))
	}
}

// spellings are ways to write a path that a careless rule takes for the same, or for another one. The first is the path itself.
func spellings(path string) []string {
	tail := strings.TrimPrefix(path, "/")
	out := []string{path, "/" + path, path + "/", "/." + path, "/x/.." + path, "/%2e" + path, path + ";x", path + "%00", path + "%2F", strings.ToUpper(path), "/%2F" + tail, path + "?x"}
	if tail != "" {
		out = append(out, "/%"+strings.ToUpper(hex(tail[0]))+tail[1:], "/"+strings.ReplaceAll(tail, "/", "%2F"))
	}
	return slices.Compact(out)
}

func hex(b byte) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[b>>4], digits[b&15]})
}

// example is a path of a route, with something in the place of its parameters.
func example(pattern string) string {
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, ":") || strings.HasPrefix(part, "*") {
			parts[i] = "some-1"
		}
	}
	return strings.Join(parts, "/")
}

// begun answers a request in this process. A stream without end is cut off when it begins.
type begun struct {
	*httptest.ResponseRecorder
	end context.CancelFunc
}

func (b begun) WriteHeader(status int) {
	b.ResponseRecorder.WriteHeader(status)
	if strings.HasPrefix(b.Header().Get("Content-Type"), "text/event-stream") {
		b.end()
	}
}

func (b begun) Write(p []byte) (int, error) {
	b.WriteHeader(http.StatusOK)
	return b.ResponseRecorder.Write(p)
}

var addresses atomic.Uint32

// nextAddress gives every few requests an address of their own: fewer than may fail from one, so that the addresses are not used up either.
func nextAddress() string {
	n := addresses.Add(1) / 5
	return fmt.Sprintf("10.%d.%d.%d:1", n>>16&255, n>>8&255, n&255)
}

func (r *running) ask(method, target, secret string) *httptest.ResponseRecorder {
	r.t.Helper()
	request := httptest.NewRequest(method, "http://localhost/", nil)
	var err error
	if request.URL, err = url.ParseRequestURI(target); err != nil {
		r.t.Fatal(err)
	}
	request.RemoteAddr = nextAddress() // What one asker fails is not held against the others.
	if secret != "" {
		request.Header.Set("Authorization", "Bearer "+secret)
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	w := begun{httptest.NewRecorder(), cancel}
	r.server.Handler.ServeHTTP(w, request.WithContext(ctx))
	return w.ResponseRecorder
}

// codeOf is the code of a problem document; whatever else is answered has none.
func codeOf(w *httptest.ResponseRecorder) string {
	var problem struct{ Code string }
	if w.Header().Get("Content-Type") != "application/problem+json" || json.Unmarshal(w.Body.Bytes(), &problem) != nil {
		return ""
	}
	return problem.Code
}

var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "FROB"}

// neededBy is the scope of the route that has this method and exactly this path; false when there is none.
func neededBy(all []routes.Route, method, pattern string) (access.Scope, bool) {
	for _, route := range all {
		if route.Method == method && route.Path == pattern {
			return route.Needs, true
		}
	}
	return "", false
}

func TestWhoMayUseWhichRouteByWhichMethod(t *testing.T) {
	t.Parallel()
	r, secrets := guarded(t)
	all := r.routes.Routes()
	for _, pattern := range patterns(all) {
		for _, method := range methods {
			needs, exists := neededBy(all, method, pattern)
			for name, scopes := range whoAsks {
				got := r.ask(method, example(pattern), secrets[name])
				want := "allowed"
				switch {
				case method == http.MethodPost && pattern == web.SignInPath: // By its own page: no token was typed.
					want = "401"
				case needs == access.Open:
				case len(scopes) == 0:
					want = "401"
				case !exists:
					want = "405"
				case needs == access.Metrics && slices.Contains(scopes, access.Read): // Who sees everything sees the metrics.
				case !slices.Contains(scopes, needs) && !slices.Contains(scopes, access.Admin):
					want = "403"
				}
				if verdict(got) != want {
					t.Errorf("%s %s as %s: got %d, want %s", method, pattern, name, got.Code, want)
				}
			}
		}
	}
}

// verdict is what an answer says about access.
func verdict(w *httptest.ResponseRecorder) string {
	switch w.Code {
	case http.StatusUnauthorized:
		return "401"
	case http.StatusForbidden:
		return "403"
	case http.StatusMethodNotAllowed:
		return "405"
	}
	return "allowed"
}

func patterns(all []routes.Route) []string {
	var out []string
	for _, route := range all {
		out = append(out, route.Path)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// openToAll reports whether an address is open to everybody: the probe, and what the page to sign in needs.
func openToAll(method, path string) bool {
	reads := method == http.MethodGet || method == http.MethodHead
	switch path {
	case web.SignInPath:
		return reads || method == http.MethodPost
	case "/logout":
		return method == http.MethodPost
	default:
		return reads && (path == "/healthz" || strings.HasPrefix(path, "/static/"))
	}
}

func TestNoSpellingOfAPathOpensIt(t *testing.T) {
	t.Parallel()
	r, secrets := guarded(t)
	for _, pattern := range append(patterns(r.routes.Routes()), "/nowhere", "/api/v1/nowhere") {
		for _, target := range spellings(example(pattern)) {
			for _, method := range methods {
				for _, name := range []string{"nobody", "a stranger", "agent"} {
					got := r.ask(method, target, secrets[name])
					path, _, _ := strings.Cut(target, "?")
					report := path == "/api/v1/reports" && method == http.MethodPost
					switch {
					case openToAll(method, path), name == "agent" && report:
					case name != "agent" && (got.Code != 401 || got.Header().Get("Allow") != "" || method != http.MethodHead && codeOf(got) != "unauthenticated"):
						t.Errorf("%s %s as %s: got %d %v %s", method, target, name, got.Code, got.Header(), got.Body)
					case name == "agent" && (got.Code < 403 || got.Code > 405 || method != http.MethodHead && codeOf(got) == ""):
						t.Errorf("%s %s as %s: got %d %v %s", method, target, name, got.Code, got.Header(), got.Body)
					}
				}
			}
		}
	}
}

func TestReadOnlyModeRefusesEveryRouteThatChangesSomething(t *testing.T) {
	t.Parallel()
	r, secrets := guarded(t, "--read-only")
	for _, route := range r.routes.Routes() {
		if got := r.ask(route.Method, example(route.Path), secrets["admin"]); (codeOf(got) == "read_only") != route.Needs.Changes() {
			t.Errorf("%s %s: got %d %s", route.Method, route.Path, got.Code, got.Body)
		}
	}
}

func TestARefusedActionIsAuditedByTheNameOfTheAction(t *testing.T) {
	t.Parallel()
	proposer, entry := access.NewToken("proposer", []access.Scope{access.Read, access.TriagePropose}, time.Time{})
	r := start(t, settings(t, "--auth-tokens-file", writeTokens(t, entry)))
	header := with(proposer)
	header.Set("Idempotency-Key", "k1")
	body := `{"action":"discard","reason":"not needed","selector":{"ids":["TASKS:1"]}}`
	if got := r.request(http.MethodPost, "/api/v1/operations", header, strings.NewReader(body)); got.StatusCode != http.StatusForbidden {
		t.Fatalf("a proposer discards: %s", got.Status)
	}
	if got := r.request(http.MethodPost, "/api/v1/reconciliations", header, strings.NewReader("{}")); got.StatusCode != http.StatusForbidden {
		t.Fatalf("a proposer reconciles: %s", got.Status)
	}
	var page struct{ Data []api.AuditRow }
	if err := json.Unmarshal(r.ask("GET", "/api/v1/audit?outcome=denied", proposer).Body.Bytes(), &page); err != nil {
		t.Fatal(err)
	}
	if len(page.Data) != 2 || page.Data[1].Action != "discard" || page.Data[1].Target != "/api/v1/operations" {
		t.Fatalf("rows %+v, want those that were refused", page.Data)
	}
	if page.Data[0].RequestID == "" || page.Data[1].RequestID == "" || page.Data[0].RequestID == page.Data[1].RequestID {
		t.Errorf("request_id %q and %q, want those of two calls with a key", page.Data[0].RequestID, page.Data[1].RequestID)
	}
}

func TestTheAuditNamesTheCallOfWhatWasAllowed(t *testing.T) {
	t.Parallel()
	admin, entry := access.NewToken("admin", []access.Scope{access.Admin}, time.Time{})
	r := start(t, settings(t, "--auth-tokens-file", writeTokens(t, entry)))
	call := func(method, path, body, key string) *http.Response {
		header := with(admin)
		header.Set("Idempotency-Key", key)
		header.Set("Content-Type", "application/json")
		answer := r.request(method, path, header, strings.NewReader(body))
		if answer.StatusCode >= 300 {
			t.Fatalf("%s %s: %s", method, path, answer.Status)
		}
		return answer
	}
	var made struct{ ID string }
	if err := json.NewDecoder(call(http.MethodPost, "/api/v1/tokens", `{"name":"grafana","role":"viewer"}`, "make").Body).Decode(&made); err != nil {
		t.Fatal(err)
	}
	call(http.MethodDelete, "/api/v1/tokens/"+made.ID, "", "revoke")
	call(http.MethodPost, "/api/v1/silences", `{"matchers":[{"name":"agent","op":"=","value":"cto"}],"until":"2999-01-01T08:00:00Z","comment":"we deploy"}`, "silence")
	var page struct{ Data []api.AuditRow }
	if err := json.Unmarshal(r.ask("GET", "/api/v1/audit?outcome=allowed", admin).Body.Bytes(), &page); err != nil {
		t.Fatal(err)
	}
	seen := map[api.Text]bool{}
	for _, row := range page.Data {
		if row.RequestID == "" || seen[row.RequestID] {
			t.Errorf("%s on %s has request_id %q, want one of its own", row.Action, row.Target, row.RequestID)
		}
		seen[row.RequestID] = true
	}
	if len(page.Data) != 3 {
		t.Errorf("%d rows, want 3: %+v", len(page.Data), page.Data)
	}
}

func TestARefusalOfSomebodyKnownIsAudited(t *testing.T) {
	t.Parallel()
	r, secrets := guarded(t)
	r.ask("POST", "/api/v1/reconciliations", "nobody")
	r.ask("GET", "/api/v1/nowhere", secrets["viewer"])
	asked := []struct{ method, path, action, target string }{ // As the records of what is allowed name it.
		{"POST", "/api/v1/reconciliations", "create-reconciliation", "/api/v1/reconciliations"},
		{"POST", "/api/v1/dlq/TASKS:7/actions", "act-on-dead-letter", "TASKS:7"},
		{"POST", "/api/v1/in-flight/TASKS/8/actions", "act-on-message-in-flight", "TASKS:8"},
		{"POST", "/api/v1/operations/act-1/cancel", "cancel", "act-1"},
		{"POST", "/api/v1/alerts/a1/ack", "acknowledge alert", "a1"},
		{"DELETE", "/api/v1/silences/s1", "end silence", "s1"},
		{"DELETE", "/api/v1/tokens/5f0c", "revoke-token", "token 5f0c"},
	}
	for _, a := range asked {
		r.ask(a.method, a.path, secrets["viewer"])
	}
	var page struct{ Data []api.AuditRow }
	if err := json.Unmarshal(r.ask("GET", "/api/v1/audit", secrets["admin"]).Body.Bytes(), &page); err != nil {
		t.Fatal(err)
	}
	if len(page.Data) != len(asked) {
		t.Fatalf("%d rows, want those of the reader who asked for changes: %+v", len(page.Data), page.Data)
	}
	for _, a := range asked {
		i := slices.IndexFunc(page.Data, func(row api.AuditRow) bool { return row.Action == a.action })
		if i < 0 {
			t.Errorf("no row of %s: %+v", a.action, page.Data)
			continue
		}
		got := page.Data[i]
		if got.Actor != "viewer" || got.Role != "viewer" || got.Via != "api" || got.Outcome != "denied" || string(got.Target) != a.target || len(got.TokenID) != 12 {
			t.Errorf("row of %s: %+v", a.action, got)
		}
	}
}
