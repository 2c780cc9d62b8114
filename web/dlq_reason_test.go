package web_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/web/webtest"
)

// died adds to a story a message that its worker gave up with a reason.
func died(story *webtest.Story, id string, ago time.Duration, reason, category, detail string) webtest.Message {
	m := story.Publish(id, "cto", "review", "The death of "+id, -ago-10*time.Minute, "{}")
	story.Deliver(m, 1, -ago-9*time.Minute)
	story.Say(lifecycle.Terminated, m, 1, -ago, lifecycle.Detail{Ending: lifecycle.Ending{Reason: reason}})
	story.Tell(lifecycle.DeadLettered, lifecycle.Recorded, m, 1, -ago+time.Second, lifecycle.Detail{DeadLetter: lifecycle.DeadLetter{Category: category, CategoryDetail: detail, Path: "terminated", Entry: "DLQ:" + strconv.Itoa(int(ago/time.Minute))}})
	return m
}

// reasons is a fleet in which messages died for reasons of all lengths.
func reasons() lifecycle.Batch {
	story := webtest.NewStory(noon)
	died(story, "tsk-short", time.Minute, "llm_provider_timeout: no first token", "transient", "llm_provider_timeout")
	died(story, "tsk-plain", 2*time.Minute, "the partner feed has the field amount twice in line 7,214 of orders-2026-11-19.csv, and the second one is empty: nothing was imported", "unclassified", "")
	died(story, "tsk-long", 3*time.Minute, "first of all, "+strings.Repeat("something went wrong again, ", 40)+"and that is the end", "unclassified", "")
	died(story, "tsk-word", 4*time.Minute, "genbrain.agents."+strings.Repeat("x", 90)+".tasks", "unclassified", "")
	return story.Batch
}

// The reason of a death comes before its class, and "unclassified" says nothing.
func TestTheListSaysTheReasonFirst(t *testing.T) {
	t.Parallel()
	s := newSite(t, reasons())
	list := s.get(t, "/dlq?status=all", 200)
	for id, want := range map[string]string{
		"tsk-short": "no first token llm provider timeout",
		"tsk-plain": "the partner feed has the field amount twice in line 7,214 of orders-2026-11-19.csv, and the second one is empty: nothing was imported",
	} {
		if got := text(list.Find("#rows tr:contains('" + id + "') td.why")); got != want {
			t.Errorf("%s died because of %q, want %q", id, got, want)
		}
	}
	entry := s.get(t, list.Find("#rows tr:contains('tsk-plain') a.title").AttrOr("href", ""), 200)
	if got := text(entry.Find("#why header")); got != "Why it died" {
		t.Errorf("the head of the reason reads %q", got)
	}
	wants{"#why .kv": "Categoryunclassified"}.check(t, entry)
}

// Every reason can be read in full in the list: a long one unfolds.
func TestReasonsAreReadInFullInTheList(t *testing.T) {
	t.Parallel()
	s := newSite(t, reasons())
	b := openTab(t, testkit.Browser(t), s)
	for _, width := range []int64{360, 768, 1024, 1280, 1440} {
		b.do(t, "resize", chromedp.EmulateViewport(width, 900))
		b.open(t, "/dlq?status=all")
		cut := eval[string](t, b, `[...document.querySelectorAll("#rows td.why, #rows td.why *")].filter((e) => e.clientWidth && getComputedStyle(e).overflow !== "visible" && (e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight)).map((e) => e.textContent.slice(0, 40)).join("; ")`)
		if cut != "" {
			t.Errorf("at %d px these reasons are cut: %s", width, cut)
		}
		b.click(t, "#rows details.reason summary")
		b.until(t, `document.querySelector("#rows details.reason").innerText.includes("and that is the end")`)
		if over := eval[string](t, b, sideways); over != "" {
			t.Errorf("at %d px the list is wider than the window: %s", width, over)
		}
		if lines := eval[float64](t, b, `document.querySelector("#rows tr:nth-child(2) td.why").getBoundingClientRect().height`); lines > 130 {
			t.Errorf("at %d px a reason of 130 letters takes %.0f px", width, lines)
		}
	}
}
