package web_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"fleetglass/internal/testkit"
	"fleetglass/web/webtest"
)

// On a phone the bar of a selection leaves the rows in sight, and offers all that it offers elsewhere.
func TestTheBarOfASelectionLeavesTheRowsInSight(t *testing.T) {
	t.Parallel()
	browser := testkit.Browser(t)
	acts, looks := newSite(t, webtest.Rich(noon).Batch, operating), newSite(t, webtest.Rich(noon).Batch)
	for _, row := range []struct {
		name string
		site *site
		path string
		most float64 // How high the bar may be.
	}{
		{"a list that only looks", looks, "/tasks", 52}, {"a list with a retry", acts, "/tasks", 84}, {"dead letters", acts, "/dlq", 88},
	} {
		b := openTab(t, browser, row.site)
		b.do(t, "resize", chromedp.EmulateViewport(345, 780)) // A phone of 360 px whose browser shows a scrollbar.
		b.open(t, row.path)
		b.click(t, "#rows tr:nth-child(1) input")
		b.click(t, "#rows tr:nth-child(2) input")
		b.until(t, `document.querySelector("#selected").textContent === "2 selected"`)
		if high := eval[float64](t, b, `document.querySelector("#selbar").getBoundingClientRect().height`); high > row.most {
			t.Errorf("%s: the bar is %.0f px high, want %.0f at most", row.name, high, row.most)
		}
		const outside = `(() => { const bar = document.querySelector("#selbar").getBoundingClientRect();
		  return [...document.querySelectorAll("#selbar :is(button, select, label)")].filter((e) => { const r = e.getBoundingClientRect(); return !e.classList.contains("vh") && (r.width < 24 || r.height < 24 || r.right > bar.right || r.left < bar.left); }).map((e) => e.id || e.textContent).join(); })()`
		if found := eval[string](t, b, outside); found != "" {
			t.Errorf("%s: outside of the bar, or too small to be hit: %s", row.name, found)
		}
		b.click(t, "#clear")
		b.until(t, `document.querySelector("#selbar").dataset.count === "0"`)
	}
}
