package web_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"fleetglass/access"
	"fleetglass/internal/testkit"
)

func TestDeadLettersInABrowser(t *testing.T) {
	t.Parallel()
	browser := testkit.Browser(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, context.Context)
	}{
		{"rows are selected, judged, acted on, watched and opened again", triageMany},
		{"the keyboard selects and never acts", selectByKeys},
		{"an edit shows what it changes, and whether it fits", editAndRetry},
		{"all of it without scripts", triageWithoutScripts},
		{"who may only read is offered nothing", offerNothing},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, browser) })
	}
}

func triageMany(t *testing.T, browser context.Context) {
	s, work := newOperating(t)
	work()
	b := openTab(t, browser, s)
	b.open(t, "/dlq?status=open")
	if b.visible(t, "#selbar") {
		t.Error("the bar shows while nothing is selected")
	}
	open := eval[int](t, b, `document.querySelectorAll("#rows tr").length`)
	b.click(t, "#rows tr:nth-child(2) input")
	b.run(t, `document.querySelector("#rows tr:nth-child(4) input").dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true, shiftKey: true}))`)
	b.until(t, `document.querySelector("#selected").textContent === "3 selected"`)
	b.click(t, "#matching")
	b.until(t, fmt.Sprintf(`document.querySelector("#selected").textContent === "All %d matching selected" && document.querySelectorAll("#rows input:checked").length === %d`, open, open))
	b.click(t, "#rows tr:nth-child(1) input")
	b.until(t, fmt.Sprintf(`document.querySelector("#selected").textContent === "%d selected" && !document.querySelector("#matching").checked`, open-1))
	b.click(t, "#matching")
	b.run(t, `document.querySelector("#bulk-action").value = "discard"`)
	b.click(t, "#selbar button[type=submit]")
	b.until(t, fmt.Sprintf(`location.pathname === "/operations/new" && document.querySelector("h1").textContent === "Discard %d dead letters" && `+ready, open))

	b.run(t, `document.querySelector("#bulk-kind").value = "quarantine"`)
	b.click(t, "#bulk button[formmethod=get]")
	b.until(t, fmt.Sprintf(`document.querySelector("#run")?.textContent.trim() === "Quarantine %d eligible" && `+ready, open))
	b.do(t, "say why and how fast", chromedp.SendKeys(chromedp.CSS("#bulk textarea[name=reason]"), "an outage"), chromedp.SetValue(chromedp.CSS("#bulk-rate"), "2"), chromedp.Click(chromedp.CSS("#run")))
	b.until(t, `location.pathname.startsWith("/operations/op-") && `+ready)
	b.watch(t, s, open)
	b.until(t, fmt.Sprintf(`document.querySelector("#undo")?.textContent.trim() === "Undo: open %d again" && document.querySelectorAll("#rows tr").length === %d`, open, open))

	b.click(t, "#undo")
	b.until(t, fmt.Sprintf(`document.querySelector("h1").textContent === "Reopen %d dead letters" && `+ready, open))
	b.do(t, "undo", chromedp.SendKeys(chromedp.CSS("#bulk textarea[name=reason]"), "a mistake"), chromedp.Evaluate[chromedp.Void](`document.querySelector("#bulk-rate").value = ""`), chromedp.Click(chromedp.CSS("#run")))
	b.until(t, fmt.Sprintf(`document.querySelector("#summary")?.textContent.includes("%d done") && `+ready, open))
	b.open(t, "/dlq?status=open")
	b.until(t, fmt.Sprintf(`document.querySelectorAll("#rows tr").length === %d`, open))
}

// watch waits until an operation has ended, and wants to have seen it between its begin and its end: the open page must follow by itself. How often it does is the
// machine's affair.
func (b *tab) watch(t *testing.T, s *site, all int) {
	t.Helper()
	seen := map[int]bool{}
	testkit.Eventually(t, 30*time.Second, func() error {
		s.clock.Advance(200 * time.Millisecond)
		done, err := chromedp.Run(b.ctx, chromedp.Evaluate[int](`document.querySelector(".progress").value`))
		seen[done] = true
		if err == nil && done < all {
			err = fmt.Errorf("%d of %d", done, all)
		}
		return err
	})
	if len(seen) < 3 {
		t.Errorf("the page showed only %v on the way", seen)
	}
}

