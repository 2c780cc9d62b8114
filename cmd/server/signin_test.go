package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"fleetglass/access"
)

// browser is a client that keeps cookies and opens pages as browsers do.
type browser struct {
	t *testing.T
	http.Client
	base string
}

func newBrowser(t *testing.T, base string) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t: t, base: base, Client: http.Client{Jar: jar, Timeout: 30 * time.Second}}
}

// named lets the browser find a program under a name.
func (b *browser) named(name, address string) {
	b.Transport = &http.Transport{DialContext: func(ctx context.Context, network, asked string) (net.Conn, error) {
		if host, _, _ := net.SplitHostPort(asked); host == name {
			asked = address
		}
		return (&net.Dialer{}).DialContext(ctx, network, asked)
	}}
	b.t.Cleanup(b.CloseIdleConnections)
}

// open returns where the browser ends up, and what it shows.
func (b *browser) open(method, address string, form url.Values) (where string, status int, page *goquery.Document) {
	b.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = b.base + address
	}
	r, err := http.NewRequestWithContext(b.t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html,application/xhtml+xml")
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", b.base)
	}
	answer, err := b.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // Only read from.
	page, err = goquery.NewDocumentFromReader(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer.Request.URL.RequestURI(), answer.StatusCode, page
}

func TestPeopleSignInWithAToken(t *testing.T) {
	t.Parallel()
	r, secrets := guarded(t)
	b := newBrowser(t, "http://"+r.Addr())
	where, status, page := b.open(http.MethodGet, "/tasks?q=a+b", nil)
	if where != "/login?next=%2Ftasks%3Fq%3Da%2Bb" || status != 200 || page.Find("#token").Length() != 1 {
		t.Fatalf("who is not signed in is at %s, %d", where, status)
	}
	if page.Find(".nav, #freshness").Length() != 0 {
		t.Error("the page shows something of the fleet")
	}
	next := page.Find("input[name=next]").AttrOr("value", "")
	_, status, page = b.open(http.MethodPost, "/login", url.Values{"next": {next}, "token": {"fg_wrong"}})
	if status != 401 || !strings.Contains(page.Find("[role=alert]").Text(), "not valid") {
		t.Errorf("a wrong token: %d, %q", status, page.Find("[role=alert]").Text())
	}
	where, status, page = b.open(http.MethodPost, "/login", url.Values{"next": {next}, "token": {secrets["viewer"]}})
	if where != "/tasks?q=a+b" || status != 200 || !strings.Contains(page.Find(".reader").Text(), "viewer") {
		t.Fatalf("signed in: at %s, %d, %q", where, status, page.Find(".reader").Text())
	}
	if _, status, _ = b.open(http.MethodPost, "/reconciliation", url.Values{}); status != 403 {
		t.Errorf("a viewer asks for a reconciliation: %d, want 403", status)
	}
	if where, _, _ = b.open(http.MethodPost, "/logout", url.Values{}); where != "/login" {
		t.Errorf("signed out: at %s", where)
	}
	if where, _, _ = b.open(http.MethodGet, "/", nil); where != "/login?next=%2F" {
		t.Errorf("after signing out: at %s", where)
	}
}

func TestWhereASignInLeadsStaysOnThisSite(t *testing.T) {
	t.Parallel()
	r, secrets := guarded(t)
	for _, next := range []string{"https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)", ""} {
		b := newBrowser(t, "http://"+r.Addr())
		if where, _, _ := b.open(http.MethodPost, "/login", url.Values{"next": {next}, "token": {secrets["viewer"]}}); where != "/" {
			t.Errorf("next=%q leads to %s", next, where)
		}
	}
}

func TestAnotherSiteCannotSignAnybodyIn(t *testing.T) {
	t.Parallel()
	r, secrets := guarded(t)
	body := strings.NewReader(url.Values{"token": {secrets["viewer"]}}.Encode())
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.Addr()+"/login", body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", "https://evil.example")
	request.Header.Set("Sec-Fetch-Site", "cross-site")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // Only read from.
	if answer.StatusCode != 403 || len(answer.Cookies()) > 0 {
		t.Errorf("got %d, %v", answer.StatusCode, answer.Cookies())
	}
}

// provider is an OpenID Connect provider in this process. It tells a person's groups only to who asks for the person.
type provider struct {
	*storage.Storage
	groups []string
}

func (p *provider) SetUserinfoFromToken(ctx context.Context, info *oidc.UserInfo, tokenID, subject, origin string) error {
	info.AppendClaims("groups", p.groups)
	return p.Storage.SetUserinfoFromToken(ctx, info, tokenID, subject, origin)
}

// The program's own name for people, and for the provider.
const (
	ourHost = "fleetglass.test"
	ourBase = "http://" + ourHost
)

// registered is the client of all providers; the registry of their storage is one for the process.
var registered = sync.OnceFunc(func() { storage.RegisterClients(storage.WebClient("fleetglass", "hush", ourBase+"/login/callback")) })

