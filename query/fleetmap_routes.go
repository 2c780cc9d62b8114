package query

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"fleetglass/lifecycle"
)

// maxMapPublishers is how many publishers have a place of their own on the map.
const maxMapPublishers = 6

// MapPublisher is who publishes tasks, as their messages say. Nothing on the wire proves it.
type MapPublisher struct {
	Name            string   // Empty where messages do not say it. Of several: "3 other publishers".
	Several         int      // How many publishers it stands for at least, where it is not one.
	Names           []string // Those publishers; nil where it is one, and where nothing tells who they are.
	Published, Hour int64    // Messages of the last 24 hours, and of the last hour.
}

// MapGiven is what one publisher published of one type for an agent.
type MapGiven struct {
	Publisher       string // Name of a [MapPublisher].
	Several         bool   // It stands for several publishers.
	Published, Hour int64
}

// routes are, for each agent, the figures of the map that stand for a type or a publisher.
type routes map[string]agentRoutes

type agentRoutes struct {
	died  int64 // In the last hour.
	types map[string]*MapType
}

// routes reads who published what, and how much of each type came and went in the last hour.
func (s *Service) routes(ctx context.Context) (routes, error) {
	return ask(ctx, s.cache, "routes", agentsAge, func(ctx context.Context, now lifecycle.Micros) (routes, error) {
		day, err := s.cfg.Store.Rollups(ctx, []lifecycle.Metric{lifecycle.MetricGiven}, since(now, 24*time.Hour, time.Hour), now+1, true)
		if err != nil {
			return nil, err
		}
		hour, err := s.cfg.Store.Rollups(ctx, []lifecycle.Metric{
			lifecycle.MetricGivenMin, lifecycle.MetricDoneMin, lifecycle.MetricDiedMin,
		}, since(now, time.Hour, time.Minute), now+1, true)
		if err != nil {
			return nil, err
		}
		out := routes{}
		for _, cells := range []lifecycle.Tally{day, hour} {
			for name, of := range byAgent(cells) {
				out[name] = out[name].with(of)
			}
		}
		return out, nil
	})
}

func (r agentRoutes) with(cells lifecycle.Tally) agentRoutes {
	if r.types == nil {
		r.types = map[string]*MapType{}
	}
	for c, n := range cells {
		typ, publisher := lifecycle.Route(c.Label)
		switch c.Metric {
		case lifecycle.MetricGiven:
			r.typed(typ).give(MapGiven{Publisher: publisher, Published: n})
		case lifecycle.MetricGivenMin:
			r.typed(typ).HourPublished += n
			r.typed(typ).give(MapGiven{Publisher: publisher, Hour: n})
		case lifecycle.MetricDoneMin:
			r.typed(c.Label).HourCompleted += n
		case lifecycle.MetricDiedMin:
			r.died += n
		}
	}
	for _, t := range r.types {
		t.From = joinGiven(nil, t.From)
	}
	return r
}

func (r agentRoutes) typed(name string) *MapType {
	if r.types[name] == nil {
		r.types[name] = &MapType{}
	}
	return r.types[name]
}

// mapType is the type with its routes. What no publisher says is theirs is of the unknown one. Counts of the hour are read at another moment than
// those of the day, which are at least as high: nothing may read as if the last hour had more than the last 24.
func (r agentRoutes) mapType(t TypeStatistics) MapType {
	out := MapType{Name: t.Name, Others: t.Others(), Published: t.Published, Completed: t.Completed}
	unknown := MapGiven{Published: t.Published}
	if found := r.types[t.Name]; found != nil {
		out.HourPublished, out.HourCompleted = found.HourPublished, found.HourCompleted
		out.Published, out.Completed = max(out.Published, out.HourPublished), max(out.Completed, out.HourCompleted)
		for _, g := range found.From {
			if g.Publisher == "" {
				unknown.Hour = g.Hour
				continue
			}
			g.Published = max(g.Published, g.Hour)
			out.From = append(out.From, g)
			unknown.Published -= g.Published
		}
	}
	if unknown.Published = max(unknown.Hour, unknown.Published); unknown.Published+unknown.Hour > 0 {
		out.From = append(out.From, unknown)
	}
	return out
}

