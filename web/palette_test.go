package web_test

import (
	"os"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"fleetglass/internal/testkit"
	"fleetglass/web/webtest"
)

const controlK = `document.dispatchEvent(new KeyboardEvent("keydown", {key: "k", ctrlKey: true, bubbles: true, cancelable: true}))`

// offered says whether the palette offers an option with a text.
func offered(text string) string {
	return `[...document.querySelectorAll("#palette .option")].some((o) => o.textContent.includes("` + text + `"))`
}

func TestThePaletteGoesAnywhereByKeyboard(t *testing.T) {
	t.Parallel()
	b := openTab(t, testkit.Browser(t), newSite(t, webtest.Rich(noon).Batch))
	b.open(t, "/tasks")
	if eval[bool](t, b, `performance.getEntriesByType("resource").some((r) => r.name.endsWith("palette.js"))`) {
		t.Error("the palette was loaded before anybody opened it")
	}
	b.run(t, controlK)
	b.until(t, `document.querySelector("#palette")?.open && document.activeElement.closest("#palette") && `+offered("Doctor"))
	b.do(t, "type an agent", chromedp.KeyEvent("marketing"))
	b.until(t, offered("marketing")+` && !`+offered("Doctor"))
	checker, err := os.ReadFile("testdata/axe-4.14.1.min.js")
	if err != nil {
		t.Fatal(err)
	}
	b.do(t, "load the checker", chromedp.Evaluate[chromedp.Void](string(checker)))
	b.expect(t, "the palette")
	b.press(t, kb.ArrowDown)
	b.until(t, `document.querySelectorAll("#palette [aria-selected=true]").length === 1 && document.activeElement.getAttribute("aria-activedescendant") === document.querySelector("#palette [aria-selected=true]").id && document.querySelector("#palette [aria-selected=true]").id === "palette-1"`)
	b.press(t, kb.ArrowUp)
	b.enter(t)
	b.until(t, `location.pathname === "/agents/marketing" && `+ready)
	b.run(t, controlK)
	b.until(t, `document.querySelector("#palette")?.open`)
	b.do(t, "type an id", chromedp.KeyEvent("tsk-7f3a91"))
	b.until(t, offered("Write blog post on retry semantics"))
	b.press(t, kb.Escape)
	b.until(t, `!document.querySelector("#palette").open && location.pathname === "/agents/marketing"`)
	b.run(t, controlK)
	b.until(t, `document.querySelector("#palette").open`)
	b.do(t, "type an action", chromedp.KeyEvent("theme"))
	b.until(t, `document.querySelector("#palette-0")?.textContent.startsWith("Switch theme ")`) // Its note is another word.
	b.enter(t)
	b.until(t, `"theme" in document.documentElement.dataset && !document.querySelector("#palette").open`)
	b.run(t, controlK)
	b.until(t, `document.querySelector("#palette").open && `+offered("Doctor"))
	b.do(t, "type faster than the server answers", chromedp.KeyEvent("legal"))
	b.enter(t)
	b.until(t, `location.pathname === "/agents/legal" && `+ready)
}

func TestTheSearchPageDoesThePalettesWorkWithoutScripts(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	for path, want := range map[string]wants{
		"/search":                   {"#found section": "=1", "#found a[href='/doctor']": "Doctor"},
		"/search?q=zzz-nothing":     {"#found section": "=1", "#found li": "none matches"},
		"/search?q=marketing":       {"#found a[href='/agents/marketing']": "marketing", "#found section[aria-label=Tasks] li:last-child": "All tasks with “marketing”"},
		"/search?q=TASKS%3A48601":   {"#found a[href='/tasks/tsk-7f3a91']": "Write blog post"},
		"/search?q=stat%3Afailed":   {"#problem": "did you mean state?"},
		"/search?q=cto":             {"#found section:first-of-type a": "cto", "#found section[aria-label=Pages] a": "Doctor"},
		"/search?q=dead+letter":     {"#found section[aria-label=Pages] li:first-child a": "DLQ", "#found section[aria-label=Pages] a[href='/dlq/stats']": "DLQ statistics"},
		"/search?q=restart":         {"#found a[href='/restarts']": "Restarts"},
		"/search?q=alerts":          {"#found a[href='/alerts']": "Alerts"},
		"/tasks?q=-state:completed": {`.nav a[href="/search"]`: "Search", "#keys dl": "Search everything"},
	} {
		want.check(t, s.get(t, path, 200))
	}
}

func TestAMistakeInThePaletteIsReadInFull(t *testing.T) {
	t.Parallel()
	b := openTab(t, testkit.Browser(t), newSite(t, webtest.Rich(noon).Batch))
	b.open(t, "/in-flight")
	b.run(t, controlK)
	b.until(t, `document.querySelector("#palette")?.open`)
	b.do(t, "type", chromedp.KeyEvent("state:sleeping"))
	b.until(t, `document.querySelector("#palette .problem")?.textContent.includes("outcome_unknown")`)
	if !eval[bool](t, b, `(() => { const p = document.querySelector("#palette .problem"); return p.scrollWidth <= p.clientWidth && p.closest("[role=listbox]").scrollWidth <= p.closest("[role=listbox]").clientWidth; })()`) {
		t.Error("what is wrong with the text is cut off")
	}
}