func selectByKeys(t *testing.T, browser context.Context) {
	s, _ := newOperating(t)
	b := openTab(t, browser, s)
	b.open(t, "/dlq?status=all")
	b.press(t, "jx")
	b.until(t, `document.querySelector("#selected").textContent === "1 selected"`)
	b.press(t, "jj")
	b.press(t, "X", chromedp.KeyModifiers(chromedp.ModifierShift))
	b.until(t, `document.querySelector("#selected").textContent === "3 selected" && !!document.activeElement.closest("tr")`)
	for key := 'a'; key <= 'z'; key++ {
		if strings.ContainsRune("gjkrtx", key) { // They go, select, pause, or change the theme.
			continue
		}
		b.press(t, string(key))
	}
	b.press(t, kb.Delete+kb.Backspace)
	if at := eval[string](t, b, `location.pathname`); at != "/dlq" {
		t.Errorf("a key led to %s", at)
	}
	b.press(t, kb.Escape)
	b.until(t, `document.querySelector("#selbar").dataset.count === "0" && !document.querySelector("#matching").checked`)
	wants{".empty": "No operation yet"}.check(t, s.get(t, "/operations", 200))
}

func editAndRetry(t *testing.T, browser context.Context) {
	s, _ := newOperating(t)
	b := openTab(t, browser, s)
	entry := s.deadEntry(t)
	b.open(t, entry)
	b.click(t, "#act-edit summary")
	b.until(t, `document.querySelector("#act-edit").open && document.querySelector("#act-edit .preflight").textContent.includes("tokens")`)
	b.run(t, `document.querySelector("#act-edit-payload").value = document.querySelector("#act-edit-payload").value.replace('"priority":"normal"', '"priority":"high"')`)
	b.do(t, "type", chromedp.SendKeys(chromedp.CSS("#act-edit-headers"), "X-Team: blue"), chromedp.SendKeys(chromedp.CSS("#act-edit-reason"), "it is urgent"), chromedp.Click(chromedp.CSS("#act-edit button[type=submit]")))
	const cells = `(kind) => [...document.querySelectorAll("#diff td." + kind)].map((c) => c.innerText.trim()).join("\n")`
	b.until(t, `!!document.querySelector("#diff") && `+ready)
	gone, come := eval[string](t, b, `(`+cells+`)("del")`), eval[string](t, b, `(`+cells+`)("add")`)
	for text, in := range map[string]string{`"priority": "normal"`: gone, `"priority": "high"`: come, "X-Team: blue": come, "X-Retry-Generation: 1": come, `"version": 2`: come} {
		if !strings.Contains(in, text) {
			t.Errorf("%q is not in the difference:\n%s\n%s", text, gone, come)
		}
	}
	if locked := eval[string](t, b, `(`+cells+`)("lock")`); !strings.Contains(locked, "X-Task-ID") {
		t.Errorf("locked: %q", locked)
	}
	b.until(t, `document.querySelector("#preflight .badge").textContent === "ok"`)
	b.click(t, "#do button")
	b.until(t, `location.pathname === "`+entry+`" && document.querySelector("#history tbody th")?.textContent === "Retry" && `+ready)
}

