package query

import (
	"cmp"
	"context"
	"slices"
	"time"

	"fleetglass/lifecycle"
)

const (
	deadSample = 500                    // How many of the newest dead tasks causes and groups are counted in.
	deadAge    = 500 * time.Millisecond // How long that is shared.
)

// Dead is the newest tasks that ended without completing.
type Dead struct {
	Newest []lifecycle.TaskSummary // Newest last event first.
	More   bool                    // There are older ones, which are not in the causes and groups.
}

// Cause is why tasks died.
type Cause struct {
	Name     string // The category of the dead-letter entry; without one the row of the table of verdicts.
	Category string // Empty where the entry has none, or there is no entry.
	Count    int64
}

// DeadGroup is dead tasks of one cause and agent.
type DeadGroup struct {
	Cause
	Agent       string
	State       lifecycle.State // Of one of them.
	First, Last lifecycle.Micros
}

// Dead returns the newest dead tasks.
func (s *Service) Dead(ctx context.Context) (Dead, error) {
	return ask(ctx, s.cache, "dead", deadAge, func(ctx context.Context, _ lifecycle.Micros) (Dead, error) {
		f := lifecycle.Filter{States: lifecycle.StatesThat(lifecycle.State.Dead)}
		page, err := s.cfg.Store.ListTasks(ctx, f, lifecycle.Page{Limit: deadSample})
		return Dead{Newest: page.Tasks, More: page.Next != nil}, err
	})
}

func causeOf(t lifecycle.TaskSummary) Cause {
	return Cause{Name: cmp.Or(t.Category, t.Rule), Category: t.Category}
}

// Causes counts the causes, the most frequent first.
func (d Dead) Causes() []Cause {
	counts := map[Cause]int64{}
	for _, t := range d.Newest {
		counts[causeOf(t)]++
	}
	out := make([]Cause, 0, len(counts))
	for c, n := range counts {
		c.Count = n
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Category, b.Category))
	})
	return out
}

// Groups counts by cause and agent, the largest group first.
func (d Dead) Groups() []DeadGroup {
	type key struct {
		cause Cause
		agent string
	}
	groups := map[key]*DeadGroup{}
	for _, t := range d.Newest {
		k := key{causeOf(t), t.Agent}
		g := groups[k]
		if g == nil {
			g = &DeadGroup{Cause: k.cause, Agent: t.Agent, State: t.State, First: t.StateSince, Last: t.StateSince}
			groups[k] = g
		}
		g.Count++
		g.First, g.Last = min(g.First, t.StateSince), max(g.Last, t.StateSince)
	}
	out := make([]DeadGroup, 0, len(groups))
	for _, g := range groups {
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b DeadGroup) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Category, b.Category))
	})
	return out
}

// With counts the dead tasks that show an anomaly.
func (d Dead) With(code lifecycle.AnomalyCode) int64 {
	var n int64
	for _, t := range d.Newest {
		if slices.Contains(t.Anomalies, code) {
			n++
		}
	}
	return n
}

// Oldest is when the oldest of the dead tasks in that state entered it; zero when there is none.
func (d Dead) Oldest(state lifecycle.State) lifecycle.Micros {
	var oldest lifecycle.Micros
	for _, t := range d.Newest {
		if t.State == state && t.StateSince.Known() && (!oldest.Known() || t.StateSince < oldest) {
			oldest = t.StateSince
		}
	}
	return oldest
}
