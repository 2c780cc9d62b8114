package web_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/web/webtest"
)

func TestTimelineInABrowser(t *testing.T) {
	t.Parallel()
	browser := testkit.Browser(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, context.Context)
	}{
		{"keys and buttons zoom and move", zoomByKeys},
		{"the wheel zooms at the pointer with Ctrl, and moves with Shift", zoomByWheel},
		{"the brush on the map chooses what shows", zoomByBrush},
		{"what is stretched stays so when the page changes", zoomStays},
		{"scripts draw what the server drew", samePicture},
		{"marks never cover each other, however far one zooms", marksApart},
		{"the reason of an end shows whole in focus", reasonInFocus},
		{"lanes on a narrow screen scroll, and say so", narrowLanes},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, browser) })
	}
}

const (
	lanesReady  = `"lanes" in document.body.dataset`
	lanesWidth  = `document.querySelector(".lane-canvas").clientWidth`
	lanesScroll = `document.querySelector(".lane-scroll").scrollLeft`
)

// crowded is the rich fleet with a task whose worker told of thirty steps within a second.
func crowded() lifecycle.Batch {
	story := webtest.Rich(noon)
	m := story.Publish("tsk-crowded", "cto", "code_review", "Many steps", -10*time.Minute, "")
	story.Deliver(m, 1, -9*time.Minute)
	for i := range 30 {
		story.Report(lifecycle.ReportStepIntent, m, 1, -5*time.Minute+time.Duration(i)*30*time.Millisecond, lifecycle.Detail{StepReport: lifecycle.StepReport{StepID: fmt.Sprint(i), Tool: "search"}})
	}
	story.Say(lifecycle.Terminated, m, 1, -5*time.Minute+time.Second, lifecycle.Detail{Ending: lifecycle.Ending{Reason: "the index is read-only"}})
	return story.Batch
}

func openLanes(t *testing.T, browser context.Context, path string) *tab {
	t.Helper()
	b := openTab(t, browser, newSite(t, crowded()))
	b.open(t, path)
	b.until(t, lanesReady)
	return b
}

func zoomByKeys(t *testing.T, browser context.Context) {
	b := openLanes(t, browser, "/tasks/tsk-7f3a91")
	width := eval[float64](t, b, lanesWidth)
	b.press(t, "++") // Nothing has the focus.
	b.until(t, fmt.Sprintf(`%s > %f && %s > 0`, lanesWidth, 2*width, lanesScroll))
	if got := eval[string](t, b, `document.querySelector(".axis-row").textContent`); got != "8m 27s of 21m 08s" { // How much of the whole shows.
		t.Errorf("zoomed, the axis says %q", got)
	}
	wide := eval[float64](t, b, lanesWidth)
	b.press(t, "/+")
	b.until(t, fmt.Sprintf(`document.querySelector("#q").value.endsWith("+") && %s === %f`, lanesWidth, wide)) // It was written.
	b.run(t, `document.querySelector(".lane-scroll").focus()`)
	b.until(t, `document.querySelector("#announce").textContent.includes(" to ")`)
	b.press(t, "-")
	b.until(t, fmt.Sprintf(`%s < %f`, lanesWidth, 2*width))
	b.press(t, "++++++++++++++++")
	b.until(t, `[...document.querySelectorAll(".axis-ticks text:not(.day)")].some((t) => /^\d\d:\d\d:\d\d\.\d{3}$/.test(t.textContent))`)
	at := eval[float64](t, b, lanesScroll)
	b.press(t, kb.ArrowRight)
	b.until(t, fmt.Sprintf(`%s > %f`, lanesScroll, at))
	b.press(t, kb.ArrowLeft+kb.ArrowLeft)
	b.until(t, fmt.Sprintf(`%s < %f`, lanesScroll, at))
	b.press(t, "0")
	b.until(t, fmt.Sprintf(`%s === %f && %s === 0 && document.querySelector(".axis-row").textContent === "21m 08s"`, lanesWidth, width, lanesScroll))
	b.click(t, `[data-zoom="in"]`)
	b.until(t, fmt.Sprintf(`%s > %f`, lanesWidth, 1.5*width))
	b.click(t, `[data-zoom="all"]`)
	b.until(t, fmt.Sprintf(`%s === %f`, lanesWidth, width))
}

// wheel turns the wheel over the middle of the lanes, with keys held.
func (b *tab) wheel(t *testing.T, modifiers int64, dy float64) {
	t.Helper()
	at := eval[[]float64](t, b, `(() => { const r = document.querySelector(".lane-scroll").getBoundingClientRect(); return [r.x + r.width / 3, r.y + 90]; })()`)
	if err := call(b, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved, X: at[0], Y: at[1]}); err != nil {
		t.Fatal(err)
	}
	if err := call(b, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseWheel, X: at[0], Y: at[1], DeltaX: 1e-6, DeltaY: dy, Modifiers: modifiers}); err != nil {
		t.Fatal(err)
	}
	if err := call(b, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved, X: at[0] + 0.1, Y: at[1]}); err != nil {
		t.Fatal(err)
	}
}

