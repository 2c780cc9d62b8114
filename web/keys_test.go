package web_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"fleetglass/internal/testkit"
	"fleetglass/web/webtest"
)

// keyUse is how a line of the list of keys is tried on a page.
type keyUse struct {
	before string   // A statement that comes first; empty for none.
	lead   string   // Keys that come first.
	each   []string // Keys, each of which changes look.
	look   string   // An expression.
	undo   string   // A key that comes last.
}

const (
	unmarked = `document.querySelector(".cursor")?.classList.remove("cursor"); document.activeElement?.blur()`
	rowLook  = `document.querySelector(".cursor a.title, .cursor a.ev, .cursor a.what")?.href`
	focused  = `document.activeElement.outerHTML.slice(0, 200)`
	dialogs  = `!!document.querySelector("dialog[open]")`
)

// keyUses are the lines of the list of keys, by their words.
var keyUses = map[string]keyUse{
	"Search": {look: focused, each: []string{"/"}, undo: kb.Escape},
	"Search everything: pages, agents, tasks, actions": {look: dialogs, each: []string{"ctrl k"}, undo: kb.Escape},
	"This list":                              {look: dialogs, each: []string{"?"}, undo: kb.Escape},
	"Next row":                               {before: unmarked, look: rowLook, each: []string{"j"}},
	"Previous row":                           {before: unmarked, look: rowLook, each: []string{"k"}},
	"Open the row":                           {before: unmarked, lead: "j", look: `location.href + document.querySelector("[aria-current=true] a")?.href + document.querySelector("tr.on a")?.href`, each: []string{kb.Enter}},
	"Select the row; with Shift, the range":  {before: unmarked, lead: "j", look: `document.querySelector("#selbar").dataset.count`, each: []string{"x"}, undo: kb.Escape},
	"Timeline: zoom in, zoom out, show all":  {look: `document.querySelector(".lanes")?.innerHTML`, each: []string{"+", "+", "-", "0"}},
	"Timeline in focus: move":                {before: `document.querySelector(".lane-scroll").focus()`, lead: "+++", look: `document.querySelector(".lane-scroll").scrollLeft`, each: []string{kb.ArrowLeft, kb.ArrowRight}, undo: "0"},
	"Chart in focus: move; with Shift, mark": {before: `document.querySelector(".pts a[tabindex='0']").focus()`, look: focused + ` + document.querySelector(".marked-span:not([hidden])")?.innerText`, each: []string{kb.ArrowLeft, kb.ArrowRight, "shift " + kb.ArrowLeft}, undo: kb.Escape},
	"Close, or clear what is selected":       {before: `document.getElementById("help").click()`, look: dialogs, each: []string{kb.Escape}},
	"Pause or resume live updates":           {look: `document.body.dataset.paused === "1"`, each: []string{"r", "r"}},
	"Light or dark":                          {look: `document.documentElement.dataset.theme`, each: []string{"t", "t"}},
}

// places are where the keys after g lead.
var places = map[string]string{
	"Overview": "/", "Tasks": "/tasks", "In flight": "/in-flight", "DLQ": "/dlq", "Alerts": "/alerts", "Duplicates": "/duplicates", "Reconciliation": "/reconciliation", "Agents": "/agents",
}

// pressOne presses one key, with the modifier that stands before it.
func pressOne(t *testing.T, b *tab, key string) {
	t.Helper()
	modifier, last, found := strings.Cut(key, " ")
	switch {
	case !found:
		if key == kb.Enter {
			b.enter(t)
			return
		}
		b.press(t, key)
	case modifier == "ctrl":
		b.press(t, last, chromedp.KeyModifiers(chromedp.ModifierCtrl))
	default:
		b.press(t, last, chromedp.KeyModifiers(chromedp.ModifierShift))
	}
}

// changes presses a key and reports whether what look sees is soon another.
func changes(t *testing.T, b *tab, look, key string) bool {
	t.Helper()
	const read = `JSON.stringify([%s])`
	was := eval[string](t, b, fmt.Sprintf(read, look))
	pressOne(t, b, key)
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); {
		if is, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](fmt.Sprintf(read, look))); err == nil && is != was {
			return true
		}
	}
	return false
}

// Every key that a page's own list names does something on that page.
func TestEveryListedKeyDoesSomething(t *testing.T) {
	t.Parallel()
	b := openTab(t, testkit.Browser(t), newSite(t, webtest.Rich(noon).Batch, operating, reported))
	type line struct{ Keys, What string }
	tried := map[string]bool{}
	for n, path := range []string{
		"/", "/tasks", "/tasks/tsk-7f3a91", "/tasks/tsk-7f3a91?tab=events", "/in-flight", "/agents", "/agents/marketing", "/alerts", "/dlq", "/duplicates", "/reconciliation",
		"/statistics?range=1h", "/map", "/capture", "/search?q=review", "/audit", "/doctor", "/restarts", "/settings", "/dlq/stats", "/alerts/rules", "/no-such-page",
	} {
		b.open(t, path)
		b.press(t, "?")
		b.until(t, `document.querySelector("#keys").open`)
		var lines []line
		listed := eval[string](t, b, `JSON.stringify([...document.querySelectorAll("#keys dl > div:not([hidden])")].map((d) => ({ Keys: d.querySelector("dt").innerText, What: d.querySelector("dd").innerText })))`)
		if err := json.Unmarshal([]byte(listed), &lines); err != nil {
			t.Fatal(err)
		}
		b.press(t, kb.Escape)
		b.until(t, "!"+dialogs)
		for i, l := range lines {
			place, goes := strings.CutPrefix(l.What, "Go to ")
			use, known := keyUses[l.What]
			switch {
			case goes && (n+i)%len(places) != 0 && n > 0: // The first page tries all of them, each other page some.
			case goes:
				tried[l.What] = true
				b.press(t, "g")
				b.press(t, l.Keys[len(l.Keys)-1:])
				b.until(t, `location.pathname === `+strconv.Quote(places[place])+` && `+ready)
				b.open(t, path)
			case !known:
				t.Errorf("%s lists %q, of which the test does not know what it does", path, l.What)
			default:
				tried[l.What] = true
				b.run(t, `document.activeElement?.blur(); `+use.before) // Out of the search box, whose first Esc closes its suggestions.
				for _, key := range use.lead {
					b.press(t, string(key))
				}
				for _, key := range use.each {
					if !changes(t, b, use.look, key) {
						t.Errorf("%s: %q does nothing: %s", path, key, l.What)
					}
				}
				if use.undo != "" {
					b.press(t, use.undo)
					b.until(t, "!"+dialogs)
				}
				if l.What == "Open the row" {
					b.open(t, path)
				}
			}
		}
	}
	for what := range keyUses {
		if !tried[what] {
			t.Errorf("no page lists %q", what)
		}
	}
}
