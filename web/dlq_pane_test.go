package web_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/web/webtest"
)

func TestAnEntryOpensBesideTheList(t *testing.T) {
	t.Parallel()
	browser := testkit.Browser(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, context.Context)
	}{
		{"by keys, with the way back", openBesideByKeys},
		{"by a click, and the row stays where it was", openBesideByClick},
		{"while the fleet goes on, and nothing moves", besideWhileLive},
		{"an action leads back to the list", actBeside},
		{"what is typed is kept", typeBeside},
		{"only where the page is wide", aloneWhereNarrow},
		{"without scripts by its address", besideWithoutScripts},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, browser) })
	}
}

// beside is true while an entry is open beside the list: the address, its row and the pane say the same.
func beside(id string) string {
	return fmt.Sprintf(`new URL(location.href).searchParams.get("entry") === %[1]q && document.querySelector("#entry")?.dataset.id === %[1]q &&
		[...document.querySelectorAll("#rows tr.on, #rows tr:has([aria-current])")].map((r) => r.dataset.id).join() === %[1]q && document.querySelector("[data-copy-link]").href.includes(%[2]q)`, id, url.QueryEscape(id))
}

const (
	alone     = `location.search.indexOf("entry=") < 0 && !document.querySelector("#entry") && !document.querySelector("#rows tr.on")`
	inTheRow  = `document.activeElement.closest("#rows tr")?.dataset.id`
	rowsShown = `[...document.querySelectorAll("#rows tr")].map((r) => r.dataset.id).join()`
)

// wide opens a list in a window of 1,440 px, and returns the ids of its rows.
func (b *tab) wide(t *testing.T, path string) []string {
	t.Helper()
	b.do(t, "resize", chromedp.EmulateViewport(1440, 900))
	b.open(t, path)
	return strings.Split(eval[string](t, b, rowsShown), ",")
}

func openBesideByKeys(t *testing.T, browser context.Context) {
	s, _ := newOperating(t)
	b := openTab(t, browser, s)
	ids := b.wide(t, "/dlq?status=open")
	b.press(t, "j")
	b.enter(t)
	b.until(t, beside(ids[0])+` && location.search.includes("status=open") && `+inTheRow+` === "`+ids[0]+`"`)
	b.press(t, "jj")
	b.enter(t)
	b.until(t, beside(ids[2])+` && document.querySelector("#announce").textContent.includes("beside the list")`)
	b.back(t)
	b.until(t, beside(ids[0]))
	b.run(t, `history.forward()`)
	b.until(t, beside(ids[2]))
	b.enter(t)
	b.until(t, `document.activeElement.id === "entry-h"`)
	b.press(t, kb.Escape)
	b.until(t, alone+` && `+inTheRow+` === "`+ids[2]+`"`)
	b.back(t)
	b.until(t, beside(ids[2]))
	b.open(t, "/dlq?status=open&entry="+url.QueryEscape(ids[1]))
	b.until(t, beside(ids[1]))
	b.press(t, "j")
	b.enter(t)
	b.until(t, beside(ids[2]))
}

func openBesideByClick(t *testing.T, browser context.Context) {
	s, _ := newOperating(t)
	b := openTab(t, browser, s)
	ids := b.wide(t, "/dlq?status=all")
	const top = `Math.round(document.querySelector("#rows tr:nth-child(6)").getBoundingClientRect().top)`
	b.run(t, `document.querySelector("#rows tr:nth-child(6)").scrollIntoView({block: "center"})`)
	before := eval[int](t, b, top)
	b.click(t, "#rows tr:nth-child(6) a.title")
	b.until(t, beside(ids[5]))
	if after := eval[int](t, b, top); after < before-1 || after > before+1 {
		t.Errorf("the row was at %d px and is at %d px", before, after)
	}
	if !eval[bool](t, b, `(() => { const l = document.querySelector("#rows").getBoundingClientRect(), e = document.querySelector("#entry").getBoundingClientRect(); return e.left > l.right && e.width > 480 && e.right <= innerWidth; })()`) {
		t.Error("the entry does not stand at the right of the list")
	}
	b.click(t, "#entry [data-close]")
	b.until(t, alone)
	b.do(t, "open in its own page", chromedp.Evaluate[chromedp.Void](`document.querySelector("#rows a.title").dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true, ctrlKey: true}))`))
	if !eval[bool](t, b, alone) {
		t.Error("a click with Ctrl opens the pane")
	}
}

