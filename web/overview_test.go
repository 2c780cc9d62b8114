package web_test

import (
	"testing"

	"fleetglass/internal/health"
)

func TestNobodySaysThatNothingRanAgainWhereNothingWouldProveIt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		state health.State
		want  string
	}{"read": {health.OK, "0"}, "not read": {health.NotConfigured, "unknown"}} {
		s := newSite(t, incident(1).Batch, func(c *setup) {
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
