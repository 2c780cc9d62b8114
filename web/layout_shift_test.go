package web_test

import (
	"testing"
	"time"

	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/web/webtest"
)

// watchShift asks the Layout Instability API from now on what moved.
func watchShift(t *testing.T, b *tab) {
	t.Helper()
	b.run(t, `window.moved = { sum: 0, what: [] };
		const place = (s) => (s.node?.closest?.("[id]")?.id ?? s.node?.nodeName) + " " + s.previousRect.y + "+" + s.previousRect.height + " to " + s.currentRect.y + "+" + s.currentRect.height;
		new PerformanceObserver((l) => { for (const e of l.getEntries()) if (!e.hadRecentInput) { moved.sum += e.value; moved.what.push(e.value.toFixed(4) + ": " + e.sources.map(place).join(", ")); } }).observe({ type: "layout-shift" })`)
}

// wantInPlace fails where something moved visibly since [watchShift].
func wantInPlace(t *testing.T, b *tab) {
	t.Helper()
	b.run(t, `new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(painted)))`)
	if moved := eval[float64](t, b, `moved.sum`); moved > 0.01 {
		t.Errorf("layout shift %.4f:\n%s", moved, eval[string](t, b, `moved.what.join("\n")`))
	}
}

// The words of the facts and the answers change when a lease runs out.
func TestALiveTaskStaysInPlaceWhenItsLeaseRunsOut(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, acting)
	b := openTab(t, testkit.Browser(t), s)
	b.open(t, "/tasks/tsk-91b6c4")
	b.until(t, `document.body.dataset.stream === "open" && document.querySelector("#facts").textContent.includes("stuck")`)
	watchShift(t, b)
	s.clock.Advance(2 * time.Minute)
	s.append(t, newTask(s, "passes-by"))
	b.until(t, `document.querySelector("#facts").textContent.includes("past the deadline") && document.querySelector("#answers").textContent.includes("Due since")`)
	wantInPlace(t, b)
}

// "59 s ago" is wider than "1 m ago": a line of facts that just fits must not break when ages change.
func TestAnEndedTaskStaysInPlaceWhileItsAgesGrow(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	b := openTab(t, testkit.Browser(t), s)
	b.open(t, "/tasks/tsk-7f3a91")
	b.until(t, `document.body.dataset.stream === "open"`)
	watchShift(t, b)
	for _, d := range []time.Duration{time.Minute, 4 * time.Minute, 34 * time.Minute, time.Hour, 10 * time.Hour, 50 * time.Hour} {
		s.clock.Advance(d)
		before := eval[string](t, b, `document.body.dataset.now`)
		s.hub.Publish([]lifecycle.TaskChange{{TaskID: "tsk-7f3a91"}})
		b.until(t, `document.body.dataset.now !== "`+before+`"`)
	}
	wantInPlace(t, b)
}
