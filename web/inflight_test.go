package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"fleetglass/internal/health"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/web/webtest"
)

func TestTheBoardShowsAPartOfManyLeases(t *testing.T) {
	t.Parallel()
	story := webtest.Rich(noon)
	for i := range 130 {
		m := story.Publish(fmt.Sprintf("many-%03d", i), "backend", "implementation", "One of many", -20*1e9, "")
		story.Deliver(m, 1, lifecycle.Micros(0).Sub(lifecycle.Micros(int64(10e6+i))))
	}
	s := newSite(t, story.Batch, acting)
	wants{"#healthy tr[data-id]": "=25", "#healthy a[rel=next]": "More"}.check(t, s.get(t, "/in-flight", 200))
	first := s.get(t, "/in-flight?kind=healthy", 200)
	wants{"tr[data-id]": "=100", "tbody": "=1", `#stats a[href^="/in-flight#"]`: "", `#stats a[href^="#"]`: "=0", `#all a[href="/in-flight"]`: "All leases"}.check(t, first)
	last := s.get(t, first.Find("a[rel=next]").AttrOr("href", ""), 200)
	if n := last.Find("tr[data-id]").Length(); n < 30 || n >= 100 || last.Find("a[rel=next]").Length() != 0 {
		t.Errorf("the last part has %d leases", n)
	}
	wants{"#weak_accept tr:last-child": "None now."}.check(t, s.get(t, "/in-flight?kind=weak_accept", 200))
	s.get(t, "/in-flight?kind=healthy&from=-1", 400)
	s.get(t, "/in-flight?kind=nothing", 400)
}

// TestTheLedeCountsWhatTheGroupsShow has a message that was handed back and is due again: no worker holds it, and its group says so.
func TestTheLedeCountsWhatTheGroupsShow(t *testing.T) {
	t.Parallel()
	story := webtest.Rich(noon)
	m := story.Publish("tsk-back", "cto", "review", "Was handed back", -20*time.Second, "")
	story.Deliver(m, 1, -10*time.Second)
	story.Say(lifecycle.Nacked, m, 1, -8*time.Second, lifecycle.Detail{Ending: lifecycle.Ending{Delay: 2 * time.Second}})
	s := newSite(t, story.Batch, acting)
	page := s.get(t, "/in-flight", 200)
	wants{
		"#lede": "7 leases (6 held, 1 ended without a next attempt), 4 with something wrong", "#handed_back .kind": "Handed back 1", "#handed_back tr[data-id]": "=1", "#healthy .kind": "Healthy 2",
		"#leases tr[data-id]": "=7", "#stats a:last-child": "1 handed back",
	}.check(t, page)
	wants{"tr[data-id]": "=1", "tbody": "=1"}.check(t, s.get(t, "/in-flight?kind=handed_back", 200))
}

// TestNoLeaseIsStaleOverUnreadAnswers has a collector of acknowledgements that is two hours behind: the heartbeats of the leases may wait to be read.
func TestNoLeaseIsStaleOverUnreadAnswers(t *testing.T) {
	t.Parallel()
	story := webtest.NewStory(noon)
	m := story.Publish("tsk-unread", "cto", "review", "Its heartbeats wait", -time.Hour, "")
	story.Deliver(m, 1, -50*time.Minute)
	story.Consumer("cto", 0, -50*time.Minute)
	behind := func(c *setup) {
		c.Health = health.ReporterFunc(func() []health.Part {
			return []health.Part{{Name: "acks", Kind: "collector", State: health.Behind, Lag: 2 * time.Hour, LastAt: noon}}
		})
	}
	s := newSite(t, story.Batch, behind)
	board := s.get(t, "/in-flight", 200)
	wants{
		"#not_read .kind": "Answers not seen 1", "#not_read td[data-label=next]": "not known: answers were not seen", "#not_read td[data-label=heartbeat]": "none seen", "#lede": "1 lease, nothing known to be wrong", "#stats a:last-child .d": "1 not seen",
	}.check(t, board)
	wants{"#stats a[href='/in-flight']:nth-child(2) .d": "1 deadline passed, answers not seen"}.check(t, s.get(t, "/", 200))
	if at := board.Find("#not_read td[data-label=next] .dim"); at.Length() > 0 {
		t.Errorf("what is not known is said to happen %q", at.Text())
	}
	wants{"#main": "Not known yet"}.check(t, s.get(t, "/tasks/tsk-unread", 200))
	wants{"#stale .kind": "Stale 1"}.check(t, newSite(t, story.Batch).get(t, "/in-flight", 200))
}

