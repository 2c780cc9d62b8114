package routes

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"

	"fleetglass/access"
)

func TestMain(m *testing.M) {
	gin.SetMode(gin.ReleaseMode)
	m.Run()
}

// newRouter guards an engine with a token for a reader and one for an agent that only reports. It returns both tokens.
func newRouter(t *testing.T, a access.Authorizer) (r *Router, reader, agent string) {
	t.Helper()
	reader, readerEntry := access.NewToken("grafana", []access.Scope{access.Read}, time.Time{})
	agent, agentEntry := access.NewToken("backend", []access.Scope{access.Report}, time.Time{})
	tokens, err := access.NewTokens(access.Config{Tokens: []access.Token{readerEntry, agentEntry}, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	engine := gin.New()
	engine.UseEscapedPath, engine.HandleMethodNotAllowed = true, true
	r = New(engine, Config{Tokens: tokens, Authorizer: a})
	who := func(c *gin.Context) { c.Header("X-Actor", access.From(c.Request.Context()).Name) }
	r.Get("/healthz", access.Open, who)
	r.Get("/tasks/*id", access.Read, who)
	r.With(func(c *gin.Context) { c.Header("X-Group", "yes") }).Handle(http.MethodPost, "/reports", access.Report, who)
	r.Get("/forgotten", "", who)
	engine.GET("/beside", who)
	engine.NoRoute(func(c *gin.Context) { c.String(http.StatusNotFound, "nobody has it") })
	return r, reader, agent
}

func (r *Router) ask(method, path string, set func(*http.Request)) *httptest.ResponseRecorder {
	request := httptest.NewRequest(method, path, nil)
	if set != nil {
		set(request)
	}
	w := httptest.NewRecorder()
	r.engine.ServeHTTP(w, request)
	return w
}

func bearer(token string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
}

func TestTheMatchedRouteSaysWhatIsNeeded(t *testing.T) {
	t.Parallel()
	r, reader, agent := newRouter(t, access.Authorizer{})
	for _, tt := range []struct {
		name, method, path string
		set                func(*http.Request)
		status             int
		code, actor        string
	}{
		{"the probe is open", "GET", "/healthz", nil, 200, "", ""},
		{"and for HEAD", "HEAD", "/healthz", nil, 200, "", ""},
		{"another spelling is another address", "GET", "/%68ealthz", nil, 401, "unauthenticated", ""},
		{"and so is a slash at its end", "GET", "/healthz/", nil, 401, "unauthenticated", ""},
		{"another method of the probe", "POST", "/healthz", nil, 401, "unauthenticated", ""},
		{"no token", "GET", "/tasks/a", nil, 401, "unauthenticated", ""},
		{"a wrong token", "GET", "/tasks/a", bearer("fg_wrong"), 401, "unauthenticated", ""},
		{"an empty token", "GET", "/tasks/a", bearer(""), 401, "unauthenticated", ""},
		{"a reader reads", "GET", "/tasks/a%2Fb", bearer(reader), 200, "", "grafana"},
		{"the scheme has no case", "GET", "/tasks/a", func(r *http.Request) { r.Header.Set("Authorization", "bearer "+reader) }, 200, "", "grafana"},
		{"another scheme", "GET", "/tasks/a", func(r *http.Request) { r.Header.Set("Authorization", "Digest "+reader) }, 401, "unauthenticated", ""},
		{"a browser's reader", "GET", "/tasks/a", func(r *http.Request) { r.SetBasicAuth("ada", reader) }, 200, "", "grafana"},
		{"the token is not the name", "GET", "/tasks/a", func(r *http.Request) { r.SetBasicAuth(reader, "") }, 401, "unauthenticated", ""},
		{"a reader does not report", "POST", "/reports", bearer(reader), 403, "scope_missing", ""},
		{"an agent reports", "POST", "/reports", bearer(agent), 200, "", "backend"},
		{"an agent does not read", "GET", "/tasks/a", bearer(agent), 403, "scope_missing", ""},
		{"a route that names no scope", "GET", "/forgotten", bearer(reader), 403, "forbidden", ""},
		{"a route beside the router", "GET", "/beside", bearer(reader), 403, "forbidden", ""},
		{"a route beside the router, and no token", "GET", "/beside", nil, 401, "unauthenticated", ""},
		{"nobody learns which addresses there are", "GET", "/nowhere", nil, 401, "unauthenticated", ""},
		{"who is known does", "GET", "/nowhere", bearer(agent), 404, "", ""},
	} {
		got := r.ask(tt.method, tt.path, tt.set)
		if got.Code != tt.status || codeOf(got) != tt.code || got.Header().Get("X-Actor") != tt.actor {
			t.Errorf("%s: got %d, code %q, as %q; want %d, %q, %q", tt.name, got.Code, codeOf(got), got.Header().Get("X-Actor"), tt.status, tt.code, tt.actor)
		}
		if challenges := len(got.Header().Values("WWW-Authenticate")); (challenges == 2) != (tt.status == 401) {
			t.Errorf("%s: %d challenges with status %d", tt.name, challenges, got.Code)
		}
	}
}

func TestTheMethodsOfAnAddressAreToldToPrincipalsOnly(t *testing.T) {
	t.Parallel()
	r, reader, _ := newRouter(t, access.Authorizer{})
	if got := r.ask("DELETE", "/tasks/a", nil); got.Code != 401 || got.Header().Get("Allow") != "" {
		t.Errorf("nobody: got %d, Allow %q", got.Code, got.Header().Get("Allow"))
	}
	if got := r.ask("DELETE", "/tasks/a", bearer(reader)); got.Code != 405 || got.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("a reader: got %d, Allow %q", got.Code, got.Header().Get("Allow"))
	}
}

func TestReadOnlyModeIsTheAuthorizersDecision(t *testing.T) {
	t.Parallel()
	r, reader, agent := newRouter(t, access.Authorizer{ReadOnly: true})
	if got := r.ask("POST", "/reports", bearer(agent)); got.Code != 403 || codeOf(got) != "read_only" {
		t.Errorf("a report: got %d %s", got.Code, got.Body)
	}
	if got := r.ask("GET", "/tasks/a", bearer(reader)); got.Code != 200 {
		t.Errorf("a look: got %d", got.Code)
	}
}

// codeOf is the code of a problem; what is no problem has none.
func codeOf(w *httptest.ResponseRecorder) string {
	var problem struct{ Code string }
	_ = json.Unmarshal(w.Body.Bytes(), &problem) // Pages are no JSON.
	return problem.Code
}

func TestEveryRouteIsListedWithItsScope(t *testing.T) {
	t.Parallel()
	r, _, _ := newRouter(t, access.Authorizer{})
	got := map[string]access.Scope{}
	for _, route := range r.Routes() {
		got[route.Method+" "+route.Path] = route.Needs
	}
	want := map[string]access.Scope{
		"GET /healthz": access.Open, "HEAD /healthz": access.Open, "GET /tasks/*id": access.Read, "HEAD /tasks/*id": access.Read,
		"POST /reports": access.Report, "GET /forgotten": "", "HEAD /forgotten": "", "GET /beside": "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
}

func TestWithoutTokensEverybodyIsLocal(t *testing.T) {
	t.Parallel()
	r := New(gin.New(), Config{Tokens: access.Unprotected()})
	r.Get("/", access.Admin, func(c *gin.Context) { c.Header("X-Actor", access.From(c.Request.Context()).Name) })
	if got := r.ask("GET", "/", nil); got.Code != 200 || got.Header().Get("X-Actor") != "local" {
		t.Errorf("got %d as %q", got.Code, got.Header().Get("X-Actor"))
	}
}