func triageWithoutScripts(t *testing.T, browser context.Context) {
	s, work := newOperating(t)
	work()
	b := openTab(t, browser, s)
	if err := call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	b.do(t, "open", chromedp.Navigate(s.URL+"/dlq?status=open"), chromedp.WaitReady(chromedp.CSS("#selbar")))
	if !b.visible(t, "#selbar") || b.visible(t, "#copy-ids") {
		t.Error("the bar must show without scripts, and not what needs one")
	}
	b.do(t, "tick and judge", chromedp.Click(chromedp.CSS("#rows tr:nth-child(1) input")), chromedp.Click(chromedp.CSS("#rows tr:nth-child(3) input")),
		chromedp.SetAttributeValue(chromedp.CSS(`#bulk-action option[value="defer"]`), "selected", ""), chromedp.Click(chromedp.CSS("#selbar button[type=submit]")), chromedp.WaitReady(chromedp.CSS("#run")))
	wants{"h1": "Defer 2 dead letters"}.check(t, b.document(t))
	b.do(t, "run", chromedp.SendKeys(chromedp.CSS("#bulk textarea[name=reason]"), "tomorrow is another day"), chromedp.Click(chromedp.CSS("#run")), chromedp.WaitReady(chromedp.CSS("#progress")))
	path := eval[string](t, b, `location.pathname`)
	s.ended(t, path)
	b.do(t, "look again", chromedp.Navigate(s.URL+path), chromedp.WaitReady(chromedp.CSS("#undo")))
	wants{"#summary": "2 of 2: 2 done, 0 blocked"}.check(t, b.document(t))
	b.do(t, "undo", chromedp.Click(chromedp.CSS("#undo")), chromedp.WaitReady(chromedp.CSS("#run")))
	wants{"h1": "Reopen 2 dead letters"}.check(t, b.document(t))
}

func offerNothing(t *testing.T, browser context.Context) {
	s, _ := newOperating(t, func(c *setup) { c.Access = access.Authorizer{ReadOnly: true} })
	b := openTab(t, browser, s)
	b.open(t, "/dlq?status=all")
	b.click(t, "#rows tr:nth-child(1) input")
	b.until(t, `document.querySelector("#selected").textContent === "1 selected" && document.querySelector("#bulk-off").textContent.includes("read-only") && !document.querySelector("#selbar button[type=submit]")`)
	b.open(t, s.deadEntry(t))
	b.until(t, `document.querySelector("#actions-off").textContent.includes("read-only") && !document.querySelector("#actions form")`)
	b.open(t, "/operations/new?select=all&filter=&action=retry")
	const colour = `(s) => getComputedStyle(document.querySelector(s)).color`
	if !eval[bool](t, b, `((c) => c("#bulk button[formmethod]") === c("#run") && c("#bulk textarea") === c("#run"))(`+colour+`)`) {
		t.Error("a button or field that does nothing looks as if it did")
	}
}

func TestThePagesOfOperationsAreAccessible(t *testing.T) {
	t.Parallel()
	checker, err := os.ReadFile("testdata/axe-4.14.1.min.js")
	if err != nil {
		t.Fatal(err)
	}
	s, work := newOperating(t)
	work()
	ended := s.run(t, "/operations/new?select=all&action=quarantine", map[string]string{"reason": "look at them", "rate": ""})
	s.ended(t, ended)
	s.run(t, "/operations/new?select=all&action=reopen&filter=category%3Dtransient", map[string]string{"reason": "not these", "rate": ""})
	entry := s.deadEntry(t)
	pages := []string{"/dlq", "/dlq?entry=" + strings.TrimPrefix(entry, "/dlq/"), "/dlq/stats", entry, "/operations", ended, "/operations/new?select=all&action=retry", "/operations/new?select=all&action=discard", "/operations/new?of=" + strings.TrimPrefix(ended, "/operations/") + "&action=reopen"}
	b := openTab(t, testkit.Browser(t), s)
	b.still(t)
	for _, path := range pages {
		b.open(t, path)
		b.run(t, `for (const d of document.querySelectorAll("details")) { d.removeAttribute("name"); d.open = !d.matches(".menu"); } for (const r of [...document.querySelectorAll("#rows input")].slice(0, 2)) r.click();`)
		b.do(t, "load the checker", chromedp.Evaluate[chromedp.Void](string(checker)))
		for _, theme := range themes {
			b.wear(t, theme)
			b.expect(t, theme+" "+path)
		}
		for _, width := range []int64{360, 768, 1024, 1440} {
			b.do(t, "resize", chromedp.EmulateViewport(width, 900))
			if over := eval[string](t, b, sideways); over != "" {
				t.Errorf("%s at %d px: wider than the window: %s", path, width, over)
			}
		}
	}
}
