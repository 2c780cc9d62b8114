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
	Name     string          // The category of the dead-letter entry; without one the state.
	Category string          // Empty where the entry has none, or there is no entry.
	State    lifecycle.State // Of tasks without a category; empty for others.
	Count    int64
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
	if t.Category != "" {
		return Cause{Name: t.Category, Category: t.Category}
	}
	return Cause{Name: string(t.State), State: t.State}
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
