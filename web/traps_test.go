package web_test

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"fleetglass/internal/testkit"
	"fleetglass/web/webtest"
)

func TestSmallTrapsInABrowser(t *testing.T) {
	t.Parallel()
	browser := testkit.Browser(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, context.Context)
	}{
		{"copying works without the clipboard API and says so in words", copyWithoutClipboard},
		{"copying that fails says so in words", copyingFails},
		{"another zone keeps the open event", zoneKeepsEvent},
		{"a message id in a table leads to the message", messageLinks},
		{"a page that does not exist asks for nothing and says what may be wrong", missingPage},
		{"the brand has a name on a narrow screen", brandName},
		{"a long unbroken title stays in the window", longTitle},
		{"tables fit a tablet", tabletTables},
		{"titles and what happens next can be read on a tablet", tabletTexts},
		{"the filters fit a narrow screen", narrowFilters},
		{"a short task prints on one page", printTask},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, browser) })
	}
}

// noClipboard takes the clipboard API away, as browsers do on a page that is not secure, and notes what is copied by other means.
const noClipboard = `Object.defineProperty(navigator, "clipboard", { value: undefined });
	document.addEventListener("copy", (e) => { window.copied = e.target.value ?? String(getSelection()); })`

func copyWithoutClipboard(t *testing.T, browser context.Context) {
	b := openTab(t, browser, newSite(t, webtest.Rich(noon).Batch))
	b.open(t, "/tasks?from=1h")
	b.run(t, noClipboard)
	b.click(t, "[data-copy-link]")
	b.until(t, `(window.copied || "").includes("from=2026-11-20T11")`)
	b.until(t, `document.querySelector("#toast").textContent === "Link copied" && document.querySelector("#toast").getClientRects().length > 0`)
	b.run(t, `document.querySelector("#rows input").click()`)
	b.click(t, "#copy-ids")
	b.until(t, `window.copied === document.querySelector("#rows tr").dataset.id && document.querySelector("#toast:not(.bad)").textContent === "Copied"`)
	b.until(t, `document.querySelector("#toast").hidden`)
}

func copyingFails(t *testing.T, browser context.Context) {
	b := openTab(t, browser, newSite(t, webtest.Rich(noon).Batch))
	b.open(t, "/tasks")
	b.run(t, noClipboard+`; document.execCommand = () => false; document.querySelector(".actions details").open = true`)
	b.click(t, "[data-copy]")
	b.until(t, `document.querySelector("#toast").textContent.startsWith("Not copied") && document.querySelector("#toast.bad") && String(getSelection()).startsWith("curl -sS")`)
	b.open(t, "/tasks?from=1h")
	b.run(t, noClipboard+`; document.execCommand = () => false`)
	b.click(t, "[data-copy-link]")
	b.until(t, `document.querySelector("#toast").textContent.includes("address of the page is the link") && location.search.includes("from=2026-11-20T11")`)
}

func zoneKeepsEvent(t *testing.T, browser context.Context) {
	b := openTab(t, browser, newSite(t, webtest.Rich(noon).Batch))
	b.setZone(t, "Asia/Kolkata")
	b.open(t, "/tasks/tsk-7f3a91")
	b.run(t, `document.querySelectorAll("#events a.ev")[4].click()`)
	b.until(t, `location.search.includes("ev=") && !!document.querySelector("#events tr.on")`)
	event := eval[string](t, b, `document.querySelector("#events tr.on").id`)
	b.click(t, `.prefs button[name=tz]:last-of-type`)
	b.until(t, ready+` && document.querySelector(".prefs button[name=tz]:last-of-type").getAttribute("aria-pressed") === "true"`)
	if got := eval[string](t, b, `document.querySelector("#events tr.on").id + location.hash`); got != event+"#"+event {
		t.Errorf("the open event is %s, want %s", got, event)
	}
}

