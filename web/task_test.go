package web_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

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
