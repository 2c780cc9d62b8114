package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

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
