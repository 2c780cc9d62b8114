package web_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/web/webtest"
)

// A chart is one stop of the Tab key. Arrow keys go through its steps, which say their values; Shift marks several, which lead to their tasks.
func TestChartsAreReadWithTheKeyboard(t *testing.T) {
	t.Parallel()
	b := openTab(t, testkit.Browser(t), newSite(t, webtest.Rich(noon).Batch))
	b.open(t, "/statistics?range=24h")
	if n := eval[int](t, b, `document.querySelectorAll("#flow a.pt").length`); n != 24 {
		t.Errorf("the chart of a day has %d steps", n)
	}
	if n := eval[int](t, b, `document.querySelectorAll('#flow a.pt[tabindex="0"]').length`); n != 1 {
		t.Errorf("the chart is %d stops of the Tab key, want one", n)
	}
	says := func(step int) string {
		return fmt.Sprintf(`document.querySelector("#flow .readout").textContent === document.querySelectorAll("#flow a.pt")[%d].getAttribute("aria-label") && document.activeElement === document.querySelectorAll("#flow a.pt")[%[1]d]`, step)
	}
	b.run(t, `document.querySelector('#flow a.pt[tabindex="0"]').focus()`)
	b.until(t, says(23))
	b.press(t, kb.ArrowLeft)
	b.until(t, says(22))
	b.press(t, kb.Home)
	b.until(t, says(0))
	b.press(t, kb.End)
	b.press(t, kb.ArrowLeft, chromedp.KeyModifiers(8))
	b.press(t, kb.ArrowLeft, chromedp.KeyModifiers(8))
	b.until(t, `document.querySelector("#flow .marked-span span").textContent.match(/^3 steps marked: .+ to .+/) && document.querySelectorAll("#flow a.on").length === 3`)
	b.click(t, `#flow [data-brush="page"]`)
	b.until(t, `location.pathname === "/statistics" && !!document.querySelector("html[data-ready] #flow") && !document.querySelector(".btn-group [aria-current]") && document.querySelector("#span-from").value !== ""`)
	b.open(t, "/statistics?range=24h&agent=marketing")
	b.run(t, `document.querySelector('#run-0 a.pt[tabindex="0"]').focus()`)
	b.press(t, kb.ArrowLeft, chromedp.KeyModifiers(8))
	b.until(t, `!document.querySelector("#run-0 .marked-span").hidden`)
	b.click(t, `#run-0 [data-brush="tasks"]`)
	b.until(t, `location.pathname === "/tasks" && ["state", "type", "agent", "from", "to"].every((p) => new URLSearchParams(location.search).get(p))`)
}

// Dragging marks steps and is no click; a click leads to the tasks of a step.
func TestChartsAreMarkedWithThePointer(t *testing.T) {
	t.Parallel()
	b := openTab(t, testkit.Browser(t), newSite(t, webtest.Rich(noon).Batch))
	b.open(t, "/statistics?range=24h")
	b.run(t, `(() => {
  const steps = document.querySelectorAll("#queue a.pt");
  const at = (step) => { const r = step.getBoundingClientRect(); return { bubbles: true, cancelable: true, button: 0, clientX: r.x + r.width / 2, clientY: r.y + r.height / 2 }; };
  steps[4].scrollIntoView({ block: "center" });
  steps[4].dispatchEvent(new PointerEvent("pointerdown", at(steps[4])));
  steps[9].dispatchEvent(new PointerEvent("pointermove", at(steps[9])));
  steps[9].dispatchEvent(new PointerEvent("pointerup", at(steps[9])));
  steps[9].dispatchEvent(new MouseEvent("click", at(steps[9])));
})()`)
	b.until(t, `document.querySelectorAll("#queue a.on").length === 6 && location.pathname === "/statistics"`)
	if got := eval[string](t, b, `getComputedStyle(document.querySelector('#queue [data-brush="tasks"]')).textDecorationLine`); got != "none" {
		t.Errorf("a button below the chart is drawn as a link too: %s", got)
	}
	b.click(t, `#queue [data-brush="clear"]`)
	b.until(t, `document.querySelectorAll("#queue a.on").length === 0 && document.querySelector("#queue .marked-span").hidden`)
	step := `#queue a.pt:nth-of-type(20)`
	b.point(t, step)
	b.mouse(t, input.DispatchMouseEventTypeMousePressed, step)
	b.until(t, `document.activeElement === document.querySelector("`+step+`")`)
	if got := eval[string](t, b, `getComputedStyle(document.activeElement).outlineStyle`); got != "none" {
		t.Errorf("the pointer leaves a frame (%s) around a step, which is for the keyboard", got)
	}
	b.mouse(t, input.DispatchMouseEventTypeMouseReleased, step)
	b.until(t, `location.pathname === "/tasks" && new URLSearchParams(location.search).get("from") !== null`)
}