func besideWhileLive(t *testing.T, browser context.Context) {
	s, _ := newOperating(t)
	b := openTab(t, browser, s)
	ids := b.wide(t, "/dlq?status=all")
	b.until(t, `document.body.dataset.stream === "open"`)
	b.click(t, "#rows tr:nth-child(2) a.title")
	b.until(t, beside(ids[1]))
	s.take(t, "/dlq/"+ids[1], "quarantine", map[string]string{"reason": "look at it"})
	s.clock.Advance(2 * time.Second)
	s.append(t, death(s, "tsk-late"))
	b.until(t, `document.querySelector("#entry-state .state").textContent.trim() === "quarantined" && document.querySelector("#history").textContent.includes("look at it") && document.querySelector("#fresh").textContent.trim() === "1 new: show"`)
	if now := eval[string](t, b, rowsShown); now != strings.Join(ids, ",") {
		t.Errorf("rows moved:\n%v\n%s", ids, now)
	}
	b.click(t, "#fresh")
	b.until(t, beside(ids[1])+` && document.querySelectorAll("#rows tr").length > `+fmt.Sprint(len(ids)))
}

// death is a batch in which a message is given up.
func death(s *site, task string) lifecycle.Batch {
	story := webtest.NewStory(s.clock.Now()).From(1_000_000)
	m := story.Publish(task, "cto", "review", "Just died", -20*time.Second, "")
	story.Deliver(m, 1, -10*time.Second)
	story.Say(lifecycle.Terminated, m, 1, -time.Second, lifecycle.Detail{})
	return story.Batch
}

func actBeside(t *testing.T, browser context.Context) {
	s, _ := newOperating(t)
	b := openTab(t, browser, s)
	ids := b.wide(t, "/dlq?detail=llm_provider_timeout")
	preview := func() {
		b.click(t, "#act-quarantine summary")
		b.until(t, `document.querySelector("#act-quarantine").open`)
		b.do(t, "say why", chromedp.SendKeys(chromedp.CSS("#act-quarantine textarea"), "look at it"), chromedp.Click(chromedp.CSS("#act-quarantine button[type=submit]")))
		b.until(t, `!!document.querySelector("#do") && `+ready)
	}
	b.click(t, "#rows a.title")
	b.until(t, beside(ids[0]))
	preview()
	b.click(t, "#change .push")
	b.until(t, beside(ids[0])+` && location.search.includes("detail=llm_provider_timeout") && document.querySelector("#act-quarantine").open && document.querySelector("#act-quarantine textarea").value === "look at it" && `+ready)
	b.click(t, "#act-quarantine button[type=submit]")
	b.until(t, `!!document.querySelector("#do") && `+ready)
	b.click(t, "#do button")
	b.until(t, beside(ids[0])+` && location.search.includes("detail=llm_provider_timeout") && document.querySelector("#history tbody th")?.textContent === "Quarantine" && `+ready)
	if kept := eval[string](t, b, drafted); kept != "" {
		t.Errorf("of what was done a draft is kept: %s", kept)
	}
}

// drafted are the forms of which a draft is kept.
const drafted = `Object.keys(sessionStorage).filter((k) => k.startsWith("fleetglass.draft ")).join()`

