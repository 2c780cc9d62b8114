package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/chromedp/chromedp"

	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/web/webtest"
)

// flood is a healthy fleet in which a limit of the stream removed n tasks before any worker had them.
func flood(n int) lifecycle.Batch {
	s := webtest.Rich(noon)
	for i := range n {
		id, ago := fmt.Sprintf("invoice-%d", i), -10*time.Minute
		m := s.Publish(id, "finance", "invoice", fmt.Sprintf("Match invoice %d", i), ago, fmt.Sprintf(`{"taskId":%q,"assignee":"finance","type":"invoice"}`, id))
		s.Tell(lifecycle.Vanished, lifecycle.Broker, m, 0, ago+63*time.Microsecond, lifecycle.Detail{Ending: lifecycle.Ending{Removal: lifecycle.RemovedByLimit, Undelivered: true}})
	}
	return s.Batch
}

// A flood that a limit removed is the first finding, with its number and its cause, and leads to exactly its tasks. Each of them says what became of it.
func TestAFloodThatALimitRemovedIsSeenInABrowser(t *testing.T) {
	t.Parallel()
	const n = 130
	b := openTab(t, testkit.Browser(t), newSite(t, flood(n)))
	for _, width := range []int64{1440, 768, 360} {
		b.do(t, "resize", chromedp.EmulateViewport(width, 900))
		for _, path := range []string{"/in-flight", "/duplicates", "/alerts", "/"} {
			b.open(t, path)
			if over := eval[int](t, b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
				t.Errorf("%s is %d px wider than a window of %d", path, over, width)
			}
		}
		const finding = `[...document.querySelectorAll("#attention li")].find((l) => l.innerText.includes("removed by a limit"))`
		said := eval[string](t, b, finding+`?.innerText ?? "no finding"`)
		for _, want := range []string{fmt.Sprintf("%d tasks were removed by a limit of the stream before any worker had them", n), "It dropped the oldest to make room", "List the tasks"} {
			if !strings.Contains(said, want) {
				t.Errorf("at %d px the overview says %q, want %q", width, said, want)
			}
		}
		b.run(t, finding+`.querySelector(".do").click()`)
		b.until(t, `location.pathname === "/tasks" && `+ready)
		if got := eval[string](t, b, `document.querySelector("#summary").innerText`); !strings.HasPrefix(got, fmt.Sprintf("%d tasks", n)) {
			t.Errorf("at %d px the finding leads to %q, want its %d tasks", width, got, n)
		}
	}
}

// What was stored and removed at once has an axis with a time on it, and its marks at the beginning.
func TestAStoryOfMicrosecondsHasAnAxis(t *testing.T) {
	t.Parallel()
	page := newSite(t, flood(1)).get(t, "/tasks/invoice-0", 200)
	wants{"#task-state": "removed", "#answers .say": "Nobody: it was removed", "#facts": "removed by a limit of the stream"}.check(t, page)
	var at []string
	page.Find(".lanes svg.at").Each(func(_ int, e *goquery.Selection) { at = append(at, e.AttrOr("data-x", "")) })
	if len(at) != 2 || at[1] > "0.03" {
		t.Errorf("the marks stand at %q of the axis, want its beginning", at)
	}
}
