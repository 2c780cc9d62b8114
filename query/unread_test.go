package query

import (
	"testing"
	"time"

	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

func TestLeasesAreJudgedUpToWhatWasReadAndLookedAt(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	now := lifecycle.MicrosOf(at)
	for name, tc := range map[string]struct {
		part health.Part
		want lifecycle.Micros
	}{
		"up to date":                         {health.Part{Name: "acks", State: health.OK, LastAt: at.Add(-time.Second)}, now.Add(-time.Second)},
		"says so, and looks no more":         {health.Part{Name: "acks", State: health.OK, LastAt: at.Add(-time.Minute)}, now.Add(-time.Minute)},
		"behind":                             {health.Part{Name: "acks", State: health.Behind, LastAt: at, Lag: time.Minute}, now.Add(-time.Minute)},
		"down since a while":                 {health.Part{Name: "acks", State: health.Down, LastAt: at.Add(-time.Hour)}, now.Add(-time.Hour)},
		"down while it was behind":           {health.Part{Name: "acks", State: health.Down, LastAt: at.Add(-time.Hour), Lag: time.Minute}, now.Add(-time.Hour - time.Minute)},
		"has read nothing yet":               {health.Part{Name: "acks", State: health.Starting}, longAgo},
		"up to date but for what came since": {health.Part{Name: "acks", State: health.OK, LastAt: at, Lag: 3 * time.Second}, now.Add(-3 * time.Second)},
		"consumers looked at":                {health.Part{Name: "brokersync", State: health.OK, LastAt: at.Add(-time.Second)}, now.Add(-time.Second)},
		"consumers not looked at any more":   {health.Part{Name: "brokersync", State: health.Down, LastAt: at.Add(-time.Hour)}, now.Add(-time.Hour)},
		"consumers not looked at yet":        {health.Part{Name: "brokersync", State: health.Starting}, longAgo},
		"has opened its stream only":         {health.Part{Name: "acks", State: health.OK}, longAgo},
		"another collector that is not":      {health.Part{Name: "publishes", State: health.Down}, now},
	} {
		if got := LeasesRead([]health.Part{tc.part}, now); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got.Time(), tc.want.Time())
		}
	}
}
