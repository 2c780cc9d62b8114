package web_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/views"
	"fleetglass/web/webtest"
)

// openStreams are the streams of changes that browsers hold open, by what they ask for.
type openStreams struct {
	mu    sync.Mutex
	count map[string]int
}

func (o *openStreams) add(query string, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.count[query] += n
}

// asked lists what they ask for: nothing for all tasks, else signs.
func (o *openStreams) asked() (out []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, query := range slices.Sorted(maps.Keys(o.count)) {
		asked, _ := url.ParseQuery(query)
		out = append(out, slices.Repeat([]string{asked.Get("only")}, o.count[query])...)
	}
	return out
}

// until waits until there is one stream, and it asks for that.
func (o *openStreams) until(t *testing.T, when string, tasks ...string) {
	t.Helper()
	signs := make([]string, 0, len(tasks))
	for _, id := range tasks {
		signs = append(signs, views.Sign(id))
	}
	slices.Sort(signs)
	want := []string{strings.Join(signs, " ")}
	testkit.Eventually(t, 20*time.Second, func() error {
		if got := o.asked(); !slices.Equal(got, want) {
			return fmt.Errorf("%s: the streams ask for %q, want %q", when, got, want)
		}
		return nil
	})
}

// streamed is a site that notes which streams are open.
func streamed(t *testing.T) (*site, *openStreams) {
	t.Helper()
	open := &openStreams{count: map[string]int{}}
	return newSite(t, webtest.Rich(noon).Batch, func(c *setup) {
		c.Around = func() (func(http.Handler) http.Handler, error) {
			return func(pages http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/live" {
						open.add(r.URL.RawQuery, 1)
						defer open.add(r.URL.RawQuery, -1)
					}
					pages.ServeHTTP(w, r)
				})
			}, nil
		}
	}), open
}

// inSight makes a tab believe that it is in sight. A tab in the background does not look at the server.
func (b *tab) inSight(t *testing.T) {
	t.Helper()
	b.run(t, `Object.defineProperty(document, "hidden", { get: () => false })`)
}

func TestTabsShareOneStream(t *testing.T) {
	t.Parallel()
	s, open := streamed(t)
	browser := testkit.Browser(t)
	first, second := openTab(t, browser, s), openTab(t, browser, s)
	first.open(t, "/tasks")
	first.until(t, `document.body.dataset.stream === "open"`)
	second.open(t, "/tasks")
	second.until(t, `document.body.dataset.stream === "shared"`)
	open.until(t, "two tabs")
	second.inSight(t)
	s.clock.Advance(time.Second)
	s.append(t, acked(t, s, "tsk-77d0ab"))
	second.until(t, row("tsk-77d0ab", `r.querySelector(".state").textContent.trim() === "completed"`))
	first.do(t, "leave", chromedp.Navigate("about:blank"))
	second.until(t, `document.body.dataset.stream === "open"`)
	open.until(t, "one tab")
}

// Where every tab is about an ended task, nothing is sent of other tasks but how many changed.
func TestTabsAboutEndedTasksAskForNoMore(t *testing.T) {
	t.Parallel()
	const ended, ends = "tsk-7f3a91", "tsk-d3380f"
	s, open := streamed(t)
	browser := testkit.Browser(t)
	first, second, list := openTab(t, browser, s), openTab(t, browser, s), openTab(t, browser, s)
	first.open(t, "/tasks/"+ended)
	open.until(t, "an ended task", ended)
	second.open(t, "/tasks/"+ends)
	second.inSight(t)
	open.until(t, "a task that goes on")
	s.clock.Advance(time.Second)
	s.append(t, acked(t, s, ends))
	second.until(t, `document.querySelector("#task-state").textContent.trim() === "completed"`)
	open.until(t, "the task has ended", ended, ends)
	list.open(t, "/tasks")
	open.until(t, "a list")
	list.do(t, "leave", chromedp.Navigate("about:blank"))
	open.until(t, "the list was closed", ended, ends)
	before := eval[int](t, second, `document.querySelectorAll("#events tr").length`)
	s.append(t, lifecycle.Batch{Events: []lifecycle.Event{beat(s)}})
	second.until(t, fmt.Sprintf(`document.querySelectorAll("#events tr").length > %d`, before))
	first.do(t, "leave", chromedp.Navigate("about:blank"))
	open.until(t, "one tab", ends)
}
