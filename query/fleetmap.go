package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fleetglass/lifecycle"
)

// Activity is what an agent does now.
type Activity string

// The activities.
const (
	ActivityBusy   Activity = "busy"   // A message is in its workers' hands.
	ActivityIdle   Activity = "idle"   // None is, and nothing waits, or it was seen just now.
	ActivitySilent Activity = "silent" // Work waits, none is in its hands, and nothing was seen of it for five minutes.
	ActivityPaused Activity = "paused" // A consumer of it is paused.
	ActivityGone   Activity = "gone"   // A consumer of it existed and no longer does.
	ActivityUnseen Activity = "unseen" // Nothing waits, no consumer of it is known, and nothing was ever seen of it.
)

// silentAfter is how long an agent with waiting work may be quiet.
const silentAfter = 5 * time.Minute

// Activity is what the agent does now.
func (a AgentStatistics) Activity(now lifecycle.Micros) Activity {
	switch {
	case a.Held() > 0:
		return ActivityBusy
	case a.Paused():
		return ActivityPaused
	case a.Gone():
		return ActivityGone
	case a.Waiting() > 0 && (!a.LastSeen.Known() || now.Sub(a.LastSeen) > silentAfter):
		return ActivitySilent
	case len(a.Consumers) == 0 && !a.LastSeen.Known():
		return ActivityUnseen
	}
	return ActivityIdle
}

// Bounds of the map: what one can still read.
const (
	maxMapAgents = 16 // Agents with a place of their own; the others have one together.
	maxMapTypes  = 40 // Places of task types, over all agents.
)

// FleetMap says who gives work to whom.
type FleetMap struct {
	AsOf       lifecycle.Micros
	Since      lifecycle.Micros // Where the last 24 hours begin.
	Publishers []MapPublisher   // The one with most messages first, then the others together; the unknown, if there is any, is the last.
	Agents     []MapAgent       // Sorted by name; the others, if there are any, are the last.
	Partial    bool             // Leases may be missing: counts of what is in hand are lower bounds.
}

// MapAgent is an agent on the map, or several that have one place. Counts without a span are of the last 24 hours.
type MapAgent struct {
	Name                               string // Of several: "45 other agents".
	Several                            int    // How many agents it stands for, where it is not one.
	Activity                           Activity
	Held, Stale                        int
	Waiting                            int64
	HourPublished, HourCompleted       int64 // In the last hour.
	HourFailed, HourDied               int64
	Published, Completed, Failed, Died int64 // Failed attempts lead to a retry, or to the death of the message.
	LastSeen                           lifecycle.Micros
	Types                              []MapType // The one with most messages first; the last may stand for several.
}

// MapType is the tasks of one type at an agent, in the last 24 hours.
type MapType struct {
	Name                         string   // Empty where messages name none.
	Several                      int      // How many types it stands for, where it is not one.
	Names                        []string // Those types; nil where it is one.
	Others                       bool     // It stands for types that are not counted apart ([lifecycle.OtherNames]); nothing tells how many.
	Published, Completed         int64
	HourPublished, HourCompleted int64      // In the last hour.
	From                         []MapGiven // Who published them, in the order of the map's publishers.
}

// Map returns who gives work to whom.
func (s *Service) Map(ctx context.Context) (FleetMap, error) {
	agents, err := s.Agents(ctx)
	if err != nil {
		return FleetMap{}, err
	}
	routes, err := s.routes(ctx)
	if err != nil {
		return FleetMap{}, err
	}
	return mapOf(agents, routes), nil
}

