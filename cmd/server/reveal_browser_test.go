package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"fleetglass/internal/testkit"
)

// violations runs the checker of accessibility in the page and returns what it found.
const violations = `axe.run(document, { resultTypes: ["violations"] }).then((r) => JSON.stringify(r.violations.map((v) => v.id + ": " + v.nodes.map((n) => n.target.join(" ") + " " + n.failureSummary).join("; "))))`

func TestAPersonRevealsAPayloadInABrowser(t *testing.T) {
	t.Parallel()
	checker, err := os.ReadFile("../../web/testdata/axe-4.14.1.min.js")
	if err != nil {
		t.Fatal(err)
	}
	r, secrets := revealing(t, "--masking-reveal", "triager")
	browser := testkit.Browser(t)
	for name, scripts := range map[string]bool{"with scripts": true, "without scripts": false} {
		t.Run(name, func(t *testing.T) {
			tab := testkit.Tab(t, browser)
			do := func(what string, actions ...chromedp.Action[chromedp.Void]) {
				t.Helper()
				if err := chromedp.Do(tab, actions...); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
			}
			if _, err := chromedp.Call(tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !scripts}); err != nil {
				t.Fatal(err)
			}
			accessible := func(state string) {
				t.Helper()
				if !scripts {
					return
				}
				do("load the checker", chromedp.Evaluate[chromedp.Void](string(checker)))
				text, err := chromedp.Run(tab, chromedp.Evaluate[string](violations, chromedp.EvalAwaitPromise))
				var found []string
				if err == nil {
					err = json.Unmarshal([]byte(text), &found)
				}
				if err != nil || len(found) > 0 {
					t.Errorf("%s: %v, %v", state, found, err)
				}
			}
			const payload = "/tasks/private-2?tab=payload"
			if _, err := chromedp.Call(tab, network.ClearBrowserCookies, cdp.Empty{}); err != nil {
				t.Fatal(err)
			}
			do("sign in", chromedp.Navigate("http://"+r.Addr()+"/login?next=/settings"), chromedp.SendKeys(chromedp.CSS("#token"), secrets["triager"]), chromedp.Click(chromedp.CSS("button[type=submit]")), chromedp.WaitReady(chromedp.CSS("#you")))
			do("open", chromedp.Navigate("http://"+r.Addr()+payload), chromedp.Click(chromedp.CSS("#reveal summary")), chromedp.WaitVisible(chromedp.CSS("#reveal-reason")))
			accessible("the form")
			do("say why", chromedp.SendKeys(chromedp.CSS("#reveal-reason"), "the customer asked"), chromedp.Click(chromedp.CSS("#reveal button")), chromedp.WaitReady(chromedp.CSS("main:not(:has(#reveal)) pre.payload")))
			accessible("what is revealed")
			shown, err := chromedp.Run(tab, chromedp.Text(chromedp.CSS("main")))
			if err != nil || !strings.Contains(shown, unmasked) {
				t.Errorf("shown: %v, %s", err, shown)
			}
			do("go back", chromedp.Click(chromedp.CSS(".banner a")), chromedp.WaitVisible(chromedp.CSS("#reveal summary")))
			if shown, err = chromedp.Run(tab, chromedp.Text(chromedp.CSS("main"))); err != nil || strings.Contains(shown, unmasked) {
				t.Errorf("afterwards: %v, %s", err, shown)
			}
		})
	}
}
