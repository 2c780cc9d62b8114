package web_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"fleetglass/access"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/views"
	"fleetglass/web/webtest"
)

// rootToken is a token of the settings of a site with tokens.
const rootToken = "fg_root-of-the-settings-0123456789abcdefghijklm"

// confirming is the page that asks whether that token should end.
var confirming = "/settings/tokens/" + access.Hash(rootToken)[:12]

// issuing gives the pages tokens and a configuration.
func issuing(c *setup) {
	tokens, err := access.NewTokens(access.Config{Token: rootToken, Now: c.Now})
	if err != nil {
		panic(err)
	}
	issuer, err := access.NewIssuer(access.IssuerConfig{Store: c.Store.(access.TokenStore), Tokens: tokens, Now: c.Now})
	if err != nil {
		panic(err)
	}
	c.Settings.Tokens = issuer
	c.Settings.InForce = []views.SettingGroup{{Title: "Pages and API", Rows: []views.SettingRow{
		{Name: "listen", Variable: "FLEETGLASS_LISTEN", Value: "0.0.0.0:8080", From: "flag", Help: "Address."},
		{Name: "base-url", Variable: "FLEETGLASS_BASE_URL", From: "default", Help: "Address at which people reach the pages."},
		{Name: "oidc-roles", Variable: "FLEETGLASS_OIDC_ROLES", Value: strings.Repeat("fleet-oncall-of-the-night=triager, ", 12), From: "variable"},
	}}}
	c.Settings.About = func() views.About {
		return views.About{Version: "1.2.3", Build: "0123456789ab of 2026-11-20T00:00:00Z", Go: "go1.26", Store: "SQLite", Schema: 8, Fold: 29, Facts: 28, Broker: "version 2.12", Started: lifecycle.MicrosOf(noon.Add(-time.Hour))}
	}
}

func TestThePageOfSettingsHasItsParts(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, issuing)
	wants{
		"#you dd": "local", "#tokens tbody tr": "=1", "#configuration tbody td": "--listen", "#about dd": "1.2.3", `nav a[aria-current="page"]`: "Settings", "#make input[type=checkbox]": "=7",
		"#tokens tbody a": "=0", "#hidden-parts": "=0", "#you form": "=0",
	}.check(t, s.get(t, "/settings", 200))
	wants{"#revoke button[disabled]": "Revoke", "#revoke .soft2": "one of the settings"}.check(t, s.get(t, confirming, 200))
	s.get(t, "/settings/tokens/nobody", 404)
	wants{"#tokens-off": "This server makes no tokens.", "#make": "=0"}.check(t, newSite(t, lifecycle.Batch{}).get(t, "/settings", 200))
	off := newSite(t, lifecycle.Batch{}, issuing, broken)
	wants{"#tokens-off": "read-only mode", "#make": "=0"}.check(t, off.get(t, "/settings", 200))
}

func TestATokenIsMadeAndRevokedInABrowser(t *testing.T) {
	t.Parallel()
	checker, err := os.ReadFile("testdata/axe-4.14.1.min.js")
	if err != nil {
		t.Fatal(err)
	}
	browser := testkit.Browser(t)
	for name, scripts := range map[string]bool{"with scripts": true, "without scripts": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := openTab(t, browser, newSite(t, webtest.Rich(noon).Batch, issuing))
			if err := call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !scripts}); err != nil {
				t.Fatal(err)
			}
			makesAndRevokes(t, b, func(state string) {
				if scripts {
					b.do(t, "load the checker", chromedp.Evaluate[chromedp.Void](string(checker)))
					b.expect(t, state)
				}
			})
		})
	}
}

// makesAndRevokes walks through the page: a refusal at its field, a token with its secret, its end. look sees each state.
func makesAndRevokes(t *testing.T, b *tab, look func(state string)) {
	send := chromedp.Click(chromedp.CSS("#make button[type=submit]"))
	b.do(t, "open", chromedp.Navigate(b.site.URL+"/settings"), chromedp.WaitReady(chromedp.CSS("#make")))
	b.do(t, "type", chromedp.SendKeys(chromedp.CSS("#name"), "token"), send, chromedp.WaitReady(chromedp.CSS("#scopes-wrong")))
	if got, _ := b.document(t).Find("#name").Attr("value"); got != "token" {
		t.Errorf("the refusal forgets the name: %q", got)
	}
	look("a refusal")
	b.do(t, "the name of another", chromedp.Click(chromedp.CSS("#make input[value=read]")), send, chromedp.WaitReady(chromedp.CSS("#name-wrong")))
	b.do(t, "a free name", chromedp.SetValue(chromedp.CSS("#name"), "grafana"), send, chromedp.WaitReady(chromedp.CSS("#secret")))
	look("a secret")
	secret := text(b.document(t).Find("#secret"))
	if len(secret) < 40 || !strings.HasPrefix(secret, "fg_") || b.document(t).Find("#tokens tbody tr").Length() != 2 {
		t.Errorf("the secret is %q", secret)
	}
	b.do(t, "leave", chromedp.Navigate(b.site.URL+"/settings"), chromedp.WaitReady(chromedp.CSS("#make")))
	if page, _ := b.document(t).Html(); strings.Contains(page, secret) {
		t.Error("the secret is shown a second time")
	}
	b.do(t, "ask", chromedp.Click(chromedp.CSS("#tokens tbody a")), chromedp.WaitReady(chromedp.CSS("#revoke")))
	look("a confirmation")
	if n := storedTokens(t, b.site); n != 1 {
		t.Errorf("%d tokens before it was confirmed, want 1", n)
	}
	b.do(t, "revoke", chromedp.Click(chromedp.CSS("#revoke button")), chromedp.WaitReady(chromedp.CSS("#revoked")))
	look("revoked")
	if n := storedTokens(t, b.site); n != 0 {
		t.Errorf("%d tokens afterwards", n)
	}
}

func storedTokens(t *testing.T, s *site) int {
	t.Helper()
	tokens, err := s.store.(access.TokenStore).StoredTokens(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return len(tokens)
}
