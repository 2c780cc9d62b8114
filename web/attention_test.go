package web_test

import (
	"fmt"
	"testing"
	"time"

	"fleetglass/internal/health"
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
		"#attention ol.attention li": "=1", "#attention .what": "Messages without a consumer: 9, of agent-0, agent-1 and 4 more agents", "#attention .what[href='/alerts']": "", "#attention .when": "for 1 m",
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
		"#attention footer": "but acks is down: what happened since may not be seen.",
		".banner.bad":       "We may be blind: acks is down. capture stream does not exist. Pages show the last known state",
	}.check(t, s.get(t, "/", 200))
}