func typeBeside(t *testing.T, browser context.Context) {
	s, _ := newOperating(t)
	b := openTab(t, browser, s)
	ids := b.wide(t, "/dlq?status=all")
	b.until(t, `document.body.dataset.stream === "open"`)
	b.click(t, "#rows a.title")
	b.until(t, beside(ids[0]))
	b.click(t, "#act-discard summary")
	b.do(t, "type", chromedp.SendKeys(chromedp.CSS("#act-discard textarea"), "jjj"))
	s.take(t, "/dlq/"+ids[0], "quarantine", map[string]string{"reason": "look at it"})
	s.clock.Advance(2 * time.Second)
	s.append(t, newTask(s, "tsk-new"))
	b.until(t, `document.querySelector("#entry-state .state").textContent.trim() === "quarantined"`)
	b.press(t, kb.Escape)
	b.until(t, `document.querySelector("#act-discard textarea").value === "jjj" && document.activeElement === document.body && `+beside(ids[0]))
	b.press(t, kb.Escape)
	b.until(t, alone)
	b.click(t, "#rows tr:nth-child(2) a.title")
	b.until(t, beside(ids[1])+` && document.querySelector("#act-discard textarea").value === ""`)
	b.click(t, "#act-defer summary")
	b.do(t, "type", chromedp.Click(chromedp.CSS("#act-defer input[value=human]")), chromedp.SendKeys(chromedp.CSS("#act-defer textarea"), "ask ann"))
	b.click(t, "#rows tr:nth-child(3) a.title")
	b.until(t, beside(ids[2])+` && document.querySelector("#act-defer textarea").value === "" && !document.querySelector("#act-defer").open`)
	b.click(t, "#rows tr:nth-child(2) a.title")
	const asTyped = `document.querySelector("#act-defer").open && document.querySelector("#act-defer input[value=human]").checked && document.querySelector("#act-defer textarea").value === "ask ann" && document.querySelector("#toast").textContent.includes("still here")`
	b.until(t, beside(ids[1])+` && `+asTyped)
	b.open(t, "/dlq/"+ids[1])
	b.until(t, asTyped)
	b.run(t, `(() => { const text = document.querySelector("#act-defer textarea"); text.value = ""; text.dispatchEvent(new Event("input", {bubbles: true})); })()`)
	b.click(t, "#act-defer input[value='1h']")
	b.until(t, `!`+drafted+`.includes("defer")`) // The form is as it was.
}

// A message that the address names and that is not there leaves the list as it is.
func TestAnUnknownEntryLeavesTheList(t *testing.T) {
	t.Parallel()
	s, _ := newOperating(t)
	for _, id := range []string{"TASKS:1", "no such entry", "<b>"} {
		page := s.get(t, "/dlq?status=open&entry="+url.QueryEscape(id), 404)
		wants{"#rows tr": "", "#entry-h": "No such dead letter", "#entry p": id, `#entry [data-close][href="/dlq?status=open"]`: "", "#states a[aria-current]": "Open", "#rows tr.on": "=0"}.check(t, page)
	}
	b := openTab(t, testkit.Browser(t), s)
	b.do(t, "resize", chromedp.EmulateViewport(360, 900))
	b.open(t, "/dlq?entry=TASKS%3A1")
	if !b.visible(t, "#entry") || !b.visible(t, "#rows") {
		t.Error("on a phone list and message do not both show")
	}
	ids := b.wide(t, "/dlq?entry=TASKS%3A1")
	b.click(t, "#rows tr:nth-child(2) a.title")
	b.until(t, beside(ids[1]))
	b.back(t)
	b.until(t, `document.querySelector("#entry.absent") !== null`)
	b.press(t, kb.Escape)
	b.until(t, alone)
}

