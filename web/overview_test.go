package web_test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"fleetglass/internal/health"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/web/webtest"
)

func TestNobodySaysThatNothingRanAgainWhereNothingWouldProveIt(t *testing.T) {
	t.Parallel()
	silent := webtest.NewStory(noon)
	done := silent.Publish("tsk-silent", "backend", "debugging", "A worker that says nothing", -time.Minute, "{}")
	silent.Deliver(done, 1, -50*time.Second)
	silent.Say(lifecycle.Acked, done, 1, -30*time.Second, lifecycle.Detail{})
	for name, test := range map[string]struct {
		batch lifecycle.Batch
		state health.State
		want  string
	}{
		"read": {incident(1).Batch, health.OK, "0"}, "not read": {incident(1).Batch, health.NotConfigured, "unknown"},
		"read, and an agent neither records nor reports": {silent.Batch, health.OK, "unknown"},
	} {
		s := newSite(t, test.batch, func(c *setup) {
			c.Health = health.ReporterFunc(func() []health.Part {
				return []health.Part{{Name: "acks", Kind: "collector", State: health.OK}, {Name: "idempotency", Kind: "collector", State: test.state}, {Name: "reports", Kind: "collector", State: test.state}}
			})
		})
		figure := s.get(t, "/", 200).Find(`#stats a[href="/duplicates?layer=execution"]`)
		if got := text(figure.Find(".v")); got != test.want {
			t.Errorf("records and reports are %s, and the overview says %q: %s", name, got, text(figure.Find(".d")))
		}
	}
}

// A fleet that is minutes old has one step of an hour, which is not over: the page shows its minutes.
func TestTheStatisticsOfAYoungFleetShowItsLastHour(t *testing.T) {
	t.Parallel()
	for ago, want := range map[time.Duration]string{5 * time.Minute: "1 h", 3 * time.Hour: "24 h"} {
		story := webtest.NewStory(noon)
		story.Publish("tsk", "cto", "review", "Work", -ago, "")
		s := newSite(t, story.Batch)
		wants{".btn-group [aria-current]": want}.check(t, s.get(t, "/statistics", 200))
	}
}

// A step of a chart that is not over is low because of the time: it is pale, and says so.
func TestTheStepThatIsNotOverSaysSo(t *testing.T) {
	t.Parallel()
	story := webtest.NewStory(noon)
	for _, ago := range []time.Duration{-5 * time.Minute, -20 * time.Second} {
		m := story.Publish("tsk-"+ago.String(), "cto", "review", "Work", ago, "")
		story.Deliver(m, 1, ago+time.Second)
		story.Say(lifecycle.Acked, m, 1, ago+2*time.Second, lifecycle.Detail{})
	}
	s := newSite(t, story.Batch)
	s.clock.Advance(-10 * time.Second) // In the middle of a minute.
	page := s.get(t, "/", 200)
	wants{"#throughput rect.f-ok.so-far title": ", so far: 1 completed", "#throughput .legend": "partial step", "#throughput tbody tr:last-child th": "11:59, so far"}.check(t, page)
	if n := page.Find("#throughput svg.plot rect.f-ok:not(.so-far)").Length(); n != 1 {
		t.Errorf("bars of steps that are over: got %d, want 1", n)
	}
	wants{"#flow a.pt:last-of-type[aria-label*='so far']": "", "#throughput": "=0"}.check(t, s.get(t, "/statistics?range=1h", 200))
}

// A lease that is about to expire is counted, and is no alarm: nothing is wrong yet.
func TestALeaseAboutToExpireIsNoAlarm(t *testing.T) {
	t.Parallel()
	story := webtest.NewStory(noon)
	m := story.Publish("tsk", "cto", "review", "Work", -5*time.Minute, "")
	story.Consumer("cto", 0, -27*time.Second)
	story.Deliver(m, 1, -27*time.Second)
	page := newSite(t, story.Batch).get(t, "/", 200)
	wants{"#stats a:nth-child(2) .v": "1", "#stats a:nth-child(2) .d": "1 expiring", "#stats a:nth-child(2) .v.tone": "=0", "#nav-in-flight.bad": "=0"}.check(t, page)
}

// The overview is read in one look: what needs attention and the states fill the place beside the chart, and the two charts belong together however high they are.
func TestTheOverviewHasNoHoles(t *testing.T) {
	t.Parallel()
	one := webtest.NewStory(noon)
	one.Publish("tsk", "cto", "review", "Work", -time.Minute, "")
	b := testkit.Browser(t)
	for name, batch := range map[string]lifecycle.Batch{"calm": one.Batch, "rich": webtest.Rich(noon).Batch, "incident": incident(20).Batch} {
		tab := openTab(t, b, newSite(t, batch))
		tab.do(t, "resize", chromedp.EmulateViewport(1440, 900))
		tab.open(t, "/")
		got := eval[[]float64](t, tab, `(() => {
			const box = (s) => document.querySelector(s).getBoundingClientRect(), left = box("#attention"), states = box("#unfinished");
			const below = states.left === left.left && states.top < box("#throughput").bottom;
			return [below ? states.top - left.bottom : 16, document.querySelector("#throughput").closest(".panel").getBoundingClientRect().bottom - (below ? states : left).bottom,
				box("#throughput .lower").top - box("#throughput .upper").bottom];
		})()`)
		if got[0] != 16 || got[1] > 40 || got[2] != 46 {
			t.Errorf("%s: %v px between attention and states, %v px below them, %v px between the charts; want 16, at most 40, and 46", name, got[0], got[1], got[2])
		}
	}
}
