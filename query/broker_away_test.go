package query

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fleetglass/lifecycle"
)

// While the broker was away nothing could be seen, so nothing was counted; it lost no line, so what was counted beside it is exact.
func TestTheTimeWithoutABrokerIsNotZero(t *testing.T) {
	t.Parallel()
	now := historyNow().Truncate(time.Hour)
	begin := now.Add(-6 * time.Minute)
	at := func(minutes float64) lifecycle.Micros {
		return begin.Add(time.Duration(minutes * float64(time.Minute)))
	}
	for _, c := range []struct {
		name string
		gaps []lifecycle.Gap
		want []Observed
	}{
		{"nothing was away", nil, []Observed{ObservedAll, ObservedAll, ObservedAll, ObservedAll}},
		{"two minutes and a half", []lifecycle.Gap{lifecycle.BrokerAway(at(0.5), at(3))}, []Observed{ObservedAll, ObservedNone, ObservedNone, ObservedAll}},
		{"it went on as lines were lost", []lifecycle.Gap{{Source: "OBS_PUB", From: at(1), To: at(1.5)}, lifecycle.BrokerAway(at(1.5), at(2))}, []Observed{ObservedAll, ObservedNone, ObservedAll, ObservedAll}},
		{"lines that were read again", []lifecycle.Gap{{Source: "OBS_PUB", From: at(1), To: at(3), Repaired: true}}, []Observed{ObservedAll, ObservedAll, ObservedAll, ObservedAll}},
	} {
		o := (&Service{}).observed(c.gaps, now)
		o.seen = begin
		var got []Observed
		for i := range 4 {
			got = append(got, o.of(at(float64(i)), at(float64(i+1)), false))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