// TestTheBoardFitsATabletWhileWeAreBlind has leases of which only heartbeats were seen, so that more words stand in a row.
func TestTheBoardFitsATabletWhileWeAreBlind(t *testing.T) {
	t.Parallel()
	story := webtest.Rich(noon) // Its completed tasks say how long the type usually takes.
	for i, agent := range []string{"devops", "frontend"} {
		m := story.Publish(agent+"-infrastructure-142", agent, "content_creation", "Move content-pipeline to spot nodes", -5*time.Minute, "")
		story.Report(lifecycle.ReportClaimed, m, 1, -50*time.Second, lifecycle.Detail{LeaseReport: lifecycle.LeaseReport{LeaseOwner: agent + "/5fe3ce", LeaseVersion: 1}})
		story.Say(lifecycle.Heartbeat, m, 1, -time.Duration(40-20*i)*time.Second, lifecycle.Detail{})
		story.Consumer(agent, 0, -50*time.Second)
	}
	s := newSite(t, story.Batch, acting, func(c *setup) {
		c.Health = health.ReporterFunc(func() []health.Part {
			return []health.Part{{Name: "acks", Kind: "collector", State: health.Down, Lag: 30 * time.Second, LastAt: noon}}
		})
	})
	b := openTab(t, testkit.Browser(t), s)
	b.open(t, "/in-flight")
	if text := eval[string](t, b, `document.querySelector("#leases").innerText`); !strings.Contains(text, "past or longer") && !strings.Contains(text, "at most") {
		t.Fatalf("no lease has a deadline at the latest: %s", text)
	}
	for _, width := range []int64{753, 768, 1024} {
		b.do(t, "resize", chromedp.EmulateViewport(width, 900))
		if wide := eval[string](t, b, `[...document.querySelectorAll(".table-wrap")].filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.scrollWidth + " in " + e.clientWidth).join()`); wide != "" {
			t.Errorf("at %d px the board is wider than its box: %s", width, wide)
		}
	}
}

// TestARedBadgeIsNoZero has a lease that is past its last deadline, and no worker holds anything.
func TestARedBadgeIsNoZero(t *testing.T) {
	t.Parallel()
	story := webtest.NewStory(noon)
	m := story.Publish("tsk-gone", "cto", "review", "Without a worker", -2*time.Hour, "")
	for n := range 3 {
		story.Deliver(m, n+1, time.Duration(n-90)*time.Minute)
		story.Expire(m, n+1, time.Duration(n-90)*time.Minute, time.Duration(n-89)*time.Minute)
	}
	page := newSite(t, story.Batch).get(t, "/in-flight", 200)
	wants{"#lede": "(0 held", "#nav-in-flight [aria-hidden]": "1"}.check(t, page)
}

// TestAMissingDeadlineSaysWhyOnHoverAndFocus has a lease whose consumer nobody has told of, and one that was handed back.
func TestAMissingDeadlineSaysWhyOnHoverAndFocus(t *testing.T) {
	t.Parallel()
	story := webtest.Rich(noon)
	m := story.Publish("tsk-strange", "legal", "review", "Of a consumer that nobody knows", -time.Minute, "")
	story.Deliver(m, 1, -50*time.Second)
	s := newSite(t, story.Batch)
	wants{"#healthy .kind": "Within the ack wait, where the deadline is known. Nothing wrong was seen."}.check(t, s.get(t, "/in-flight", 200))
	wants{"tr[data-id=tsk-strange] td.left": "not known. The deadline is the last sign of the worker plus the wait of the consumer legal-task-worker."}.check(t, s.get(t, "/in-flight", 200))
	b := openTab(t, testkit.Browser(t), s)
	b.open(t, "/in-flight")
	b.run(t, `document.querySelector("tr[data-id=tsk-strange] td.left [tabindex]").focus()`)
	b.until(t, `document.querySelector(".tip")?.textContent.startsWith("The deadline is") && document.querySelector(".tip").checkVisibility()`)
	b.press(t, kb.Escape)
	b.until(t, `document.querySelector(".tip").hidden`)
}

// TestATimeThatPassesIsNoEvent has a page that stands still: what was due then is not said to have happened.
func TestATimeThatPassesIsNoEvent(t *testing.T) {
	t.Parallel()
	b := openTab(t, testkit.Browser(t), newSite(t, webtest.Rich(noon).Batch))
	b.open(t, "/in-flight")
	b.run(t, controlK)
	b.until(t, `document.querySelector("#palette")?.open`)
	b.run(t, `for (const due of document.querySelectorAll("#healthy td[data-label=next] time, #stats time")) due.dateTime = new Date(Date.parse(document.body.dataset.now) - 5000).toISOString()`)
	b.until(t, `document.querySelector("#healthy td[data-label=next]").innerText.replace(/\s+/g, " ").includes("unless it answers: redelivered (due)") && document.querySelector("#stats a:last-child .d").innerText.includes("next deadline (due)")`)
}