// give adds what a publisher published, which is not joined with what else it did.
func (t *MapType) give(g MapGiven) { t.From = append(t.From, g) }

// joinGiven adds up what each publisher published. There may be very many: whoever publishes can make names up.
func joinGiven(all, more []MapGiven) []MapGiven {
	out := make([]MapGiven, 0, len(all)+len(more))
	place := make(map[string]int, len(all)+len(more))
	for _, given := range [][]MapGiven{all, more} {
		for _, g := range given {
			i, known := place[g.Publisher]
			if !known {
				place[g.Publisher] = len(out)
				out = append(out, g)
				continue
			}
			out[i].Published, out[i].Hour = out[i].Published+g.Published, out[i].Hour+g.Hour
		}
	}
	return out
}

// addPublishers lists who publishes what the agents get. Those with least have one place together.
func (m *FleetMap) addPublishers() {
	all := m.given()
	if n := len(all) - 1; n >= 0 && all[n].Publisher == "" {
		all = all[:n]
	}
	few := fewest(all)
	names := namesOf(few)
	m.rename(few)
	place := map[string]int{}
	for i, g := range m.given() {
		place[g.Publisher] = i
		m.Publishers = append(m.Publishers, MapPublisher{Name: g.Publisher, Published: g.Published, Hour: g.Hour})
	}
	if len(few) > 0 {
		m.Publishers[len(all)-len(few)].Several = len(few)
		m.Publishers[len(all)-len(few)].Names = names
	}
	for t := range m.types() {
		slices.SortFunc(t.From, func(a, b MapGiven) int { return cmp.Compare(place[a.Publisher], place[b.Publisher]) })
	}
}

// fewest are those that have one place together: what is not counted apart ([lifecycle.OtherNames]) always is among them.
func fewest(all []MapGiven) []MapGiven {
	switch n := len(all); {
	case n > maxMapPublishers:
		return all[maxMapPublishers-1:]
	case n > 0 && all[n-1].Publisher == lifecycle.OtherNames:
		return all[n-1:]
	}
	return nil
}

// namesOf are the names of publishers; nil where it is not known who they are.
func namesOf(few []MapGiven) (names []string) {
	for _, g := range few {
		if g.Publisher == lifecycle.OtherNames {
			return nil
		}
		names = append(names, g.Publisher)
	}
	return names
}

// given is what each publisher published.
func (m *FleetMap) given() []MapGiven {
	var all []MapGiven
	for t := range m.types() {
		all = joinGiven(all, t.From)
	}
	sortGiven(all)
	return all
}

// sortGiven puts the one with most first, then what stands for several, then the unknown.
func sortGiven(all []MapGiven) {
	slices.SortFunc(all, func(a, b MapGiven) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(b.Published, a.Published), cmp.Compare(a.Publisher, b.Publisher))
	})
}

func (g MapGiven) rank() int {
	switch {
	case g.Publisher == "":
		return 2
	case g.Several, g.Publisher == lifecycle.OtherNames:
		return 1
	}
	return 0
}

// rename makes one publisher of these.
func (m *FleetMap) rename(few []MapGiven) {
	if len(few) == 0 {
		return
	}
	name := fmt.Sprintf("%d other publishers", len(few))
	if few[len(few)-1].Publisher == lifecycle.OtherNames {
		name = "other publishers" // Nobody knows how many.
	}
	named := make(map[string]bool, len(few))
	for _, g := range few {
		named[g.Publisher] = true
	}
	for t := range m.types() {
		for i, g := range t.From {
			if named[g.Publisher] {
				t.From[i].Publisher, t.From[i].Several = name, true
			}
		}
		t.From = joinGiven(nil, t.From)
	}
}

// From is who gives the agent work.
func (a *MapAgent) From() []MapGiven {
	var all []MapGiven
	for _, t := range a.Types {
		all = joinGiven(all, t.From)
	}
	sortGiven(all)
	return all
}

// types are those of all agents.
func (m *FleetMap) types() iter.Seq[*MapType] {
	return func(yield func(*MapType) bool) {
		for _, a := range m.Agents {
			for i := range a.Types {
				if !yield(&a.Types[i]) {
					return
				}
			}
		}
	}
}
