package web_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"fleetglass/internal/health"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/web/webtest"
)

func TestTheEventStandsBesideTheEventsWhereThereIsRoom(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	b := openTab(t, testkit.Browser(t), s)
	for width, want := range map[int64]string{1440: "beside", 1024: "below", 360: "below"} {
		b.do(t, "resize", chromedp.EmulateViewport(width, 900))
		b.open(t, "/tasks/tsk-7f3a91")
		got := eval[string](t, b, `(() => {
			const list = document.querySelector("#events > section").getBoundingClientRect(), event = document.querySelector("#event").getBoundingClientRect();
			return event.left >= list.right && event.top < list.top + 50 ? "beside" : event.top >= list.bottom ? "below" : "over it";
		})()`)
		if got != want {
			t.Errorf("at %d px the event stands %s, want %s", width, got, want)
		}
	}
}

// Who opens an event that went wrong reads first why, or how long it was put off.
func TestTheReasonOfAnEventIsReadFirst(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	events, err := s.store.Events(context.Background(), "tsk-7f3a91", lifecycle.EventPosition{}, 5000)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[lifecycle.Kind]bool{}
	for _, e := range events {
		want := e.Detail.Reason
		if want == "" && e.Detail.Delay > 0 {
			want = "A delay of " + lifecycle.Lasting(e.Detail.Delay) + " was asked for."
		}
		if want == "" || seen[e.Kind] {
			continue
		}
		seen[e.Kind] = true
		doc := s.get(t, "/tasks/tsk-7f3a91?ev="+e.ID.String(), 200)
		if got := text(doc.Find("#event .body > :first-child")); got != want {
			t.Errorf("%s: the first thing read is %q, want %q", e.Kind, got, want)
		}
		if got := text(doc.Find("#events tr.on td:last-child")); !strings.HasPrefix(got, e.Detail.Reason) {
			t.Errorf("%s: its row begins with %q, want %q", e.Kind, got, e.Detail.Reason)
		}
	}
	for _, kind := range []lifecycle.Kind{lifecycle.Terminated, lifecycle.Nacked, lifecycle.ReportFailed} {
		if !seen[kind] {
			t.Errorf("no event of kind %s was looked at", kind)
		}
	}
}

func TestTheTabsOfATaskCountWhatTheyHave(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	events, err := s.store.Events(context.Background(), "tsk-7f3a91", lifecycle.EventPosition{}, 5000)
	if err != nil {
		t.Fatal(err)
	}
	for _, tab := range []string{"", "?tab=events", "?tab=payload", "?tab=json"} {
		doc := s.get(t, "/tasks/tsk-7f3a91"+tab, 200)
		for selector, want := range map[string]string{`a[href$="tab=events"]`: fmt.Sprint(len(events)), `a[href$="tab=related"]`: "2", `a[href$="tab=compare"]`: "4", `a[href$="tab=json"]`: ""} {
			if got := text(doc.Find("#views " + selector + " .n")); got != want {
				t.Errorf("%q: %s counts %q, want %q", tab, selector, got, want)
			}
		}
	}
}

// Where the tabs are wider than a phone, the current one is in sight, and the edge says that there are more.
func TestTheCurrentTabIsInSightOnAPhone(t *testing.T) {
	t.Parallel()
	b := openTab(t, testkit.Browser(t), newSite(t, webtest.Rich(noon).Batch))
	b.do(t, "make it a phone", chromedp.EmulateViewport(360, 800))
	b.open(t, "/tasks/tsk-7f3a91?tab=json")
	b.until(t, `(() => {
  const row = document.querySelector(".tabs"), r = row.getBoundingClientRect(), tab = row.querySelector("[aria-current]").getBoundingClientRect();
  return row.scrollWidth > row.clientWidth && tab.left >= r.left && tab.right <= r.right + 1 && getComputedStyle(row).backgroundImage.includes("gradient");
})()`)
}

