package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"fleetglass/access"
	"fleetglass/api"
	"fleetglass/internal/testkit"
)

// pair are two replicas over one database, with a token of an administrator in their files.
func pair(t *testing.T) (one, other *running, admin string) {
	t.Helper()
	admin, entry := access.NewToken("root", []access.Scope{access.Admin}, time.Time{})
	args := []string{"--auth-tokens-file", writeTokens(t, entry), "--database-url", testkit.Postgres(t)}
	return start(t, settings(t, args...)), start(t, settings(t, args...)), admin
}

// asks sends JSON and decodes the answer, and errors when its status is another one.
func (r *running) asks(method, path, token, body string, status int, into any) error {
	r.t.Helper()
	header := with(token)
	header.Set("Content-Type", "application/json")
	response := r.request(method, path, header, strings.NewReader(body))
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != status {
		return fmt.Errorf("%s %s: %s, want %d: %s", method, path, response.Status, status, text)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

// works waits until a token is taken, or is not.
func (r *running) works(token string, status int) {
	r.t.Helper()
	testkit.Eventually(r.t, endsWithin, func() error { return r.asks(http.MethodGet, "/api/v1/tasks", token, "", status, nil) })
}

func TestATokenOfTheStoreLivesAndEndsInAllReplicas(t *testing.T) {
	t.Parallel()
	one, other, admin := pair(t)
	var made, second api.NewToken
	for into, body := range map[*api.NewToken]string{&made: `{"name":"grafana","role":"viewer"}`, &second: `{"name":"second","scopes":["read"]}`} {
		if err := one.asks(http.MethodPost, "/api/v1/tokens", admin, body, http.StatusCreated, into); err != nil {
			t.Fatal(err)
		}
	}
	if len(made.Secret) < 40 || made.ID != access.Hash(made.Secret)[:12] || made.CreatedBy != "root" || made.Scopes[0] != access.Read {
		t.Errorf("made: %+v", made)
	}
	one.works(made.Secret, 200)
	other.works(made.Secret, 200)
	other.works(second.Secret, 200)
	streams := []<-chan struct{}{one.open("/live", made.Secret), other.open("/live", made.Secret), other.open("/api/v1/stream", made.Secret)}
	stays := other.open("/live", second.Secret)

	if err := one.asks(http.MethodPost, "/api/v1/tokens", admin, `{"name":"grafana","role":"admin"}`, http.StatusConflict, nil); err != nil {
		t.Error(err)
	}
	var was api.TokenRow
	if err := one.asks(http.MethodDelete, "/api/v1/tokens/"+made.ID, admin, "", http.StatusOK, &was); err != nil || was.LastUsedAt == 0 {
		t.Fatalf("revoked: %v, %+v", err, was)
	}
	deadline := time.After(endsWithin)
	for i, ended := range streams {
		select {
		case <-ended:
		case <-deadline:
			t.Fatalf("stream %d goes on %s after its token was revoked", i, endsWithin)
		}
	}
	one.works(made.Secret, 401)
	other.works(made.Secret, 401)
	other.works(second.Secret, 200)
	select {
	case <-stays:
		t.Error("the stream of another token ended too")
	default:
	}
	if err := other.asks(http.MethodDelete, "/api/v1/tokens/"+made.ID, admin, "", http.StatusNotFound, nil); err != nil {
		t.Error(err)
	}
	var audit struct{ Data []api.AuditRow }
	if err := other.asks(http.MethodGet, "/api/v1/audit", admin, "", 200, &audit); err != nil {
		t.Fatal(err)
	}
	if len(audit.Data) != 3 || audit.Data[0].Action != "revoke-token" || audit.Data[2].Actor != "root" || !strings.Contains(string(audit.Data[0].Before), "grafana") {
		t.Errorf("the audit: %+v", audit.Data)
	}
	for _, row := range audit.Data {
		if text := fmt.Sprintf("%+v", row); strings.Contains(text, made.Secret) || strings.Contains(text, access.Hash(made.Secret)) {
			t.Error("the audit holds a secret or its hash")
		}
	}
}

func TestTokensAreListedByPage(t *testing.T) {
	t.Parallel()
	r, secrets := guarded(t)
	var names []string
	for cursor := ""; ; {
		var page api.List[api.TokenRow]
		if err := r.asks(http.MethodGet, "/api/v1/tokens?limit=1&cursor="+cursor, secrets["admin"], "", 200, &page); err != nil {
			t.Fatal(err)
		}
		for _, row := range page.Data {
			names = append(names, row.Name)
		}
		if cursor = string(page.Page.Next); cursor == "" {
			break
		}
	}
	if len(names) != len(secrets)-2 || !slices.IsSorted(names) {
		t.Errorf("listed %q, want one for each of the %d tokens, by name", names, len(secrets)-2)
	}
	if err := r.asks(http.MethodGet, "/api/v1/tokens?limit=201", secrets["admin"], "", 400, nil); err != nil {
		t.Error(err)
	}
}

func TestTokensAreListedWithoutTheirSecrets(t *testing.T) {
	t.Parallel()
	r, secrets := guarded(t)
	var made api.NewToken
	if err := r.asks(http.MethodPost, "/api/v1/tokens", secrets["admin"], `{"name":"new","scopes":["read"],"expires_at":"2126-01-02"}`, http.StatusCreated, &made); err != nil {
		t.Fatal(err)
	}
	r.works(made.Secret, 200)
	response := r.request(http.MethodGet, "/api/v1/tokens", with(secrets["admin"]), nil)
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Data []api.TokenRow }
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{}
	for _, row := range list.Data {
		sources[row.Name] = row.Source
		if (row.Name == "new" || row.Name == "admin") != (row.LastUsedAt != 0) {
			t.Errorf("%s was used at %v", row.Name, row.LastUsedAt)
		}
	}
	if len(list.Data) != 6 || sources["new"] != "store" || sources["admin"] != "settings" {
		t.Errorf("tokens: %v", sources)
	}
	for name, secret := range secrets {
		if secret != "" && (strings.Contains(string(text), secret) || strings.Contains(string(text), access.Hash(secret))) {
			t.Errorf("the list holds the secret or the whole hash of %s", name)
		}
	}
	for _, tt := range []struct {
		body, pointer string
		status        int
	}{
		{`{"name":"","role":"viewer"}`, "/body/name", 400}, {`{"name":"a\u001bb","role":"viewer"}`, "/body/name", 400}, {`{"name":"x"}`, "/body/scopes", 400},
		{`{"name":"x","role":"emperor"}`, "/body/role", 400}, {`{"name":"x","scopes":["oversee"]}`, "/body/scopes", 400}, {`{"name":"x","scopes":["read"],"expires_at":"2020-01-01"}`, "/body/expires_at", 400},
		{`{"name":"x","secret":"mine"}`, "/body/secret", 400}, {`{"name":"viewer","role":"viewer"}`, "/body/name", 409}, {`{"name":"new","role":"viewer"}`, "/body/name", 409},
	} {
		var problem struct{ Errors []struct{ Pointer string } }
		if err := r.asks(http.MethodPost, "/api/v1/tokens", secrets["admin"], tt.body, tt.status, &problem); err != nil || len(problem.Errors) != 1 || problem.Errors[0].Pointer != tt.pointer {
			t.Errorf("%s: %v, %+v; want pointer %s", tt.body, err, problem, tt.pointer)
		}
	}
	if err := r.asks(http.MethodDelete, "/api/v1/tokens/"+access.Hash(secrets["viewer"])[:12], secrets["admin"], "", 409, nil); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"viewer", "triager", "agent"} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if err := r.asks(method, "/api/v1/tokens", secrets[name], `{"name":"evil","role":"admin"}`, 403, nil); err != nil {
				t.Error(err)
			}
		}
	}
	open := start(t, settings(t))
	if err := open.asks(http.MethodPost, "/api/v1/tokens", "", `{"name":"x","role":"admin"}`, 409, nil); err != nil {
		t.Errorf("where authentication is off: %v", err)
	}
}