func zoomByWheel(t *testing.T, browser context.Context) {
	const ctrl, shift = 2, 8
	b := openLanes(t, browser, "/tasks/tsk-7f3a91")
	b.run(t, `document.querySelector(".lane-scroll").scrollIntoView({block: "center"})`)
	width := eval[float64](t, b, lanesWidth)
	const clock = `document.querySelector(".cross span").textContent.slice(0, 8)`
	b.wheel(t, ctrl, -200)
	b.until(t, fmt.Sprintf(`%s > %f && /^\d\d:\d\d:\d\d$/.test(%s)`, lanesWidth, 1.9*width, clock))
	before := eval[string](t, b, clock)
	b.wheel(t, ctrl, -200)
	b.until(t, fmt.Sprintf(`%s > %f`, lanesWidth, 3.8*width))
	if after := eval[string](t, b, clock); after[:5] != before[:5] {
		t.Errorf("the instant under the pointer went from %s to %s", before, after)
	}
	at := eval[float64](t, b, lanesScroll)
	b.wheel(t, shift, 150)
	b.until(t, fmt.Sprintf(`%s > %f`, lanesScroll, at))
	wide := eval[float64](t, b, lanesWidth)
	if eval[bool](t, b, `(() => { const e = new WheelEvent("wheel", { deltaY: 60, bubbles: true, cancelable: true }); document.querySelector(".lanes").dispatchEvent(e); return e.defaultPrevented; })()`) {
		t.Error("the wheel alone does not scroll the page")
	}
	if now := eval[float64](t, b, lanesWidth); now != wide {
		t.Errorf("the wheel alone zooms: from %v to %v", wide, now)
	}
}

func zoomByBrush(t *testing.T, browser context.Context) {
	b := openLanes(t, browser, "/tasks/tsk-7f3a91")
	b.run(t, `document.querySelector(".lane-scroll").scrollIntoView({block: "center"})`)
	width := eval[float64](t, b, lanesWidth)
	drag := func(from, to float64) {
		r := eval[[]float64](t, b, `(() => { const r = document.querySelector(".minimap").getBoundingClientRect(); return [r.x, r.y + 12, r.width]; })()`)
		for i, kind := range []input.DispatchMouseEventType{input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseMoved, input.DispatchMouseEventTypeMouseReleased} {
			x := r[0] + r[2]*from
			if i > 0 {
				x = r[0] + r[2]*to
			}
			if err := call(b, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: kind, X: x, Y: r[1], Button: input.MouseButtonLeft, Buttons: 1, ClickCount: 1}); err != nil {
				t.Fatal(err)
			}
		}
	}
	drag(0.25, 0.5)
	b.until(t, fmt.Sprintf(`Math.abs(%s / %f - 4) < 0.1 && Math.abs(%s / %s - 0.25) < 0.01`, lanesWidth, width, lanesScroll, lanesWidth))
	drag(0.4, 0.6) // Within the brush: it is moved.
	b.until(t, fmt.Sprintf(`Math.abs(%s / %f - 4) < 0.1 && Math.abs(%s / %s - 0.45) < 0.01`, lanesWidth, width, lanesScroll, lanesWidth))
	b.until(t, `Math.abs(parseFloat(document.querySelector(".brush").style.insetInlineStart) - 45) < 1`)
}

func zoomStays(t *testing.T, browser context.Context) {
	b := openLanes(t, browser, "/tasks/tsk-crowded")
	b.run(t, `document.querySelector(".lane-scroll").focus()`)
	b.press(t, "+++++")
	before := eval[float64](t, b, lanesWidth)
	folded := eval[int](t, b, `document.querySelectorAll(".at.folded").length`)
	b.run(t, `document.querySelectorAll("#events a.ev")[1].click()`)
	b.until(t, `location.search.includes("ev=") && document.querySelectorAll("#events tr.on").length === 1`)
	if after, now := eval[float64](t, b, lanesWidth), eval[int](t, b, `document.querySelectorAll(".at.folded").length`); after != before || now != folded {
		t.Errorf("lanes were %v wide with %d folded marks, are %v with %d", before, folded, after, now)
	}
}

// drawnLanes describes what is drawn, without the places in pixels, and these.
const drawnLanes = `((root) => ({
	said: [...root.querySelectorAll(".at")].map((e) => [e.classList.contains("folded"), e.querySelector(".count").textContent.trim(), (e.querySelector("a") || e).getAttribute("aria-label")].join("|"))
		.concat([...root.querySelectorAll(".lab[data-x]")].map((e) => [e.textContent, e.getAttribute("text-anchor"), e.getAttribute("dx")].join("|")))
		.concat([...root.querySelectorAll(".in-bar")].map((e) => e.textContent + e.classList.contains("folded")))
		.concat([...root.querySelectorAll(".axis-ticks text")].map((e) => e.textContent)),
	placed: [...root.querySelectorAll(".at:not(.folded) > .stem")].map((e) => Number(e.getAttribute("x2"))).concat([...root.querySelectorAll(".axis-ticks text")].map((e) => parseFloat(e.getAttribute("x")))) }))`