// A tablet shows the titles of tasks, and the agents' note explains only columns that are there.
func TestListsFitATablet(t *testing.T) {
	t.Parallel()
	b := openTab(t, testkit.Browser(t), newSite(t, webtest.Rich(noon).Batch, func(c *setup) {
		c.Health = health.ReporterFunc(func() []health.Part {
			return []health.Part{
				{Name: "nats", Kind: "broker", State: health.OK, Detail: "embedded, agents connect to nats://127.0.0.1:14226"},
				{Name: "firestore", Kind: "collector", State: health.NotConfigured, Detail: "neither a Firestore project nor an emulator is configured"},
				{Name: "idempotency", Kind: "collector", State: health.OK, Handled: 278_000, LastAt: noon.Add(-time.Minute)},
			}
		})
	}))
	b.do(t, "make it a tablet", chromedp.EmulateViewport(768, 1000))
	b.open(t, "/tasks")
	if got := eval[float64](t, b, `document.querySelector("#rows .grow").offsetWidth`); got < 200 {
		t.Errorf("the column of titles is %.0f px wide", got)
	}
	if !eval[bool](t, b, `document.querySelector("#rows .by").checkVisibility()`) {
		t.Error("the agent of a task is not shown")
	}
	b.open(t, "/capture")
	if !eval[bool](t, b, `[...document.querySelectorAll("#parts .table-wrap")].every((w) => w.scrollWidth <= w.clientWidth)`) {
		t.Error("the table of collectors is cut off at the edge")
	}
	for width, shown := range map[int64]bool{768: false, 1440: true} {
		b.do(t, "resize", chromedp.EmulateViewport(width, 1000))
		b.open(t, "/agents")
		column := eval[bool](t, b, `[...document.querySelectorAll("thead th")].some((th) => th.textContent === "p50" && th.checkVisibility())`)
		note := eval[bool](t, b, `document.querySelector(".under-table").innerText.includes("p50")`)
		if column != shown || note != shown {
			t.Errorf("at %d px: column p50 %v, note about it %v; want %v", width, column, note, shown)
		}
	}
}

// A task says who published it, as far as its message does.
func TestATaskNamesItsPublisher(t *testing.T) {
	t.Parallel()
	story := webtest.NewStory(noon)
	story.Publish("tsk-named", "cto", "code_review", "Review", 0, "")
	for i := range story.Batch.Events {
		story.Batch.Events[i].Detail.Publisher = "alert-relay"
	}
	story.Publish("tsk-nameless", "cto", "code_review", "Review", 0, "")
	s := newSite(t, story.Batch)
	wants{"#facts": "from alert-relay"}.check(t, s.get(t, "/tasks/tsk-named", 200))
	if got := text(s.get(t, "/tasks/tsk-nameless", 200).Find("#facts")); strings.Contains(got, "from") {
		t.Errorf("a task without a publisher says %q", got)
	}
}

// Where a query cannot be read nothing was counted.
func TestAListThatCannotBeReadCountsNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	if got := text(s.get(t, "/tasks?q=agent:", 400).Find("#states")); got != "All" {
		t.Errorf("the tabs say %q, want no count", got)
	}
}

func TestThePageSaysThatARecordIsGone(t *testing.T) {
	t.Parallel()
	story := webtest.NewStory(noon)
	erased := func(m webtest.Message, offset time.Duration) {
		story.Event(lifecycle.Event{Kind: lifecycle.RecordDeleted, At: story.At(offset), Provenance: lifecycle.Recorded, Source: "KV_task-idempotency", TaskID: m.Task, Detail: lifecycle.Detail{
			Naming: lifecycle.Naming{IdempotencyKey: m.Task + "-1"},
		}})
	}
	read := story.Publish("read", "cto", "review", "Read", -time.Hour, "")
	story.Record(read, -time.Minute)
	erased(read, -time.Second)
	unread := story.Publish("unread", "cto", "review", "Unread", -time.Hour, "")
	erased(unread, -time.Second)
	s := newSite(t, story.Batch)
	for task, want := range map[string]string{"read": "Gone since", "unread": "One was deleted or has expired, and was not read before."} {
		if got := text(s.get(t, "/tasks/"+task+"?tab=idempotency", 200).Find("section[aria-labelledby=rec-h]")); !strings.Contains(got, want) || strings.Contains(got, "Kept until") {
			t.Errorf("of %s the page says %q, want %q", task, got, want)
		}
	}
}