func messageLinks(t *testing.T, browser context.Context) {
	b := openTab(t, browser, newSite(t, webtest.Rich(noon).Batch))
	for path, cell := range map[string]string{"/tasks?q=tsk-7f3a91": "#rows a.msg", "/tasks/tsk-7f3a91?tab=related": "tbody a.msg", "/tasks/tsk-7f3a91?tab=idempotency": "tbody a.msg"} {
		b.open(t, path)
		id := eval[string](t, b, `document.querySelector("`+cell+`").textContent.trim()`)
		b.run(t, `document.querySelector("`+cell+`").click()`)
		b.until(t, ready+` && location.search.includes("message=") && document.querySelector(".panel > header .sub")?.textContent === "`+id+`"`)
	}
}

func missingPage(t *testing.T, browser context.Context) {
	b := openTab(t, browser, newSite(t, webtest.Rich(noon).Batch))
	b.do(t, "open", chromedp.Navigate(b.site.URL+"/tasks/no-such-task"), chromedp.WaitReady(chromedp.CSS("html[data-ready]")))
	if eval[bool](t, b, `"stream" in document.body.dataset || !!document.querySelector("#pause")`) || b.site.hub.Subscribers() > 0 {
		t.Error("a page that does not exist follows the fleet")
	}
	text := eval[string](t, b, `document.querySelector("main").textContent`)
	for _, want := range []string{"no-such-task", "cut off", "retention", "was not observing"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q: %s", want, text)
		}
	}
	b.click(t, "main a.btn.primary")
	b.until(t, `location.pathname === "/tasks" && document.querySelector("#q").value.includes("no-such-task")`)
}

