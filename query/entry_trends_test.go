package query

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

func TestATrendDrawsNoZeroWhereNothingWasObserved(t *testing.T) {
	t.Parallel()
	group := dlqtriage.EntryGroup{Values: []string{"cto", "timeout"}}
	counts := dlqtriage.GroupSteps{Values: []string{"cto", "timeout"}}
	counts.Counts[1], counts.Counts[2] = 3, 5
	other := dlqtriage.GroupSteps{Values: []string{"cto", "other"}}
	other.Counts[0] = 9
	begin := historyNow().Truncate(time.Hour)
	at := func(steps float64) lifecycle.Micros {
		return begin.Add(time.Duration(steps * float64(dlqtriage.TrendStep)))
	}
	all := entryTrends{from: begin, counts: []dlqtriage.GroupSteps{other, counts}, seen: observation{
		seen: at(2), now: at(dlqtriage.TrendSteps), blind: blindSpans([]lifecycle.Gap{{From: at(3.5), To: at(3.6)}}, at(dlqtriage.TrendSteps)),
	}}
	want := []TrendStep{{0, ObservedNone}, {3, ObservedPart}, {5, ObservedAll}, {0, ObservedPart}}
	if diff := cmp.Diff(want, all.of(group).Steps[:4]); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	none := []TrendStep{{0, ObservedNone}, {0, ObservedNone}, {0, ObservedAll}, {0, ObservedPart}}
	if diff := cmp.Diff(none, all.of(dlqtriage.EntryGroup{Values: []string{"cso", "timeout"}}).Steps[:4]); diff != "" {
		t.Errorf("a group in which none died (-want +got):\n%s", diff)
	}
}