func aloneWhereNarrow(t *testing.T, browser context.Context) {
	s, _ := newOperating(t)
	b := openTab(t, browser, s)
	ids := b.wide(t, "/dlq?status=all")
	for _, width := range []int64{1024, 768, 360} {
		b.do(t, "resize", chromedp.EmulateViewport(width, 900))
		b.open(t, "/dlq?status=all")
		b.click(t, "#rows a.title")
		b.until(t, `location.pathname === "/dlq/`+ids[0]+`" && !document.querySelector("#entry") && `+ready)
		b.back(t)
		b.until(t, `location.pathname === "/dlq" && location.search === "?status=all" && `+ready)
		b.open(t, "/dlq?entry="+url.QueryEscape(ids[0]))
		if !b.visible(t, "#entry") || b.visible(t, "#rows") || b.visible(t, "#groups") {
			t.Errorf("at %d px the list does not make room for the entry", width)
		}
		if over := eval[string](t, b, sideways); over != "" {
			t.Errorf("at %d px: wider than the window: %s", width, over)
		}
		b.click(t, "#entry [data-close]")
		b.until(t, alone)
		if !b.visible(t, "#rows") {
			t.Errorf("at %d px there is no way back to the list", width)
		}
	}
}

func besideWithoutScripts(t *testing.T, browser context.Context) {
	s, _ := newOperating(t)
	b := openTab(t, browser, s)
	id := strings.TrimPrefix(s.deadEntry(t), "/dlq/")
	if err := call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	b.do(t, "open", chromedp.EmulateViewport(1440, 900), chromedp.Navigate(s.URL+"/dlq?status=open&entry="+url.QueryEscape(id)), chromedp.WaitReady(chromedp.CSS("#entry")))
	if !b.visible(t, "#rows") || !b.visible(t, "#entry") {
		t.Error("list and entry do not both show")
	}
	b.do(t, "close", chromedp.Click(chromedp.CSS("#entry [data-close]")), chromedp.WaitNotPresent(chromedp.CSS("#entry")), chromedp.WaitReady(chromedp.CSS("#rows")))
	if at := eval[string](t, b, `location.pathname + location.search`); at != "/dlq?status=open" {
		t.Errorf("closing leads to %s", at)
	}
	b.do(t, "open a row", chromedp.Click(chromedp.CSS("#rows a.title")), chromedp.WaitReady(chromedp.CSS("#plan")))
	if at := eval[string](t, b, `location.pathname`); !strings.HasPrefix(at, "/dlq/") {
		t.Errorf("the row leads to %s", at)
	}
}

func TestTheAddressOfAListNamesTheEntryBesideIt(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, acting)
	entry := s.deadEntry(t)
	id := url.QueryEscape(strings.TrimPrefix(entry, "/dlq/"))
	own, list := s.get(t, entry, 200), s.get(t, "/dlq?detail=llm_provider_timeout&entry="+id, 200)
	for _, part := range []string{"#why", "#plan", "#history", "#timeline"} {
		if a, b := text(own.Find(part)), text(list.Find("#entry "+part)); a != b {
			t.Errorf("%s is %q on its own page and %q beside the list", part, a, b)
		}
	}
	wants{
		"#entry-h": text(own.Find("h1")), "#rows tr.on a.title[aria-current='true'][href='" + entry + "']": "", `#entry [data-close][href="/dlq?detail=llm_provider_timeout"]`: "",
		`#entry a[href="` + entry + `"]`: "Own page", `[data-copy-link][href*="entry=` + id + `"]`: "", `#act-retry input[name=list][value*="detail=llm_provider_timeout"]`: "",
	}.check(t, list)
	wants{"input[name=list]": "=0", "#entry": "=0"}.check(t, own)
	for list, want := range map[string]string{"entry=x&status=open": "/dlq?entry=" + id + "&status=open", "": entry, "%zz": entry, "//evil.example": "/dlq?entry=" + id} {
		_, preview := s.send(t, entry, s.typed(t, entry, "defer", map[string]string{"reason": "wait for it", "list": list}))
		if got := preview.Find("#change .push").AttrOr("href", ""); got != want {
			t.Errorf("from %q the way back is %q, want %q", list, got, want)
		}
	}
}
