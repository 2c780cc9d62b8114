package query

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"fleetglass/lifecycle"
)

// AgentStatistics is one agent and its load.
type AgentStatistics struct {
	Name      string
	States    map[lifecycle.State]int64 // Its tasks by state; states without tasks are absent.
	Tasks     int64
	Leases    []lifecycle.Lease         // Worst first.
	Consumers []lifecycle.ConsumerState // Those named after it, and other workers' consumers that take its tasks.

	Pending       uint64 // Messages that its consumers have not delivered, by the broker's state, without consumers that take other agents' tasks too.
	PendingKnown  bool
	OldestWaiting lifecycle.Micros // When the oldest message that no worker has now was stored; zero when there is none.

	Hour, Day Throughput
	FailedHow map[string]int64  // The failed attempts of the day by how they ended.
	DiedDay   int64             // Tasks that ended in the day without completing.
	CostDay   CostOf            // What was reported of its tasks that were published in the day.
	Durations lifecycle.Typical // Running times of the tasks that it completed in the last seven days.
	Minutes   []Minute          // The last hour, oldest first; minutes in which nothing happened are absent.
	Types     []TypeStatistics  // Sorted by name.

	LastSeen lifecycle.Micros // When it last took a delivery, sent a heartbeat or answered, to the minute.
}

// Throughput counts messages and attempts of a span.
type Throughput struct {
	Published, Completed int64
	Failed               int64 // Attempts that ended by nak, termination or timeout.
}

// Minute is the throughput of one minute.
type Minute struct {
	At lifecycle.Micros
	Throughput
}

// TypeStatistics is the load of one task type at an agent.
type TypeStatistics struct {
	Name                 string
	Published, Completed int64             // Of the last day.
	Cost                 CostOf            // What was reported of its tasks that were published in the last day.
	Durations            lifecycle.Typical // Of seven days.
}

// Others reports whether it stands for the types that are not counted apart ([lifecycle.OtherNames]).
func (t TypeStatistics) Others() bool { return t.Name == lifecycle.OtherNames }

// Held counts the messages in its workers' hands.
func (a AgentStatistics) Held() int {
	n := 0
	for _, l := range a.Leases {
		if l.State.InFlight() {
			n++
		}
	}
	return n
}

// Stale counts its leases with something wrong.
func (a AgentStatistics) Stale() int {
	n := 0
	for _, l := range a.Leases {
		if l.Stale != "" {
			n++
		}
	}
	return n
}

// Waiting counts its tasks that no worker has now.
func (a AgentStatistics) Waiting() int64 { return a.States[lifecycle.StatePublished] }

// Gone reports whether one of its consumers existed and no longer does.
func (a AgentStatistics) Gone() bool {
	return slices.ContainsFunc(a.Consumers, func(c lifecycle.ConsumerState) bool { return c.Gone })
}

// Paused reports whether a consumer of it is paused.
func (a AgentStatistics) Paused() bool {
	return slices.ContainsFunc(a.Consumers, func(c lifecycle.ConsumerState) bool { return c.Paused })
}

// Agents are all agents ([FleetSnapshot.AgentNames]), sorted by name.
type Agents struct {
	AsOf    lifecycle.Micros
	All     []AgentStatistics
	Unnamed AgentStatistics // What names no agent.
	Partial bool            // [InFlight.Partial]: leases may be missing.
}

// Of returns the agent of that name, or nil.
func (a Agents) Of(name string) *AgentStatistics {
	i, found := slices.BinarySearchFunc(a.All, name, func(s AgentStatistics, name string) int { return strings.Compare(s.Name, name) })
	if !found {
		return nil
	}
	return &a.All[i]
}

// agentsAge is how long an answer about agents is shared.
const agentsAge = 500 * time.Millisecond

// Agents returns the agents and their load: the last hour and 24 hours from the rollups, durations over seven days.
func (s *Service) Agents(ctx context.Context) (Agents, error) {
	return ask(ctx, s.cache, "agents", agentsAge, func(ctx context.Context, now lifecycle.Micros) (Agents, error) {
		load, err := s.load(ctx)
		if err != nil {
			return Agents{}, err
		}
		durations, err := s.agentDurations(ctx)
		if err != nil {
			return Agents{}, err
		}
		inFlight, err := s.InFlight(ctx)
		if err != nil {
			return Agents{}, err
		}
		consumers, err := s.Consumers(ctx)
		if err != nil {
			return Agents{}, err
		}
		facets, err := s.Facets(ctx)
		if err != nil {
			return Agents{}, err
		}
		b := agentBook{of: map[string]*AgentStatistics{}, agentOf: s.cfg.AgentOf}
		b.addLoad(load)
		b.addDurations(durations)
		b.addInFlight(inFlight)
		names := s.agentNames(facets, consumers, inFlight)
		b.addConsumers(consumers, names)
		return Agents{AsOf: now, All: b.named(names), Unnamed: *b.agent(""), Partial: inFlight.Partial}, nil
	})
}

// agentBook collects the figures of each agent.
type agentBook struct {
	of      map[string]*AgentStatistics
	agentOf func(consumer string) string
}

func (b agentBook) agent(name string) *AgentStatistics {
	a := b.of[name]
	if a == nil {
		a = &AgentStatistics{Name: name, States: map[lifecycle.State]int64{}, FailedHow: map[string]int64{}}
		b.of[name] = a
	}
	return a
}

