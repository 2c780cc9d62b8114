package web_test

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"fleetglass/internal/health"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/web/webtest"
)

// everyPage are the addresses of all pages over the rich fleet.
var everyPage = []string{
	"/", "/?range=24h", "/tasks", "/tasks?state=completed&agent=cto&from=24h", "/tasks?q=%22no+such+words%22", "/tasks?state=lost",
	"/tasks/tsk-7f3a91", "/tasks/tsk-7f3a91?tab=events", "/tasks/tsk-7f3a91?tab=payload", "/tasks/tsk-7f3a91?tab=idempotency",
	"/tasks/tsk-7f3a91?tab=related", "/tasks/tsk-7f3a91?tab=json", "/tasks/tsk-91b6c4", "/tasks/tsk-nobody?tab=payload", "/tasks/tsk-refused",
	"/tasks/orders%2F2026%2F11%20weird%20id%3F&%23%25", "/in-flight", "/restarts", "/agents", "/agents/marketing", "/dlq", "/dlq?status=all", "/dlq?entry=TASKS%3A1", "/duplicates", "/duplicates?bucket=hour&layer=idempotency",
	"/reconciliation", "/reconciliation?id=a", "/reconciliation?id=b", "/capture", "/statistics?range=1h", "/statistics?range=7d&agent=marketing", "/statistics?from=93d", "/map", "/preferences?tz=local", "/tasks/no-such-task", "/no-such-page", "/refused",
	"/settings", confirming, "/search?q=review", "/tasks?q=-state%3Acompleted+duration%3A%3E30s+published%3A%3C2h+x", "/dlq?q=-agent%3Acto",
	"/alerts", "/alerts/rules", "/runbooks/backlog_grows", "/runbooks/orphaned_message", "/operations", "/doctor", "/audit", "/search", "/tasks/tsk-7f3a91?tab=compare", "/dlq/stats",
}

// failing are the pages that answer with an error, on purpose.
var failing = map[string]bool{"/statistics?from=93d": true, "/tasks?state=lost": true, "/tasks/no-such-task": true, "/no-such-page": true, "/refused": true, "/dlq?entry=TASKS%3A1": true, "/settings": true, "/operations": true} // A form may be refused there.

// auditWidths are those of a phone, a tablet, a laptop and a large screen.
var auditWidths = []int64{360, 768, 1280, 2560}

// widthsFor are the widths at which a page is checked: one, another for each page and theme, so that all are; in the long form every one.
func widthsFor(page, theme int) []int64 {
	if longForm() {
		return auditWidths
	}
	return []int64{auditWidths[(page+2*theme)%len(auditWidths)]}
}

// axe runs the checker in the page and returns what it found, a line each. Only colours depend on the theme, so the dark one is
// checked for these.
const axe = `axe.run(document, { resultTypes: ["violations"], ...(document.documentElement.dataset.theme === "dark" ? { runOnly: { type: "rule", values: ["color-contrast", "link-in-text-block"] } } : {}) }).then((r) => JSON.stringify(r.violations.map((v) => v.id + ": " + v.help + " at " + v.nodes.slice(0, 4).map((n) => n.target.join(" ") + " (" + n.failureSummary + ")").join("; "))))`

func TestNoPageHasAnAccessibilityViolation(t *testing.T) {
	t.Parallel()
	checker, err := os.ReadFile("testdata/axe-4.14.1.min.js")
	if err != nil {
		t.Fatal(err)
	}
	browser := testkit.Browser(t)
	sites := map[string]*site{"rich": newSite(t, webtest.Rich(noon).Batch, reported, issuing), "empty": newSite(t, lifecycle.Batch{}, reconciling), "down": newSite(t, webtest.Rich(noon).Batch, broken), "incident": newSite(t, incident(20).Batch)}
	for name, s := range sites {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := openTab(t, browser, s)
			b.still(t)
			pages := everyPage
			if name != "rich" {
				pages = []string{"/", "/tasks", "/in-flight", "/agents", "/dlq", "/duplicates", "/reconciliation", "/capture", "/settings"}
			}
			for i, path := range pages {
				b.open(t, path)
				b.do(t, "load the checker", chromedp.Evaluate[chromedp.Void](string(checker)))
				for n, theme := range themes {
					b.wear(t, theme)
					for _, width := range widthsFor(i, n) {
						b.do(t, "resize", chromedp.EmulateViewport(width, 900))
						b.expect(t, fmt.Sprint(name, " ", theme, " ", path, " at ", width, " px"))
					}
				}
			}
		})
	}
}

// broken makes a site whose capture is down and behind, in read-only mode.
func broken(c *setup) {
	c.Access.ReadOnly = true
	c.Health = health.ReporterFunc(func() []health.Part {
		return []health.Part{
			{Name: "acks", Kind: "collector", State: health.Down, Detail: "The broker does not answer.", LastAt: c.Now().Add(-100e9)},
			{Name: "advisories", Kind: "collector", State: health.Behind, Lag: 252e9, Pending: 1204, Drains: 20, DrainsKnown: true, LastAt: c.Now().Add(-252e9)},
			{Name: "reports", Kind: "collector", State: health.Starting},
		}
	})
}

var themes = []string{"light", "dark"}

// still lets nothing move in pages that are opened from now on: on its way to another one a colour has a contrast that nobody chose.
func (b *tab) still(t testing.TB) {
	t.Helper()
	reduced := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: "reduce"}}}
	if err := call(b, emulation.SetEmulatedMedia, reduced); err != nil {
		t.Fatal(err)
	}
}

// wear gives the open page a theme, as its button does.
func (b *tab) wear(t testing.TB, theme string) {
	t.Helper()
	b.run(t, `document.documentElement.dataset.theme = "`+theme+`"`)
}

func (b *tab) expect(t testing.TB, what string) {
	t.Helper()
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](axe, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	var found []string
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		t.Errorf("%s: %s", what, f)
	}
}

// fitWidths are those of windows just below and above each change of the layout, and of common screens.
var fitWidths = []int64{360, 390, 600, 768, 769, 1024, 1025, 1280, 1366, 1440, 1920, 2560}

// No page is wider than its window, and on a laptop or more no table is wider than its box. In the short form each page is tried at the narrowest width and at two or
// three others by turns.
func TestEveryPageFitsItsWindow(t *testing.T) {
	t.Parallel()
	b := openTab(t, testkit.Browser(t), newSite(t, webtest.Rich(noon).Batch, operating, reported, issuing))
	for i, path := range everyPage {
		b.open(t, path)
		for n, width := range fitWidths {
			if n > 0 && (n+i)%5 > 0 && !longForm() {
				continue
			}
			b.do(t, "resize", chromedp.EmulateViewport(width, 900))
			if over := eval[string](t, b, sideways); over != "" {
				t.Errorf("%s at %d px: wider than the window: %s", path, width, over)
			}
			if width < 1280 {
				continue
			}
			if wide := eval[string](t, b, wideTables); wide != "" {
				t.Errorf("%s at %d px: %s", path, width, wide)
			}
		}
	}
}

// sideways names what makes the page wider than its window, empty when nothing does.
const sideways = `(() => {
  const root = document.documentElement;
  if (root.scrollWidth <= root.clientWidth) return "";
  const wide = [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > root.clientWidth + 1 && !e.closest(".table-wrap, .lane-scroll, .tabs, pre, .skip"));
  return root.scrollWidth + ": " + wide.slice(0, 3).map((e) => e.tagName + "." + e.className + "#" + e.id).join(", ");
})()`
