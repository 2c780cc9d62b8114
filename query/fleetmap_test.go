package query

import (
	"fmt"
	"testing"
	"time"

	"fleetglass/lifecycle"
)

// manyAgents are so many agents, each with more work and more types than the one before.
func manyAgents(n int) Agents {
	out := Agents{AsOf: historyNow()}
	for i := range n {
		a := AgentStatistics{Name: fmt.Sprintf("agent-%02d", i), States: map[lifecycle.State]int64{lifecycle.StatePublished: 1}, LastSeen: out.AsOf}
		for k := range 1 + i%7 {
			a.Types = append(a.Types, TypeStatistics{Name: fmt.Sprintf("type-%d", k), Published: int64(10 * (k + 1)), Completed: int64(k)})
			a.Day.Published += int64(10 * (k + 1))
			a.Day.Completed += int64(k)
		}
		out.All = append(out.All, a)
	}
	return out
}

// However agents and types are put together, nothing is lost: the sums are those of the fleet.
func TestTheMapOfManyAgentsKeepsTheSums(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 3, 16, 17, 60} {
		agents := manyAgents(n)
		m := mapOf(agents)
		var want, got, byType [2]int64
		for _, a := range agents.All {
			want[0] += a.Day.Published
			want[1] += a.Day.Completed
		}
		places, stands := 0, 0
		for _, a := range m.Agents {
			stands += max(1, a.Several)
			got[0] += a.Published
			got[1] += a.Completed
			for _, typ := range a.Types {
				places++
				byType[0] += typ.Published
				byType[1] += typ.Completed
			}
		}
		if got != want || byType != want || stands != n {
			t.Errorf("%d agents: %v by agent, %v by type, want %v; %d agents are shown", n, got, byType, want, stands)
		}
		if len(m.Agents) > maxMapAgents || places > maxMapTypes {
			t.Errorf("%d agents have %d places and %d types", n, len(m.Agents), places)
		}
	}
}

func TestAnAgentIsSilentOnlyWhereWorkWaits(t *testing.T) {
	t.Parallel()
	now := historyNow()
	waits := map[lifecycle.State]int64{lifecycle.StatePublished: 2}
	held := []lifecycle.Lease{{State: lifecycle.StateProcessing}}
	for _, c := range []struct {
		a    AgentStatistics
		want Activity
	}{
		{AgentStatistics{States: waits, LastSeen: now.Add(-6 * time.Minute)}, ActivitySilent},
		{AgentStatistics{States: waits}, ActivitySilent},
		{AgentStatistics{States: waits, LastSeen: now.Add(-4 * time.Minute)}, ActivityIdle},
		{AgentStatistics{LastSeen: now.Add(-time.Hour)}, ActivityIdle},
		{AgentStatistics{States: waits, Leases: held}, ActivityBusy},
		{AgentStatistics{States: waits, Consumers: []lifecycle.ConsumerState{{Paused: true}}}, ActivityPaused},
		{AgentStatistics{States: waits, Consumers: []lifecycle.ConsumerState{{Gone: true}}}, ActivityGone},
	} {
		if got := c.a.Activity(now); got != c.want {
			t.Errorf("%+v is %s, want %s", c.a, got, c.want)
		}
	}
}
