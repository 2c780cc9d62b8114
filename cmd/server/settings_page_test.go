package main

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
)

func TestAnAdministratorMakesAndRevokesATokenOnThePage(t *testing.T) {
	t.Parallel()
	r, secrets := guarded(t)
	admin := newBrowser(t, "http://"+r.Addr())
	admin.open(http.MethodPost, "/login", url.Values{"token": {secrets["admin"]}})
	_, status, page := admin.open(http.MethodPost, "/settings", url.Values{"name": {"night shift"}, "role": {"triager"}, "expires": {"2126-01-02"}})
	secret := strings.TrimSpace(page.Find("#secret").Text())
	if status != http.StatusCreated || secret == "" {
		t.Fatalf("made: %d %s", status, page.Find("main").Text())
	}
	r.works(secret, 200)
	shift := newBrowser(t, "http://"+r.Addr())
	shift.open(http.MethodPost, "/login", url.Values{"token": {secret}})
	if _, status, page = shift.open(http.MethodGet, "/settings", nil); status != 200 || page.Find("#tokens, #configuration").Length() != 0 || !strings.Contains(page.Find("#you").Text(), "night shift") ||
		!strings.Contains(page.Find("#you").Text(), "Session ends") || page.Find("#about dd").Length() < 6 {
		t.Errorf("the triager sees %d: %s", status, page.Find("main").Text())
	}
	_, _, page = admin.open(http.MethodGet, "/settings", nil)
	href, _ := page.Find(`#tokens tr:contains("night shift") a`).Attr("href")
	for _, where := range []string{"/settings", href} {
		if _, status, _ := shift.open(http.MethodPost, where, url.Values{"name": {"mine"}, "role": {"admin"}}); status != http.StatusForbidden {
			t.Errorf("a triager posts to %s: %d", where, status)
		}
	}
	if _, status, page = admin.open(http.MethodPost, href, nil); status != 200 || !strings.Contains(page.Find("#revoked").Text(), "night shift") {
		t.Errorf("revoked: %d %s", status, page.Find("main").Text())
	}
	r.works(secret, 401)
	if where, _, _ := shift.open(http.MethodGet, "/settings", nil); !strings.HasPrefix(where, "/login") {
		t.Errorf("the session of a revoked token goes on at %s", where)
	}
	audit, _ := io.ReadAll(r.request(http.MethodGet, "/api/v1/audit?format=csv", with(secrets["admin"]), nil).Body)
	for _, want := range []string{",page,create-token,", ",page,revoke-token,", ",page,create-token,/settings,denied,", ",page,revoke-token,token "} {
		if !strings.Contains(string(audit), want) {
			t.Errorf("the audit lacks %s: %s", want, audit)
		}
	}
	if strings.Contains(string(audit), secret) {
		t.Error("the audit holds the secret")
	}
}

func TestTheConfigurationIsShownWithItsOriginAndWithoutSecrets(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "fleetglass.yaml", "environment: from-the-file\nalert-secret: a-secret-of-the-file\n")
	l, err := load([]string{"--config", file, "--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0", "--data-dir", t.TempDir(), "--alert-webhook", "https://hooks.example.org/services/T0/a-secret-path?key=a-secret-key"},
		vars("FLEETGLASS_TOKEN", "fg_a-secret-token-of-the-variable-0123456789", "FLEETGLASS_RETENTION", "40d", "FLEETGLASS_ESCALATE_SECRET", "a-secret-of-the-variable",
			"FLEETGLASS_ESCALATE_WEBHOOK", "https://user:a-secret-password@hooks.example.org"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, l.cli.Config)
	response := r.request(http.MethodGet, "/settings", with(l.cli.Token.Reveal()), nil)
	page, err := goquery.NewDocumentFromReader(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	page.Find("#configuration tbody tr").Each(func(_ int, row *goquery.Selection) {
		cells := row.Find("td")
		rows[row.Find("td:first-child span").Text()] = strings.TrimSpace(cells.Eq(1).Text()) + " | " + strings.TrimSpace(cells.Eq(2).Text())
	})
	for name, want := range map[string]string{
		"--listen": "127.0.0.1:0 | flag", "--environment": "from-the-file | file", "--retention": "40d | variable", "--session-life": "12h | default", "--max-streams": "512 | default", "--token": "set, not shown | variable",
		"--alert-secret": "set, not shown | file", "--alert-webhook": "https://hooks.example.org (the rest is not shown) | flag", "--oidc-issuer": "empty | default",
	} {
		if rows[name] != want {
			t.Errorf("%s: %q, want %q", name, rows[name], want)
		}
	}
	settings := 0
	for _, flag := range l.context.Model.Flags {
		if isSetting(flag) {
			settings++
		}
	}
	if delete(rows, ""); len(rows) != settings {
		t.Errorf("%d rows, want all %d settings", len(rows), settings)
	}
	if html, _ := page.Html(); strings.Contains(html, "a-secret") {
		t.Errorf("the page shows a secret: %s", html[max(0, strings.Index(html, "a-secret")-200):][:300])
	}
}
