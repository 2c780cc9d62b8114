package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"fleetglass/internal/testkit"
	"fleetglass/web/webtest"
)

func TestWhatOpensFitsAPhone(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	b := openTab(t, testkit.Browser(t), s)
	b.do(t, "resize", chromedp.EmulateViewport(360, 800))
	for _, path := range []string{"/", "/tasks", "/tasks/tsk-7f3a91", "/duplicates", "/reconciliation"} {
		b.open(t, path)
		beyond := eval[string](t, b, `[...document.querySelectorAll("details.menu")].map((d) => {
			d.open = true;
			const r = d.querySelector(":scope > :not(summary)").getBoundingClientRect();
			d.open = false;
			return r.width > 0 && r.left >= 0 && r.right <= innerWidth ? "" : d.textContent.trim().slice(0, 30) + ": " + r.left + " to " + r.right;
		}).filter(Boolean).join("; ")`)
		if beyond != "" {
			t.Errorf("%s: what opens stands beyond the window: %s", path, beyond)
		}
	}
}

func TestLongNamesStayInTheirPlace(t *testing.T) {
	t.Parallel()
	story := incident(3)
	long := strings.Repeat("unbroken", 30)
	story.Die("tsk-long", "agent-"+long, "context_window_overflow: "+long, -6*time.Minute)
	s := newSite(t, story.Batch)
	b := openTab(t, testkit.Browser(t), s)
	for _, width := range []int64{360, 1440} {
		b.do(t, "resize", chromedp.EmulateViewport(width, 900))
		b.open(t, "/")
		over := eval[string](t, b, `[...document.querySelectorAll("#agents .name, #attention li")].filter((e) => {
			const [name, beside] = e.matches("li") ? [e.querySelector(".what"), e.querySelector(".when")] : e.children;
			const text = document.createRange();
			text.selectNodeContents(name);
			const end = e.matches("li") ? text.getBoundingClientRect().right : name.getBoundingClientRect().right;
			const card = e.closest("li").getBoundingClientRect();
			return end > beside.getBoundingClientRect().left + 1 || beside.getBoundingClientRect().right > card.right;
		}).map((e) => e.textContent.slice(0, 60)).join("; ")`)
		if over != "" {
			t.Errorf("at %d px a name lies over what stands beside it: %s", width, over)
		}
	}
}

func TestEscapeGivesTheFocusBack(t *testing.T) {
	t.Parallel()
	b := openTab(t, testkit.Browser(t), newSite(t, webtest.Rich(noon).Batch))
	b.open(t, "/tasks")
	b.click(t, ".facets-btn")
	b.run(t, `document.querySelector("#facets input[type=checkbox]").focus()`)
	b.press(t, kb.Escape)
	b.until(t, `!document.querySelector("#facets").matches(":popover-open") && document.activeElement.matches(".facets-btn")`)
	b.click(t, ".actions details summary")
	b.run(t, `document.querySelector("#curl").focus()`)
	b.press(t, kb.Escape)
	b.until(t, `!document.querySelector(".actions details").open && document.activeElement.matches(".actions details summary")`)
}

func TestNothingInTheTopBarLiesOverAnotherThing(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, func(c *setup) { c.Environment = "production" })
	b := openTab(t, testkit.Browser(t), s)
	b.open(t, "/")
	for _, width := range []int64{360, 768, 800, 1024, 1280} {
		b.do(t, "resize", chromedp.EmulateViewport(width, 900))
		over := eval[string](t, b, `(() => {
			const boxes = [...document.querySelectorAll(".topbar > *, .brand > *")].filter((e) => e.checkVisibility() && !e.matches(".brand")).map((e) => [e.textContent.trim().slice(0, 20), e.getBoundingClientRect()]).filter(([, r]) => r.width > 2);
			return boxes.flatMap(([a, r], i) => boxes.slice(i + 1).filter(([, q]) => r.left < q.right - 1 && q.left < r.right - 1 && r.top < q.bottom && q.top < r.bottom).map(([c]) => a + " over " + c)).join();
		})()`)
		if over != "" {
			t.Errorf("at %d px: %s", width, over)
		}
	}
}