func (b agentBook) addLoad(t lifecycle.Tally) {
	for name, cells := range byAgent(t) {
		a := b.agent(name)
		minutes, types := map[lifecycle.Micros]*Minute{}, map[string]*TypeStatistics{}
		for c, n := range cells {
			a.add(c, n)
			a.addMinute(minutes, c, n)
			a.addType(types, c, n)
		}
		for _, at := range slices.Sorted(maps.Keys(minutes)) {
			a.Minutes = append(a.Minutes, *minutes[at])
		}
		for _, typ := range slices.Sorted(maps.Keys(types)) {
			a.Types = append(a.Types, *types[typ])
		}
	}
}

func (a *AgentStatistics) add(c lifecycle.Cell, n int64) {
	switch c.Metric {
	case lifecycle.MetricState:
		a.States[lifecycle.State(c.Label)] += n
		a.Tasks += n
	case lifecycle.MetricPublished:
		a.Day.Published += n
	case lifecycle.MetricCompleted:
		a.Day.Completed += n
	case lifecycle.MetricFailedAttempts:
		a.Day.Failed += n
		a.FailedHow[c.Label] += n
	case lifecycle.MetricDied:
		a.DiedDay += n
	}
	a.CostDay.add(c, n)
}

func (a *AgentStatistics) addMinute(minutes map[lifecycle.Micros]*Minute, c lifecycle.Cell, n int64) {
	if !c.Metric.Minute() {
		return
	}
	m := minutes[c.Bucket]
	if m == nil {
		m = &Minute{At: c.Bucket}
		minutes[c.Bucket] = m
	}
	switch c.Metric {
	case lifecycle.MetricPublishedMin:
		m.Published += n
		a.Hour.Published += n
	case lifecycle.MetricCompletedMin:
		m.Completed += n
		a.Hour.Completed += n
		a.LastSeen = max(a.LastSeen, c.Bucket)
	case lifecycle.MetricFailedMin:
		m.Failed += n
		a.Hour.Failed += n
	}
}

func (a *AgentStatistics) addType(types map[string]*TypeStatistics, c lifecycle.Cell, n int64) {
	switch c.Metric {
	case lifecycle.MetricPublished, lifecycle.MetricCompleted, lifecycle.MetricCost, lifecycle.MetricCosted:
	default:
		return
	}
	t := types[c.Label]
	if t == nil {
		t = &TypeStatistics{Name: c.Label}
		types[c.Label] = t
	}
	t.Cost.add(c, n)
	switch c.Metric {
	case lifecycle.MetricPublished:
		t.Published += n
	case lifecycle.MetricCompleted:
		t.Completed += n
	}
}

func (b agentBook) addDurations(of map[string]durations) {
	for name, d := range of {
		a := b.agent(name)
		a.Durations = d.all
		for typ, typical := range d.byType {
			i, found := slices.BinarySearchFunc(a.Types, typ, func(t TypeStatistics, name string) int { return strings.Compare(t.Name, name) })
			if !found {
				a.Types = slices.Insert(a.Types, i, TypeStatistics{Name: typ})
			}
			a.Types[i].Durations = typical
		}
	}
}

func (b agentBook) addInFlight(f InFlight) {
	for _, l := range f.Leases {
		a := b.agent(l.Agent)
		a.Leases = append(a.Leases, l)
		a.LastSeen = max(a.LastSeen, l.BeganAt, l.LastBeat)
	}
	for name, at := range f.OldestWaiting {
		b.agent(name).OldestWaiting = at
	}
}

// addConsumers gives each agent its consumers; names are all agents. One that is gone is that of the agent that it is named after, and of others while no consumer
// takes their tasks.
func (b agentBook) addConsumers(consumers Consumers, names []string) {
	for _, gone := range []bool{false, true} {
		for _, c := range consumers.All {
			if c.Gone != gone {
				continue
			}
			own := b.agentOf(c.Name)
			b.agent(own).addConsumer(c, true)
			agents, all := c.TakesOf()
			if all {
				agents = names
			}
			for _, name := range agents {
				if a := b.agent(name); name != own && !c.Watches && (!gone || !a.served()) {
					a.addConsumer(c, !all && len(agents) == 1)
				}
			}
		}
	}
}

// addConsumer adds a consumer; alone says that it delivers no other agent's tasks.
func (a *AgentStatistics) addConsumer(c lifecycle.ConsumerState, alone bool) {
	a.Consumers = append(a.Consumers, c)
	if !alone {
		return
	}
	a.LastSeen = max(a.LastSeen, c.DeliveredAt)
	if !c.Gone {
		a.Pending, a.PendingKnown = a.Pending+c.Pending, true
	}
}

// served reports whether one of its consumers is there.
func (a *AgentStatistics) served() bool {
	return slices.ContainsFunc(a.Consumers, func(c lifecycle.ConsumerState) bool { return !c.Gone })
}

// named lists the agents of those names, in their order.
func (b agentBook) named(names []string) []AgentStatistics {
	out := make([]AgentStatistics, len(names))
	for i, name := range names {
		out[i] = *b.agent(name)
	}
	return out
}

// agentNames lists the agents, sorted: those that have tasks, a consumer, or a lease.
func (s *Service) agentNames(facets lifecycle.Facets, consumers Consumers, inFlight InFlight) []string {
	names := map[string]bool{}
	for name := range facets.Agents {
		names[name] = true
	}
	for _, c := range consumers.All {
		names[s.cfg.AgentOf(c.Name)] = true
	}
	for _, l := range inFlight.Leases {
		names[l.Agent] = true
	}
	delete(names, "") // What names no agent belongs to none.
	return slices.Sorted(maps.Keys(names))
}