// startProvider runs a provider with one client, whose people have the given groups. It returns its issuer.
func startProvider(t *testing.T, groups ...string) string {
	t.Helper()
	registered()
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	people := &provider{storage.NewStorage(storage.NewUserStore(server.URL)), groups}
	handler = exampleop.SetupServer(server.URL, people, nil, false, op.WithAllowInsecure())
	return server.URL
}

// signInThere fills in the provider's form.
func (b *browser) signInThere(issuer string, page *goquery.Document) (where string, status int, shown *goquery.Document) {
	b.t.Helper()
	form := url.Values{"id": {page.Find("input[name=id]").AttrOr("value", "")}, "username": {"test-user2"}, "password": {"verysecure"}}
	return b.open(http.MethodPost, issuer+"/login/username", form)
}

func TestPeopleSignInThroughAProvider(t *testing.T) {
	t.Parallel()
	issuer := startProvider(t, "cooks", "fleet-oncall")
	r := start(t, settings(t, "--base-url", ourBase, "--oidc-issuer", issuer, "--oidc-client-id", "fleetglass", "--oidc-client-secret", "hush",
		"--oidc-roles-claim", "groups", "--oidc-roles", "fleet-oncall=triager,fleet-admins=admin"))
	b := newBrowser(t, ourBase)
	b.named(ourHost, r.Addr())
	_, _, page := b.open(http.MethodGet, "/dlq", nil)
	if page.Find("#token").Length() != 0 {
		t.Error("the page asks for a token, and there is none")
	}
	_, status, page := b.open(http.MethodGet, page.Find("a.primary").AttrOr("href", ""), nil)
	if status != 200 || page.Find("input[name=username]").Length() != 1 {
		t.Fatalf("the provider's page: %d, %s", status, page.Text())
	}
	where, status, page := b.signInThere(issuer, page)
	if where != "/dlq?status=open" || status != 200 || !strings.Contains(page.Find(".reader").Text(), "test-user2") {
		t.Fatalf("signed in: at %s, %d, %s", where, status, page.Text())
	}
	if _, status, _ = b.open(http.MethodPost, "/reconciliation", url.Values{}); status != 403 {
		t.Errorf("a triager asks for a reconciliation: %d, want 403", status)
	}
	answer, err := http.Get("http://" + r.Addr() + "/api/v1/tasks") //nolint:noctx // A plain program without a session.
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // Only read from.
	if body, _ := io.ReadAll(answer.Body); answer.StatusCode != 401 {
		t.Errorf("a program without a token: %d %s", answer.StatusCode, body)
	}
	if where, _, page = b.open(http.MethodGet, "/login/callback?state=x&code=y", nil); !strings.Contains(page.Find("[role=alert]").Text(), "did not begin in this browser") {
		t.Errorf("an invented answer: at %s, %q", where, page.Find("[role=alert]").Text())
	}
}

func TestAPersonWithoutARoleIsNotLetIn(t *testing.T) {
	t.Parallel()
	issuer := startProvider(t, "cooks")
	r := start(t, settings(t, "--base-url", ourBase, "--oidc-issuer", issuer, "--oidc-client-id", "fleetglass", "--oidc-client-secret", "hush",
		"--oidc-roles-claim", "groups"))
	b := newBrowser(t, ourBase)
	b.named(ourHost, r.Addr())
	_, _, page := b.open(http.MethodGet, "/login/provider", nil)
	_, status, page := b.signInThere(issuer, page)
	if status != 403 || !strings.Contains(page.Find("[role=alert]").Text(), "no role here") {
		t.Errorf("got %d, %q", status, page.Find("[role=alert]").Text())
	}
	if where, _, _ := b.open(http.MethodGet, "/tasks", nil); !strings.HasPrefix(where, "/login") {
		t.Errorf("the person is at %s", where)
	}
}

func TestAProviderIsConfiguredCompletely(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--oidc-issuer=https://login.example.org":                                                                              "oidc-client-id",
		"--oidc-issuer=https://login.example.org --oidc-client-id=a":                                                           "base-url",
		"--oidc-issuer=http://login.example.org --oidc-client-id=a --base-url=https://f.example.org":                           "not https",
		"--oidc-issuer=https://login.example.org --oidc-client-id=a --base-url=https://f.example.org --oidc-roles=boss":        "oidc-roles",
		"--oidc-issuer=https://login.example.org --oidc-client-id=a --base-url=https://f.example.org --oidc-roles=ops=emperor": "oidc-roles",
		"--oidc-client-id=a": "--oidc-issuer",
		"--session-life=1s":  "session-life",
	} {
		_, err := load(strings.Fields(args), vars(), io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", args, err, want)
		}
	}
	if len(access.Roles()) != 3 {
		t.Error("--oidc-roles names three roles in its help")
	}
}
