package query

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
		m := mapOf(agents, nil)
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
				if typ.Several != len(typ.Names) {
					t.Errorf("%d agents: %d types are named %v", n, typ.Several, typ.Names)
				}
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
		{AgentStatistics{}, ActivityUnseen},
		{AgentStatistics{Consumers: []lifecycle.ConsumerState{{}}}, ActivityIdle},
		{AgentStatistics{States: waits, Consumers: []lifecycle.ConsumerState{{Paused: true}}}, ActivityPaused},
		{AgentStatistics{States: waits, Consumers: []lifecycle.ConsumerState{{Gone: true}}}, ActivityGone},
	} {
		if got := c.a.Activity(now); got != c.want {
			t.Errorf("%+v is %s, want %s", c.a, got, c.want)
		}
	}
}

// manyRoutes are what so many publishers published for an agent, each more than the one before, and 100 messages of nobody.
func manyRoutes(n int) (Agents, routes) {
	agents := Agents{AsOf: historyNow(), All: []AgentStatistics{{Name: "cto", Types: []TypeStatistics{{Name: "a|b", Published: 100}, {Name: "quiet"}}}}}
	cells := lifecycle.Tally{{Metric: lifecycle.MetricGivenMin, Agent: "cto", Label: lifecycle.RouteLabel("a|b", "")}: 2}
	for i := range n {
		label := lifecycle.RouteLabel("a|b", fmt.Sprintf("p%d", i))
		cells[lifecycle.Cell{Metric: lifecycle.MetricGiven, Agent: "cto", Label: label}] = int64(10 + i)
		cells[lifecycle.Cell{Metric: lifecycle.MetricGivenMin, Agent: "cto", Label: label}] = 1
		agents.All[0].Types[0].Published += int64(10 + i)
	}
	agents.All[0].Day.Published = agents.All[0].Types[0].Published
	return agents, routes{"cto": agentRoutes{}.with(cells)}
}

// Who is not named is unknown and never guessed, and however many publishers there are, the sums are those of the messages.
func TestTheMapKnowsOnlyThePublishersThatMessagesName(t *testing.T) {
	t.Parallel()
	for n, want := range map[int][]MapPublisher{
		0: {{Published: 100, Hour: 2}},
		2: {{Name: "p1", Published: 11, Hour: 1}, {Name: "p0", Published: 10, Hour: 1}, {Published: 100, Hour: 2}},
		8: {
			{Name: "p7", Published: 17, Hour: 1}, {Name: "p6", Published: 16, Hour: 1}, {Name: "p5", Published: 15, Hour: 1}, {Name: "p4", Published: 14, Hour: 1},
			{Name: "p3", Published: 13, Hour: 1}, {Name: "3 other publishers", Several: 3, Names: []string{"p2", "p1", "p0"}, Published: 33, Hour: 3}, {Published: 100, Hour: 2},
		},
	} {
		m := mapOf(manyRoutes(n))
		if d := cmp.Diff(want, m.Publishers); d != "" {
			t.Errorf("%d publishers (-want +got):\n%s", n, d)
		}
		sum := int64(0)
		for i, g := range m.Agents[0].Types[0].From {
			sum += g.Published
			if g.Publisher != m.Publishers[i].Name {
				t.Errorf("%d publishers: the type has %q at %d, the map %q", n, g.Publisher, i, m.Publishers[i].Name)
			}
		}
		if typ := m.Agents[0].Types[0]; sum != typ.Published || typ.HourPublished != int64(n+2) {
			t.Errorf("%d publishers: %d by publisher, %+v", n, sum, typ)
		}
	}
}

// The counts of the hour are read later than those of the day. What came in between must not make the last hour longer than the last 24.
func TestTheMapHasNoHourWithMoreThanItsDay(t *testing.T) {
	t.Parallel()
	agents := Agents{AsOf: historyNow(), All: []AgentStatistics{{Name: "cto", Types: []TypeStatistics{{Name: "review", Published: 5, Completed: 2}}}}}
	read := routes{"cto": {died: 1, types: map[string]*MapType{"review": {
		HourPublished: 8, HourCompleted: 3, From: []MapGiven{{Publisher: "ceo", Published: 3, Hour: 4}, {Publisher: "", Hour: 4}},
	}}}}
	m := mapOf(agents, read)
	for _, a := range m.Agents {
		if a.Died < a.HourDied {
			t.Errorf("%s: %d died in the hour, %d in 24 h", a.Name, a.HourDied, a.Died)
		}
		for _, typ := range a.Types {
			if typ.Published < typ.HourPublished || typ.Completed < typ.HourCompleted {
				t.Errorf("%s: the hour has more than the day: %+v", typ.Name, typ)
			}
		}
	}
	for _, p := range m.Publishers {
		if p.Published < p.Hour {
			t.Errorf("publisher %q: %d in the hour, %d in 24 h", p.Name, p.Hour, p.Published)
		}
	}
}

// Whoever publishes can make publishers up.
func TestVeryManyPublishersAreJoinedAtOnce(t *testing.T) {
	t.Parallel()
	const many = 50_000
	cells := lifecycle.Tally{}
	for i := range many {
		cells[lifecycle.Cell{Metric: lifecycle.MetricGiven, Bucket: 1, Agent: "cto", Label: lifecycle.RouteLabel("blog", fmt.Sprint("p", i))}] = 1
	}
	began := time.Now()
	r := agentRoutes{}.with(cells)
	m := FleetMap{Agents: []MapAgent{{Types: []MapType{r.mapType(TypeStatistics{Name: "blog", Published: many})}}}}
	m.addPublishers()
	if n := len(m.Publishers); n != maxMapPublishers || m.Publishers[n-1].Several != many-maxMapPublishers+1 {
		t.Errorf("%d publishers, the last of them %+v", n, m.Publishers[n-1])
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("took %s", took)
	}
}