// drawn is what drawnLanes says.
type drawn struct {
	Said   []string  `json:"said"`
	Placed []float64 `json:"placed"`
}

func samePicture(t *testing.T, browser context.Context) {
	b := openLanes(t, browser, "/tasks/tsk-7f3a91")
	for _, path := range []string{"/tasks/tsk-7f3a91", "/tasks/tsk-7f3a91?scale=work", "/tasks/tsk-crowded", "/tasks/tsk-91b6c4", "/tasks/tsk-twice0"} {
		b.open(t, path)
		b.until(t, lanesReady)
		b.do(t, "resize", chromedp.EmulateViewport(1240, 900))
		b.do(t, "resize", chromedp.EmulateViewport(1240+736-int64(eval[float64](t, b, lanesWidth)), 900))
		b.until(t, lanesWidth+` === 736`)
		b.run(t, `document.dispatchEvent(new Event("fleetglass:patched"))`)
		script := eval[drawn](t, b, drawnLanes+`(document)`)
		server, err := chromedp.Run(b.ctx, chromedp.Evaluate[drawn](`fetch(location.href).then((r) => r.text()).then((text) => `+drawnLanes+`(new DOMParser().parseFromString(text, "text/html")))`, chromedp.EvalAwaitPromise))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(server.Said, script.Said); diff != "" {
			t.Errorf("%s (-server +script):\n%s", path, diff)
		}
		for i := range min(len(server.Placed), len(script.Placed)) {
			if d := server.Placed[i] - script.Placed[i]; d > 0.2 || d < -0.2 {
				t.Errorf("%s: place %d is %v, the server's %v", path, i, script.Placed[i], server.Placed[i])
			}
		}
	}
}

// covering are marks of one lane that cover each other.
const covering = `[...document.querySelectorAll("[data-lane]")].flatMap((lane) => {
	const plates = [...lane.querySelectorAll(".at:not(.folded) .plate")].map((e) => e.getBoundingClientRect());
	return plates.flatMap((a, i) => plates.slice(i + 1).filter((b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1).map((b) => a.left + " " + b.left));
}).join()`

func marksApart(t *testing.T, browser context.Context) {
	b := openLanes(t, browser, "/tasks/tsk-crowded")
	if n := eval[string](t, b, `[...document.querySelectorAll(".at:not(.folded) .count")].map((e) => e.textContent.trim()).join("")`); n != "31" {
		t.Errorf("marks at one place are counted %q, want 31", n)
	}
	b.run(t, `document.querySelector(".lane-scroll").focus()`)
	for range 16 {
		if over := eval[string](t, b, covering); over != "" {
			t.Errorf("at a width of %v: marks cover each other at %s", eval[float64](t, b, lanesWidth), over)
		}
		b.press(t, "+")
	}
	b.until(t, `document.querySelectorAll(".at.folded").length === 0`)
}

func reasonInFocus(t *testing.T, browser context.Context) {
	b := openLanes(t, browser, "/tasks/tsk-7f3a91")
	b.run(t, `[...document.querySelectorAll(".lanes a.reason")].find((a) => a.textContent.startsWith("term")).focus()`)
	b.until(t, `!document.querySelector(".tip").hidden && document.querySelector(".tip").textContent.startsWith("term: context_window_overflow: 212431 tokens > 180000")`)
	b.until(t, `document.activeElement.getAttribute("aria-label").endsWith(document.querySelector(".tip").textContent)`)
	b.run(t, `document.activeElement.blur()`)
	b.until(t, `document.querySelector(".tip").hidden`)
}

func narrowLanes(t *testing.T, browser context.Context) {
	b := openTab(t, browser, newSite(t, crowded()))
	for width, hint := range map[int64]bool{360: true, 1440: false} {
		b.do(t, "resize", chromedp.EmulateViewport(width, 900))
		b.open(t, "/tasks/tsk-7f3a91")
		b.until(t, lanesReady)
		shown := eval[bool](t, b, `document.querySelector(".scroll-hint").getClientRects().length > 0`)
		scrolls := eval[bool](t, b, `(() => { const e = document.querySelector(".lane-scroll"); return e.scrollWidth > e.clientWidth + 1; })()`)
		if shown != hint || scrolls != hint {
			t.Errorf("at %d px: scrolls %v, says so %v, want %v", width, scrolls, shown, hint)
		}
		if over := eval[string](t, b, sideways); over != "" {
			t.Errorf("at %d px: wider than the window: %s", width, over)
		}
	}
}
