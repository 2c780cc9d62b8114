package query

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fleetglass/dlqtriage"
)

func TestATrendDrawsNoZeroWhereNothingWasObserved(t *testing.T) {
	t.Parallel()
	group := dlqtriage.EntryGroup{Values: []string{"cto", "timeout"}}
	counts := dlqtriage.GroupSteps{Values: []string{"cto", "timeout"}}
	counts.Counts[1], counts.Counts[2] = 3, 5
	other := dlqtriage.GroupSteps{Values: []string{"cto", "other"}}
	other.Counts[0] = 9
	all := entryTrends{counts: []dlqtriage.GroupSteps{other, counts}, observed: []Observed{ObservedNone, ObservedNone, ObservedAll, ObservedPart}}
	want := []TrendStep{{0, ObservedNone}, {3, ObservedPart}, {5, ObservedAll}, {0, ObservedPart}}
	if diff := cmp.Diff(want, all.of(group).Steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	none := []TrendStep{{0, ObservedNone}, {0, ObservedNone}, {0, ObservedAll}, {0, ObservedPart}}
	if diff := cmp.Diff(none, all.of(dlqtriage.EntryGroup{Values: []string{"cso", "timeout"}}).Steps); diff != "" {
		t.Errorf("a group in which none died (-want +got):\n%s", diff)
	}
}
