package auth

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func newAuth(t *testing.T, cfg Config) *Auth {
	t.Helper()
	cfg.Now, cfg.Log = func() time.Time { return noon }, slog.New(slog.DiscardHandler)
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// ask sends a request through the middleware and returns the status, and the name of the principal that the handler saw.
func ask(a *Auth, method, path string, set func(*http.Request)) (status int, actor string) {
	r := httptest.NewRequest(method, path, nil)
	if set != nil {
		set(r)
	}
	w := httptest.NewRecorder()
	a.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, _ := From(r.Context())
		actor = p.Name
	})).ServeHTTP(w, r)
	return w.Code, actor
}

func bearer(token string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
}

func TestWithoutTokensEverybodyIsLocal(t *testing.T) {
	t.Parallel()
	a := newAuth(t, Config{})
	for _, method := range []string{"GET", "POST", "DELETE"} {
		if status, actor := ask(a, method, "/api/v1/anything", nil); status != 200 || actor != "local" {
			t.Errorf("%s: got %d as %q, want 200 as local", method, status, actor)
		}
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	reader, readerEntry := NewToken("grafana", []Scope{Read}, time.Time{})
	agent, agentEntry := NewToken("backend", []Scope{Report}, time.Time{})
	expired, expiredEntry := NewToken("old", []Scope{Admin}, noon)
	valid, validEntry := NewToken("soon", []Scope{Admin}, noon.Add(time.Second))
	a := newAuth(t, Config{Token: "a-token-from-the-environment", Tokens: []Token{readerEntry, agentEntry, expiredEntry, validEntry}})
	tests := []struct {
		name, method, path string
		set                func(*http.Request)
		status             int
		actor              string
	}{
		{"no token", "GET", "/tasks", nil, 401, ""},
		{"the probe is open", "GET", "/healthz", nil, 200, ""},
		{"readiness is not open", "GET", "/readyz", nil, 401, ""},
		{"a wrong token", "GET", "/tasks", bearer("fg_wrong"), 401, ""},
		{"an empty token", "GET", "/tasks", bearer(""), 401, ""},
		{"a hash is not a token", "GET", "/tasks", bearer(Hash(reader)), 401, ""},
		{"a reader reads", "GET", "/tasks", bearer(reader), 200, "grafana"},
		{"the scheme has no case", "GET", "/tasks", func(r *http.Request) { r.Header.Set("Authorization", "bearer "+reader) }, 200, "grafana"},
		{"another scheme", "GET", "/tasks", func(r *http.Request) { r.Header.Set("Authorization", "Digest "+reader) }, 401, ""},
		{"a reader does not report", "POST", "/api/v1/reports", bearer(reader), 403, ""},
		{"a browser's reader", "GET", "/tasks", func(r *http.Request) { r.SetBasicAuth("ada", reader) }, 200, "grafana"},
		{"the token is not the name", "GET", "/tasks", func(r *http.Request) { r.SetBasicAuth(reader, "") }, 401, ""},
		{"an agent reports", "POST", "/api/v1/reports", bearer(agent), 200, "backend"},
		{"an agent does not read", "GET", "/api/v1/tasks", bearer(agent), 403, ""},
		{"an agent does not act", "POST", "/api/v1/in-flight/TASKS/1/actions", bearer(agent), 403, ""},
		{"admin reads", "GET", "/tasks", bearer("a-token-from-the-environment"), 200, "token"},
		{"admin reports", "POST", "/api/v1/reports", bearer("a-token-from-the-environment"), 200, "token"},
		{"admin acts", "DELETE", "/api/v1/silences/1", bearer("a-token-from-the-environment"), 200, "token"},
		{"an expired token", "GET", "/tasks", bearer(expired), 401, ""},
		{"a token about to expire", "GET", "/tasks", bearer(valid), 200, "soon"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if status, actor := ask(a, tt.method, tt.path, tt.set); status != tt.status || actor != tt.actor {
				t.Errorf("%s %s: got %d as %q, want %d as %q", tt.method, tt.path, status, actor, tt.status, tt.actor)
			}
		})
	}
}

func TestTheTokensFile(t *testing.T) {
	t.Parallel()
	text, entry := NewToken("grafana", []Scope{Read, TriagePropose}, noon)
	if !strings.HasPrefix(text, "fg_") || len(text) != 46 {
		t.Errorf("token %q: want fg_ and 43 characters", text)
	}
	file, err := Marshal(entry)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(file), text) {
		t.Errorf("the file shows the token:\n%s", file)
	}
	got, err := ReadTokens(write(t, string(file)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Token{entry}, got); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
}

func TestBadTokensFilesAreRefused(t *testing.T) {
	t.Parallel()
	hash := Hash("x")
	for text, want := range map[string]string{
		"":           "no tokens",
		"tokens: []": "no tokens",
		"tokens: [{sha256: " + hash + ", scopes: [read]}]":                                                    "name is missing",
		"tokens: [{name: a, sha256: abc, scopes: [read]}]":                                                    "not the hexadecimal hash",
		"tokens: [{name: a, sha256: " + hash + "}]":                                                           "scopes are missing",
		"tokens: [{name: a, sha256: " + hash + ", scopes: [root]}]":                                           `"root" is not a scope`,
		"tokens: [{name: a, token: secret, scopes: [read]}]":                                                  "unknown field",
		"tokens: [{name: a, sha256: &h " + hash + ", scopes: [read]}, {name: a, sha256: *h, scopes: [read]}]": "twice",
	} {
		if _, err := ReadTokens(write(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ReadTokens(%q): got %v, want an error with %q", text, err, want)
		}
	}
	if _, err := ReadTokens(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("a missing file gave no error")
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "tokens.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