func TestASessionHoldsInAllReplicasAndEndsInAll(t *testing.T) {
	t.Parallel()
	one, other, admin := pair(t)
	b := newBrowser(t, "http://"+one.Addr())
	elsewhere := "http://" + other.Addr()
	if where, _, _ := b.open(http.MethodPost, "/login", url.Values{"token": {admin}}); where != "/" {
		t.Fatalf("signed in: at %s", where)
	}
	home, _ := url.Parse(b.base)
	cookie := http.Header{"Cookie": {b.Jar.Cookies(home)[0].String()}}
	if got := other.request(http.MethodGet, "/tasks", cookie, nil); got.StatusCode != 200 {
		t.Fatalf("the other replica right after the sign-in: %s", got.Status)
	}
	stream := other.openWith("/live", cookie)
	if where, _, _ := b.open(http.MethodPost, "/logout", url.Values{}); where != "/login" {
		t.Fatalf("signed out: at %s", where)
	}
	select {
	case <-stream:
	case <-time.After(endsWithin):
		t.Errorf("the stream in the other replica goes on %s after the sign-out", endsWithin)
	}
	testkit.Eventually(t, endsWithin, func() error {
		if got := other.request(http.MethodGet, "/api/v1/tasks", cookie, nil); got.StatusCode != 401 {
			return fmt.Errorf("%s still knows the session: %s", elsewhere, got.Status)
		}
		return nil
	})
}