// mapOf gives the agents with most to do places of their own.
func mapOf(agents Agents, r routes) FleetMap {
	out := FleetMap{AsOf: agents.AsOf, Since: since(agents.AsOf, 24*time.Hour, time.Hour), Partial: agents.Partial}
	for _, a := range agents.All {
		out.Agents = append(out.Agents, mapAgent(a, r[a.Name], agents.AsOf))
	}
	slices.SortStableFunc(out.Agents, func(a, b MapAgent) int { return cmp.Compare(b.weight(), a.weight()) })
	var rest []MapAgent
	if len(out.Agents) > maxMapAgents {
		rest = out.Agents[maxMapAgents-1:]
		out.Agents = out.Agents[: maxMapAgents-1 : maxMapAgents-1]
	}
	slices.SortFunc(out.Agents, func(a, b MapAgent) int { return strings.Compare(a.Name, b.Name) })
	if len(rest) > 0 {
		out.Agents = append(out.Agents, together(rest))
	}
	places := max(1, maxMapTypes/max(1, len(out.Agents)))
	for i := range out.Agents {
		out.Agents[i].Types = mostTypes(out.Agents[i].Types, min(places, 5))
	}
	out.addPublishers()
	return out
}

// weight is how much there is to see of an agent. What is wrong counts most.
func (a MapAgent) weight() int64 {
	return a.Published + a.Completed + a.Failed + a.Waiting + 1000*(int64(a.Stale)+a.Died)
}

func mapAgent(a AgentStatistics, r agentRoutes, now lifecycle.Micros) MapAgent {
	out := MapAgent{
		Name: a.Name, Activity: a.Activity(now), Held: a.Held(), Stale: a.Stale(), Waiting: a.Waiting(), HourPublished: a.Hour.Published, HourCompleted: a.Hour.Completed,
		HourFailed: a.Hour.Failed, HourDied: r.died, Published: a.Day.Published, Completed: a.Day.Completed, Failed: a.Day.Failed, Died: max(a.DiedDay, r.died), LastSeen: a.LastSeen,
	}
	for _, t := range a.Types {
		if t.Published+t.Completed > 0 {
			out.Types = append(out.Types, r.mapType(t))
		}
	}
	return out
}

// together makes one place of several agents. It is silent where one of them is, so that nobody overlooks it.
func together(agents []MapAgent) MapAgent {
	out := MapAgent{Name: fmt.Sprintf("%d other agents", len(agents)), Several: len(agents), Activity: ActivityIdle}
	for _, a := range agents {
		out.Held, out.Stale, out.Waiting = out.Held+a.Held, out.Stale+a.Stale, out.Waiting+a.Waiting
		out.HourPublished, out.HourCompleted = out.HourPublished+a.HourPublished, out.HourCompleted+a.HourCompleted
		out.Published, out.Completed = out.Published+a.Published, out.Completed+a.Completed
		out.HourFailed, out.HourDied = out.HourFailed+a.HourFailed, out.HourDied+a.HourDied
		out.Failed, out.Died, out.LastSeen = out.Failed+a.Failed, out.Died+a.Died, max(out.LastSeen, a.LastSeen)
		out.Types = append(out.Types, a.Types...)
		if a.Activity == ActivitySilent || (a.Activity == ActivityBusy && out.Activity != ActivitySilent) {
			out.Activity = a.Activity
		}
	}
	out.Types = mostTypes(out.Types, 1)
	return out
}

// names are the types that it stands for.
func (t MapType) names() []string {
	if t.Several > 0 {
		return t.Names
	}
	return []string{t.Name}
}

// mostTypes keeps the types with most messages, and makes one of the others.
func mostTypes(types []MapType, most int) []MapType {
	slices.SortStableFunc(types, func(a, b MapType) int { return cmp.Compare(b.Published+b.Completed, a.Published+a.Completed) })
	if len(types) <= most {
		return types
	}
	rest := MapType{}
	for _, t := range types[most-1:] {
		rest.Several += max(1, t.Several)
		rest.Others = rest.Others || t.Others
		rest.Names = append(rest.Names, t.names()...)
		rest.Published, rest.Completed = rest.Published+t.Published, rest.Completed+t.Completed
		rest.HourPublished, rest.HourCompleted = rest.HourPublished+t.HourPublished, rest.HourCompleted+t.HourCompleted
		rest.From = joinGiven(rest.From, t.From)
	}
	return append(types[:most-1:most-1], rest)
}
