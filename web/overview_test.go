package web_test

import (
	"testing"
	"time"

	"fleetglass/internal/health"
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
