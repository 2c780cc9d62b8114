package alerts_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"fleetglass/alerts"
	"fleetglass/lifecycle"
)

// A flood that a limit removed is one finding with the true number, and leads to exactly its tasks. What may have been an operator is none of it.
func TestAFloodThatALimitRemovedIsToldTogether(t *testing.T) {
	t.Parallel()
	now := lifecycle.MicrosOf(time.Date(2026, 11, 24, 12, 30, 0, 0, time.UTC))
	f := alerts.Facts{AsOf: now, RemovedFrom: now.Add(-24 * time.Hour).Truncate(time.Hour), RemovedCounts: map[lifecycle.Removal]int64{lifecycle.RemovedByLimit: 5973, lifecycle.RemovedByTTL: 2}}
	removed := func(n int, cause lifecycle.Removal) {
		for i := range n {
			f.Removed = append(f.Removed, lifecycle.TaskSummary{
				TaskID: string(cause) + strconv.Itoa(i), Agent: "cto", State: lifecycle.StateRemoved, Reason: "removed " + cause.Words(), LastEventAt: now.Add(-time.Hour),
			})
		}
	}
	removed(190, lifecycle.RemovedByLimit)
	removed(2, lifecycle.RemovedByTTL)
	removed(5, lifecycle.RemovedUnwatched)
	removed(3, lifecycle.RemovedByOperator)
	var said []string
	for _, found := range alerts.Attention(alerts.Find(&f, alerts.Defaults()), now) {
		if found.Rule != alerts.RuleRemoved {
			continue
		}
		said = append(said, found.What)
		if limit := found.Key == string(lifecycle.RemovedByLimit); limit != strings.Contains(found.Why, "had its most messages of one subject") {
			t.Errorf("%q: why %q", found.What, found.Why)
		}
		if found.Key != string(lifecycle.RemovedByLimit) {
			continue
		}
		address, err := url.Parse(found.Do.Page)
		if err != nil || found.Do.Label != "List the tasks" || found.Page != found.Do.Page {
			t.Errorf("it leads to %q: %q (%v)", found.Do.Label, found.Do.Page, err)
		}
		if q := address.Query(); q.Get("state") != "removed" || !strings.Contains(q.Get("q"), "removed by a limit of the stream") || q.Get("from") == "" {
			t.Errorf("the list is %v", q)
		}
	}
	want := []string{"5,973 tasks were removed by a limit of the stream before any worker had them", "ttl0 left its stream before any worker had it", "ttl1 left its stream before any worker had it"}
	if strings.Join(said, "\n") != strings.Join(want, "\n") {
		t.Errorf("it says %q, want %q", said, want)
	}
}
