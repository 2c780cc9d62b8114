package web_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"fleetglass/internal/httpguard"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/web/webtest"
)

// longForm says that the long form of the measurements of pages is asked for (make pages).
func longForm() bool { return os.Getenv("FLEETGLASS_PAGES") == "long" }

// openPage is a page that stays open, with what it may cost while a thousand tasks a second change.
type openPage struct {
	name, path string
	perHour    float64 // Transferred bytes an hour, in millions, at most.
}

// measured is what an open page did cost.
type measured struct {
	perHour float64 // Millions of transferred bytes.
	looks   int
	Opened  float64 `json:"opened"`  // Milliseconds until the page was read.
	Shift   float64 `json:"shift"`   // Cumulative layout shift.
	Longest float64 `json:"longest"` // The longest task of the page's thread, in milliseconds.

	Moved []string `json:"moved"` // What moved, when, and by how much of the layout shift.
}

func (m measured) String() string {
	return fmt.Sprintf("open in %.0f ms, %.1f MB an hour, %d looks, layout shift %.4f, longest task %.0f ms", m.Opened, m.perHour, m.looks, m.Shift, m.Longest)
}

// TestAnOpenPageCostsLittle opens pages while tasks are published and changed a thousand times a second.
func TestAnOpenPageCostsLittle(t *testing.T) {
	t.Parallel()
	pages, each := []openPage{{"list", "/tasks", 90}, {"live task", "/tasks/tsk-91b6c4", 90}, {"ended task", "/tasks/tsk-7f3a91", 2}}, 2*time.Second
	if longForm() {
		pages, each = append(pages, openPage{"overview", "/", 90}, openPage{"in flight", "/in-flight", 90}, openPage{"agent", "/agents/cto", 90}, openPage{"statistics", "/statistics?range=1h", 90},
			openPage{"map", "/map", 90}, openPage{"alerts", "/alerts", 90}), time.Minute
	}
	shift := 0.01
	if longForm() {
		shift = 0.05 // Within a minute leases run out, and pages say so.
	}
	s := newSite(t, webtest.Rich(noon).Batch, func(c *setup) { c.Around = httpguard.Compress })
	if longForm() {
		s.fill(t, storedTasks(t))
	}
	browser := testkit.Browser(t)
	for _, p := range pages {
		got, changes := costOf(t, browser, s, p.path, each)
		t.Logf("%-10s %s; %.0f changes a second; moved: %s", p.name, got, float64(changes)/each.Seconds(), strings.Join(got.Moved, "; "))
		if got.perHour > p.perHour || got.Shift > shift || got.Longest > 1000 {
			t.Errorf("%s: %s; want at most %.0f MB, %.2f, 1,000 ms; moved: %s", p.name, got, p.perHour, shift, strings.Join(got.Moved, "; "))
		}
	}
}

// costOf opens a page and measures it for a while, after it has settled.
func costOf(t *testing.T, browser context.Context, s *site, path string, during time.Duration) (m measured, changes int64) {
	t.Helper()
	b := openTab(t, browser, s)
	var bytes, asked atomic.Int64
	if err := chromedp.Listen(b.ctx, func(event any) {
		switch e := event.(type) {
		case *network.EventDataReceived:
			bytes.Add(e.EncodedDataLength)
		case *network.EventResponseReceived:
			bytes.Add(int64(e.Response.EncodedDataLength)) // Its headers.
		case *network.EventRequestWillBeSent:
			asked.Add(1)
		}
	}); err != nil {
		t.Fatal(err)
	}
	b.open(t, path)
	b.until(t, `document.body.dataset.stream === "open" && `+looks+`.length > 0 && performance.now() > `+looks+`[0].responseEnd + 1000`)
	b.run(t, `window.cost = { shift: 0, longest: 0, moved: [], opened: performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd };
		const name = (s) => s.node?.id || s.node?.className || s.node?.nodeName || "?";
		const from = (s) => name(s) + " from " + Math.round(s.previousRect.top) + " to " + Math.round(s.currentRect.top);
		new PerformanceObserver((l) => { for (const e of l.getEntries()) if (!e.hadRecentInput) {
			cost.shift += e.value;
			cost.moved.push(Math.round(e.startTime) + " ms: " + e.value.toFixed(4) + " " + e.sources.map(from).join(", "));
		} }).observe({ type: "layout-shift" });
		new PerformanceObserver((l) => { for (const e of l.getEntries()) cost.longest = Math.max(cost.longest, e.duration); }).observe({ type: "longtask" })`)
	bytes.Store(0)
	asked.Store(0)
	changes = changeFor(t, s, during)
	m = eval[measured](t, b, `cost`)
	m.perHour, m.looks = float64(bytes.Load())/during.Seconds()*3600/1e6, int(asked.Load())
	b.do(t, "leave", chromedp.Navigate("about:blank"))
	return m, changes
}

// changeFor publishes a thousand tasks a second, as far as the machine keeps up, and lets a worker's heartbeat reach the live task.
func changeFor(t *testing.T, s *site, during time.Duration) (changes int64) {
	t.Helper()
	const each = 50
	tick := time.NewTicker(time.Second * each / 1000)
	defer tick.Stop()
	for end := time.Now().Add(during); time.Now().Before(end); <-tick.C {
		s.clock.Advance(time.Second * each / 1000)
		n := 100_000 + changed.Add(each)
		story := webtest.NewStory(s.clock.Now()).From(n)
		for i := range each {
			story.Publish(fmt.Sprintf("busy-%d", n+uint64(i)), webtest.Agents[i%len(webtest.Agents)], "code_review", "Review a change", 0, "{}")
		}
		s.append(t, story.Batch)
		changes += each
	}
	return changes
}

var changed atomic.Uint64

// storedTasks is how many tasks the long form stores before it opens pages.
func storedTasks(t *testing.T) int {
	t.Helper()
	text := os.Getenv("FLEETGLASS_PAGES_TASKS")
	if text == "" {
		return 1_000_000
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// fill stores n tasks that were completed in the last 30 days, as collectors would, in batches.
func (s *site) fill(t *testing.T, n int) {
	t.Helper()
	const each = 5000
	for at := 0; at < n; at += each {
		story := webtest.NewStory(noon).From(10_000_000 + uint64(at))
		for i := at; i < min(n, at+each); i++ {
			ago, agent := -time.Duration(float64(30*24*time.Hour)*float64(n-i)/float64(n)), webtest.Agents[i%len(webtest.Agents)]
			m := story.Publish(fmt.Sprintf("old-%d", i), agent, "implementation", "A task of long ago", ago, "{}")
			story.Say(lifecycle.Acked, m, 1, ago+time.Second, lifecycle.Detail{})
		}
		story.Batch.Payloads = nil
		if _, err := s.store.Append(context.Background(), story.Batch); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("stored %d tasks", n)
}