func brandName(t *testing.T, browser context.Context) {
	b := openTab(t, browser, newSite(t, webtest.Rich(noon).Batch))
	b.do(t, "resize", chromedp.EmulateViewport(360, 800))
	b.open(t, "/")
	if eval[bool](t, b, `document.querySelector(".brand span").getBoundingClientRect().width > 2`) {
		t.Error("the name takes room on a narrow screen")
	}
	tree, err := chromedp.Call(b.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(tree.Nodes, isLinkNamed("Fleetglass")) {
		t.Error("a screen reader finds no link with the name of the brand")
	}
}

func isLinkNamed(name string) func(*accessibility.Node) bool {
	return func(n *accessibility.Node) bool {
		return n.Role != nil && n.Name != nil && string(n.Role.Value) == `"link"` && string(n.Name.Value) == `"`+name+`"`
	}
}

func longTitle(t *testing.T, browser context.Context) {
	story := webtest.NewStory(noon)
	id := "tsk-" + strings.Repeat("0123456789abcdef", 14)
	story.Publish(id, "cto", "code_review", strings.Repeat("Unbroken", 30), 0, "")
	b := openTab(t, browser, newSite(t, story.Batch))
	for _, path := range []string{"/", "/tasks", "/tasks/" + id, "/tasks/" + id + "?tab=related", "/tasks/" + id + "?tab=idempotency", "/agents/cto"} {
		b.open(t, path)
		for _, width := range []int64{360, 768, 1440} {
			b.do(t, "resize", chromedp.EmulateViewport(width, 900))
			if over := eval[string](t, b, sideways); over != "" {
				t.Errorf("%s at %d px: wider than the window: %s", path, width, over)
			}
		}
	}
}

// The table of duplicates has thirteen columns: it scrolls, and a shadow at its edge says so.
func tabletTables(t *testing.T, browser context.Context) {
	s, work := newOperating(t, reported)
	work()
	s.run(t, "/operations/new?select=all&filter=status%3Dopen&action=retry", map[string]string{"reason": strings.Repeat("the provider is back ", 8)})
	b := openTab(t, browser, s)
	for _, path := range []string{"/", "/tasks", "/tasks?state=dead_lettered", "/in-flight", "/alerts/rules", "/operations", "/agents", "/agents/marketing", "/dlq?status=all", "/reconciliation", "/capture", "/map", "/tasks/tsk-7f3a91", "/tasks/tsk-7f3a91?tab=related"} {
		b.open(t, path)
		for _, width := range []int64{768, 1024, 1280} {
			b.do(t, "resize", chromedp.EmulateViewport(width, 900))
			wide := eval[string](t, b, `[...document.querySelectorAll(".table-wrap, .map-scroll")].filter((e) => !e.closest(".more") && e.checkVisibility() && e.scrollWidth > e.clientWidth + 1).map((e) => (e.ariaLabel || e.id || e.className) + " " + e.scrollWidth + " in " + e.clientWidth).join()`)
			if wide != "" {
				t.Errorf("%s at %d px: tables are wider than their box: %s", path, width, wide)
			}
		}
	}
}

func tabletTexts(t *testing.T, browser context.Context) {
	b := openTab(t, browser, newSite(t, webtest.Rich(noon).Batch))
	b.do(t, "resize", chromedp.EmulateViewport(768, 900))
	for _, path := range []string{"/tasks", "/in-flight"} {
		b.open(t, path)
		cut := eval[[]string](t, b, `[...document.querySelectorAll(".table a.title")].filter((a) => a.textContent.length < 40 && (a.scrollWidth > a.clientWidth + 1 || a.scrollHeight > a.clientHeight + 3)).map((a) => a.textContent)`)
		if len(cut) > 0 {
			t.Errorf("%s cuts titles: %q", path, cut)
		}
	}
	if w := eval[float64](t, b, `document.querySelector('td[data-label="next"]').getBoundingClientRect().width`); w < 140 {
		t.Errorf("what happens next has %.0f px", w)
	}
}

func narrowFilters(t *testing.T, browser context.Context) {
	b := openTab(t, browser, newSite(t, webtest.Rich(noon).Batch))
	b.do(t, "resize", chromedp.EmulateViewport(360, 640))
	b.open(t, "/tasks")
	b.click(t, ".facets-btn")
	const inside = `(() => { const r = document.querySelector("#facets").getBoundingClientRect(); return r.width > 200 && r.left >= 0 && r.right <= innerWidth && r.top >= 0 && r.bottom <= innerHeight; })()`
	b.until(t, inside)
	if wide := eval[string](t, b, `[...document.querySelectorAll("#facets *")].filter((e) => e.getBoundingClientRect().right > document.querySelector("#facets").getBoundingClientRect().right).map((e) => e.tagName).join()`); wide != "" {
		t.Errorf("stands out of the filters: %s", wide)
	}
	b.until(t, `(() => { const r = document.querySelector("#facets button[type=submit]").getBoundingClientRect(); return r.bottom <= innerHeight && r.top >= 0; })()`)
	b.run(t, `document.querySelector("#facets input[name=agent]").click()`)
	b.click(t, "#facets button[type=submit]")
	b.until(t, `location.search.includes("agent=")`)
}

// pages counts the pages of a PDF that Chromium wrote.
var pages = regexp.MustCompile(`/Type\s*/Page[^s]`)

func printTask(t *testing.T, browser context.Context) {
	b := openTab(t, browser, newSite(t, webtest.Rich(noon).Batch))
	for id, most := range map[string]int{"tsk-91b6c4": 1, "tsk-7f3a91": 2} { // The second has four attempts and some forty events.
		b.open(t, "/tasks/"+id)
		printed, err := chromedp.Call(b.ctx, page.PrintToPDF, page.PrintToPDFParams{PreferCSSPageSize: new(true)})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(pages.FindAll(printed.Data, -1)); n < 1 || n > most {
			t.Errorf("%s prints on %d pages, want at most %d", id, n, most)
		}
	}
}

// TestTheCurrentTabIsInSight has more tabs than there is room for.
func TestTheCurrentTabIsInSight(t *testing.T) {
	t.Parallel()
	b := openTab(t, testkit.Browser(t), newSite(t, webtest.Rich(noon).Batch))
	b.do(t, "resize", chromedp.EmulateViewport(800, 900))
	for _, path := range []string{"/tasks", "/tasks?state=triaged"} {
		b.open(t, path)
		if !eval[bool](t, b, `(() => { const n = document.querySelector("#states"), box = n.getBoundingClientRect(), tab = n.querySelector("[aria-current]").getBoundingClientRect(); return n.scrollWidth > n.clientWidth && tab.left >= box.left && tab.right <= box.right; })()`) {
			t.Errorf("%s: the current tab is scrolled away, or all are in sight", path)
		}
	}
}