// What a step of the chart of published messages counts is what its list has, and a marked part leads to all of its tasks.
func TestStepsOfTheFlowLeadToExactlyTheTasksPublishedInThem(t *testing.T) {
	t.Parallel()
	story := webtest.NewStory(noon)
	for i := range 30 {
		ago := -time.Duration(5*i+1) * time.Minute
		m := story.Publish(fmt.Sprintf("tsk-%02d", i), "cto", "review", "Work", ago, "")
		story.Deliver(m, 1, ago+time.Second)
		story.Say(lifecycle.Acked, m, 1, -time.Second, lifecycle.Detail{}) // All of them ended just now.
	}
	s := newSite(t, story.Batch)
	s.get(t, "/statistics?range=1h", 200).Find("#flow a.pt").Each(func(i int, step *goquery.Selection) {
		_, says, found := strings.Cut(step.AttrOr("aria-label", ""), ": published ")
		if !found {
			return
		}
		listed := s.get(t, step.AttrOr("href", ""), 200).Find("#rows tr[data-id]").Length()
		if want, _, _ := strings.Cut(says, ","); fmt.Sprint(listed) != want {
			t.Errorf("step %d says that %s were published, its list has %d", i, want, listed)
		}
	})
	b := openTab(t, testkit.Browser(t), s)
	b.open(t, "/statistics?range=1h")
	b.run(t, `document.querySelectorAll("#flow a.pt")[30].focus()`)
	for range 11 {
		b.press(t, kb.ArrowRight, chromedp.KeyModifiers(chromedp.ModifierShift))
	}
	b.until(t, `document.querySelectorAll("#flow a.on").length === 12`)
	b.click(t, `#flow [data-brush="tasks"]`)
	b.until(t, `location.pathname === "/tasks" && `+ready)
	if got := eval[int](t, b, `document.querySelectorAll("#rows tr[data-id]").length`); got < 2 || got > 3 { // One every five minutes.
		t.Errorf("twelve minutes have %d tasks", got)
	}
	if got := eval[string](t, b, `document.querySelector("#chips").textContent`); !strings.Contains(got, "published") {
		t.Errorf("the list says %q was understood", got)
	}
}

// The charts and the map at the widths of a phone, a tablet and a screen, in both themes.
func TestChartsAndMapHaveNoAccessibilityViolation(t *testing.T) {
	t.Parallel()
	checker, err := os.ReadFile("testdata/axe-4.14.1.min.js")
	if err != nil {
		t.Fatal(err)
	}
	b := openTab(t, testkit.Browser(t), newSite(t, webtest.Rich(noon).Batch))
	b.still(t)
	for _, path := range []string{"/statistics?range=24h", "/map"} {
		b.open(t, path)
		b.do(t, "load the checker", chromedp.Evaluate[chromedp.Void](string(checker)))
		for _, width := range []int64{360, 768, 1440} {
			b.do(t, "resize", chromedp.EmulateViewport(width, 900))
			for _, theme := range themes {
				b.wear(t, theme)
				b.expect(t, fmt.Sprint(path, " ", theme, " ", width))
			}
			if over := eval[string](t, b, sideways); over != "" {
				t.Errorf("%s at %d px: wider than the window: %s", path, width, over)
			}
			if path == "/map" && width > 360 && eval[bool](t, b, `getComputedStyle(document.querySelector("#map .rate.from-0")).display === "none"`) != (width == 768) {
				t.Errorf("at %d px the rates of publishers' lines are there or not, against the room for them", width)
			}
		}
	}
}

// Without scripts every step is a link, and the table says what the chart does.
func TestChartsWorkWithoutScripts(t *testing.T) {
	t.Parallel()
	b := openTab(t, testkit.Browser(t), newSite(t, webtest.Rich(noon).Batch))
	if err := call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	b.do(t, "open", chromedp.Navigate(b.site.URL+"/statistics?range=1h"), chromedp.WaitReady(chromedp.CSS("#announce")))
	for _, selector := range []string{"#flow .readout", "#flow .marked-span"} {
		if b.visible(t, selector) {
			t.Errorf("%s is offered, although it needs a script", selector)
		}
	}
	doc := b.document(t)
	links := doc.Find("#flow a.pt")
	rows := doc.Find("#flow tbody tr")
	if links.Length() != 60 || rows.Length() != 60 {
		t.Fatalf("%d links, %d rows, want 60", links.Length(), rows.Length())
	}
	links.Each(func(i int, s *goquery.Selection) {
		row := rows.Eq(i)
		cells := row.Find("td")
		want := text(row.Find("th")) + ": published " + text(cells.Eq(0)) + ", completed " + text(cells.Eq(1))
		if cells.Length() == 1 {
			want = text(row.Find("th")) + ": " + text(cells)
		}
		if got := s.AttrOr("aria-label", ""); got != want || !strings.HasPrefix(s.AttrOr("href", ""), "/tasks?") {
			t.Errorf("step %d says %q and leads to %q; its row says %q", i, got, s.AttrOr("href", ""), want)
		}
	})
	b.do(t, "a step", chromedp.Click(chromedp.CSS("#flow a.pt:nth-of-type(55)")), chromedp.WaitReady(chromedp.CSS("#rows")))
}
