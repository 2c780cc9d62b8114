package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"fleetglass/internal/testkit"
	"fleetglass/web/webtest"
)

// A long title is read whole: in the list in up to three lines, the rest on focus, which a keyboard and a finger have too.
func TestALongTitleIsReadWhole(t *testing.T) {
	t.Parallel()
	const title = "Check contrast and focus order of the search-index page and of the auth-gateway page"
	story := webtest.Rich(noon)
	const longer = title + ", of the task router, of the webhook relay and of all pages"
	m := story.Publish("tsk-long-title", "frontend", "review", title, -time.Minute, "")
	story.Deliver(m, 1, -50*time.Second)
	story.Publish("tsk-longer-title", "frontend", "review", longer, -time.Minute, "")
	b := openTab(t, testkit.Browser(t), newSite(t, story.Batch))
	const cut = `((t) => t.scrollWidth > t.clientWidth || t.scrollHeight > t.clientHeight + 2)(document.querySelector("tr[data-id=tsk-long-title] .title"))`
	for path, widths := range map[string][]int64{"/tasks": {360, 768, 1280, 1440}, "/in-flight": {360, 768, 1280, 1440}} {
		b.open(t, path)
		for _, width := range widths {
			b.do(t, "resize", chromedp.EmulateViewport(width, 900))
			if eval[bool](t, b, cut) {
				t.Errorf("%s at %d px cuts the title", path, width)
			}
		}
	}
	b.do(t, "resize", chromedp.EmulateViewport(1280, 900))
	b.open(t, "/tasks")
	b.until(t, strings.ReplaceAll(cut, "tsk-long-title", "tsk-longer-title"))
	b.run(t, `document.querySelector("tr[data-id=tsk-longer-title] .title").focus()`)
	b.until(t, `document.querySelector(".tip")?.checkVisibility() && document.querySelector(".tip").textContent === "`+longer+`"`)
	b.run(t, `document.querySelector("tr:not([data-id^=tsk-long]) .title").focus()`)
	b.until(t, `document.querySelector(".tip").hidden`)
	if short := eval[string](t, b, `document.activeElement.textContent`); strings.Contains(title, short) {
		t.Errorf("the other title is %q", short)
	}
}
