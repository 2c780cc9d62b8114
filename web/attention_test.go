package web_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"fleetglass/internal/health"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/web/webtest"
)

func TestManyFindingsOfOneRuleAreOneRowWithTheirNumber(t *testing.T) {
	t.Parallel()
	story := webtest.NewStory(noon)
	for i := range 9 {
		m := story.Publish(fmt.Sprintf("tsk-%d", i), fmt.Sprintf("agent-%d", i%6), "review", "Waits", -time.Minute, "")
		story.Tell(lifecycle.Orphaned, lifecycle.Inferred, m, 0, -30*time.Second, lifecycle.Detail{})
	}
	wants{
		"#attention ol.attention li": "=1", "#attention .what": "Messages without a consumer: 9 (agent-0, agent-1 and 4 more agents)", "#attention .what[href='/alerts']": "", "#attention .when": "for 1 m",
	}.check(t, newSite(t, story.Batch).get(t, "/", 200))
}

func TestTheOverviewSaysThatACollectorIsDown(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, func(c *setup) {
		c.Health = health.ReporterFunc(func() []health.Part {
			return []health.Part{{Name: "acks", Kind: "collector", State: health.Down, Detail: "capture stream does not exist"}, {Name: "reports", Kind: "collector", State: health.OK, LastAt: noon}}
		})
	})
	wants{
		"#attention footer": "but collector acks is down: what happened since may not be seen.",
		".banner.bad":       "We may be blind: collector acks is down. capture stream does not exist. Pages show the last known state",
	}.check(t, s.get(t, "/", 200))
}

// TestTheWorstHarmIsFirstAndItsActionIsOneKeyAway has a large backlog that nobody takes below what the rules find first: two messages without a
// consumer.
func TestTheWorstHarmIsFirstAndItsActionIsOneKeyAway(t *testing.T) {
	t.Parallel()
	story := webtest.Rich(noon)
	for i := range 2 {
		m := story.Publish(fmt.Sprintf("tsk-legal-%d", i), "legal", "review", "Waits", -time.Hour, "")
		story.Tell(lifecycle.Orphaned, lifecycle.Inferred, m, 0, -time.Hour, lifecycle.Detail{})
	}
	for i, pending := range []uint64{10_000, 20_135} {
		story.Batch.Consumers = append(story.Batch.Consumers, lifecycle.ConsumerState{
			Stream: lifecycle.StreamID{Name: "TASKS"}, Name: fmt.Sprintf("idle%d-task-worker", i), CreatedAt: story.At(-2 * time.Hour), DeliveredAt: story.At(-time.Hour), ObservedAt: story.At(0), Pending: pending,
		})
	}
	s := newSite(t, story.Batch, acting)
	wants{
		"#attention li:nth-child(1) .what": "20,135 messages wait for idle1: no worker pulls", "#attention li:nth-child(1) .when": "for 1 h", "#attention li:nth-child(2) .what": "10,000 messages wait for idle0",
		"#attention li .do": "=8", "#attention footer a[href='/alerts']": "more finding",
	}.check(t, s.get(t, "/", 200))
	b := openTab(t, testkit.Browser(t), s)
	b.open(t, "/")
	b.do(t, "press Enter on the action", chromedp.Focus(chromedp.CSS("#attention li:first-child .do")), chromedp.KeyEvent(kb.Enter))
	b.until(t, `location.pathname === "/agents/idle1" && `+ready)
}