func TestASessionOutlastsARestart(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, args ...string) {
		token, entry := access.NewToken("ada", []access.Scope{access.Read}, time.Time{})
		cfg := settings(t, append(args, "--auth-tokens-file", writeTokens(t, entry))...)
		first := start(t, cfg)
		b := newBrowser(t, "http://"+first.Addr())
		b.open(http.MethodPost, "/login", url.Values{"token": {token}})
		home, _ := url.Parse(b.base)
		cookie := http.Header{"Cookie": {b.Jar.Cookies(home)[0].String()}}
		first.end()
		second := start(t, cfg)
		if got := second.request(http.MethodGet, "/api/v1/tasks", cookie, nil); got.StatusCode != 200 {
			t.Errorf("after a restart: %s", got.Status)
		}
	})
}

func TestASecretIsShownAgainToTheSameCallOfTheSameCaller(t *testing.T) {
	t.Parallel()
	admin, entry := access.NewToken("root", []access.Scope{access.Admin}, time.Time{})
	r := start(t, settings(t, "--auth-tokens-file", writeTokens(t, entry)))
	ask := func(key, body string) (status int, made api.NewToken) {
		header := with(admin)
		header.Set("Content-Type", "application/json")
		header.Set("Idempotency-Key", key)
		response := r.request(http.MethodPost, "/api/v1/tokens", header, strings.NewReader(body))
		if err := json.NewDecoder(response.Body).Decode(&made); err != nil {
			t.Error(err)
		}
		return response.StatusCode, made
	}
	_, first := ask("k1", `{"name":"grafana","role":"viewer"}`)
	status, again := ask("k1", `{"role":"viewer","name":"grafana"}`)
	if status != http.StatusCreated || again.Secret == "" || again.Secret != first.Secret {
		t.Errorf("the same call again: %d %+v, want %+v", status, again, first)
	}
	if status, _ := ask("k1", `{"name":"other","role":"viewer"}`); status != http.StatusUnprocessableEntity {
		t.Errorf("another call with the key: %d", status)
	}
	if status, _ := ask("k2", `{"name":"grafana","role":"viewer"}`); status != http.StatusConflict {
		t.Errorf("the name with another key: %d", status)
	}
}
