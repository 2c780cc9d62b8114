package lifecycle

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Labels of rollups hold words that agents choose: types of tasks and names of publishers. A word that is made up must not cost a row in every hour for
// ever. So the first words of an agent have a place, and keep it; whatever comes later is counted under [OtherNames], and sums stay exact (ADR 67).

// MaxNames is how many types, and how many publishers, are counted apart at one agent.
const MaxNames = 200

// MaxRoutes is how many pairs of a type and a publisher are counted apart at one agent. Beyond them a pair is counted with its type, under [OtherNames] for its publisher.
const MaxRoutes = 5 * MaxNames

// OtherNames stands in a label for every name without a place. No message can choose it: names that are read from messages do not begin with a space.
const OtherNames = " other"

// NameKind is a kind of names in labels.
type NameKind string

// The kinds.
const (
	NameOfType      NameKind = "type"      // A type of tasks.
	NameOfPublisher NameKind = "publisher" // Who publishes, by its own word.
	NameOfRoute     NameKind = "route"     // A type with its publisher, as in [RouteLabel].
)

func (k NameKind) places() int {
	if k == NameOfRoute {
		return MaxRoutes
	}
	return MaxNames
}

// NameGroup is the names of one kind at one agent.
type NameGroup struct {
	Kind  NameKind
	Agent string
}

// NamePlace is a name that is counted apart.
type NamePlace struct {
	NameGroup
	Name string
}

// NamePlaces are the names that have places, of the groups that were learned from the store. Places are given once and for all. The zero value has none.
type NamePlaces struct {
	of map[NameGroup]map[string]bool
}

// groupsKept bounds how many groups are remembered: agents can be made up too.
const groupsKept = 10_000

// Trim forgets all groups where they are too many to remember.
func (p *NamePlaces) Trim() {
	if len(p.of) > groupsKept {
		p.ForgetAll()
	}
}

// ForgetAll drops what is known, so that it is learned anew.
func (p *NamePlaces) ForgetAll() { clear(p.of) }

// Learn notes all names of a group that the store has.
func (p *NamePlaces) Learn(g NameGroup, names ...string) {
	if p.of == nil {
		p.of = map[NameGroup]map[string]bool{}
	}
	known := make(map[string]bool, len(names))
	for _, name := range names {
		known[name] = true
	}
	p.of[g] = known
}

// apart reports whether a name is counted apart, as far as it is known. open says that it is not, and could still get a place.
func (p *NamePlaces) apart(kind NameKind, agent, name string) (apart, open bool) {
	if name == "" {
		return true, false
	}
	known, learned := p.of[NameGroup{kind, agent}]
	if known[name] {
		return true, false
	}
	return false, name != OtherNames && (!learned || len(known) < kind.places())
}

// Lacking are the groups to learn anew before [NamePlaces.Bound]: the tallies have names of theirs that could get a place. There are none as a rule.
func (p *NamePlaces) Lacking(tallies ...Tally) []NameGroup {
	lacking := map[NameGroup]bool{}
	for _, t := range tallies {
		for cell := range t {
			if _, open := p.label(cell); !open {
				continue
			}
			for _, name := range cell.names() {
				if _, open := p.apart(name.Kind, name.Agent, name.Name); open {
					lacking[name.NameGroup] = true
				}
			}
		}
	}
	return sortedGroups(lacking)
}

// NameGroups are all groups of which the tallies have names.
func NameGroups(tallies ...Tally) []NameGroup {
	groups := map[NameGroup]bool{}
	for _, t := range tallies {
		for cell := range t {
			for _, name := range cell.names() {
				groups[name.NameGroup] = true
			}
		}
	}
	return sortedGroups(groups)
}

func sortedGroups(groups map[NameGroup]bool) []NameGroup {
	return slices.SortedFunc(maps.Keys(groups), func(a, b NameGroup) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Agent, b.Agent))
	})
}

// Give gives places to the names of the tallies, as long as there are some: those of the earliest buckets first, ties by name. It returns the new ones, for the store
// to keep. Whatever is [NamePlaces.Lacking] must have been learned.
func (p *NamePlaces) Give(tallies ...Tally) []NamePlace {
	var given []NamePlace
	for _, kinds := range [][]NameKind{{NameOfType, NameOfPublisher}, {NameOfRoute}} { // A route needs places for both of its names.
		for _, name := range p.wanting(kinds, tallies) {
			if _, open := p.apart(name.Kind, name.Agent, name.Name); open {
				p.of[name.NameGroup][name.Name] = true
				given = append(given, name)
			}
		}
	}
	return given
}

// wanting are the names of these kinds that could get a place, in the order in which they get it.
func (p *NamePlaces) wanting(kinds []NameKind, tallies []Tally) []NamePlace {
	since := map[NamePlace]Micros{}
	for _, t := range tallies {
		for cell := range t {
			for _, name := range cell.names() {
				if _, open := p.apart(name.Kind, name.Agent, name.Name); !open || !slices.Contains(kinds, name.Kind) || name.Kind == NameOfRoute && !p.whole(name) {
					continue
				}
				if at, seen := since[name]; !seen || cell.Bucket < at {
					since[name] = cell.Bucket
				}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(since), func(a, b NamePlace) int {
		return cmp.Or(cmp.Compare(since[a], since[b]), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Name, b.Name))
	})
}

// whole reports whether both names of a route have places.
func (p *NamePlaces) whole(route NamePlace) bool {
	typ, publisher := Route(route.Name)
	ofType, _ := p.apart(NameOfType, route.Agent, typ)
	ofPublisher, _ := p.apart(NameOfPublisher, route.Agent, publisher)
	return ofType && ofPublisher
}

// names are the names in the cell's label that agents choose.
func (c Cell) names() []NamePlace {
	switch c.Metric {
	case MetricPublished, MetricCompleted, MetricDoneMin, MetricCost, MetricCosted:
		return []NamePlace{{NameGroup{NameOfType, c.Agent}, c.Label}}
	case MetricRunning, MetricRunningDay, MetricRunningMin:
		return []NamePlace{{NameGroup{NameOfType, c.Agent}, c.Label[:max(0, strings.LastIndexByte(c.Label, '|'))]}}
	case MetricGiven, MetricGivenMin:
		typ, publisher := Route(c.Label)
		if publisher == "" {
			return []NamePlace{{NameGroup{NameOfType, c.Agent}, typ}}
		}
		return []NamePlace{{NameGroup{NameOfType, c.Agent}, typ}, {NameGroup{NameOfPublisher, c.Agent}, publisher}, {NameGroup{NameOfRoute, c.Agent}, c.Label}}
	}
	return nil
}

// Bound is the tally as it is kept: what is counted of names without a place is counted under [OtherNames]. It returns the tally itself where all have one.
func (p *NamePlaces) Bound(t Tally) Tally {
	bounded := true
	for cell := range t {
		if label, _ := p.label(cell); label != cell.Label {
			bounded = false
			break
		}
	}
	if bounded {
		return t
	}
	out := make(Tally, len(t))
	for cell, n := range t {
		cell.Label, _ = p.label(cell)
		out[cell] += n
	}
	maps.DeleteFunc(out, func(_ Cell, n int64) bool { return n == 0 })
	return out
}

// label is the label under which the cell is counted. open says that a name in it could still get a place.
func (p *NamePlaces) label(c Cell) (label string, open bool) {
	switch c.Metric {
	case MetricPublished, MetricCompleted, MetricDoneMin, MetricCost, MetricCosted:
		return p.named(NameOfType, c.Agent, c.Label)
	case MetricRunning, MetricRunningDay, MetricRunningMin:
		i := max(0, strings.LastIndexByte(c.Label, '|'))
		typ, open := p.named(NameOfType, c.Agent, c.Label[:i])
		if typ == OtherNames {
			return typ + c.Label[i:], open
		}
		return c.Label, open
	case MetricGiven, MetricGivenMin:
		return p.route(c)
	}
	return c.Label, false
}

func (p *NamePlaces) route(c Cell) (label string, open bool) {
	typ, publisher := Route(c.Label)
	shownType, openType := p.named(NameOfType, c.Agent, typ)
	shownPublisher, openPublisher := p.named(NameOfPublisher, c.Agent, publisher)
	switch {
	case shownType != typ || shownPublisher != publisher:
		return RouteLabel(shownType, shownPublisher), openType || openPublisher
	case publisher == "" || typ == OtherNames || publisher == OtherNames:
		return c.Label, false
	}
	apart, open := p.apart(NameOfRoute, c.Agent, c.Label)
	if !apart {
		return RouteLabel(typ, OtherNames), open // The type keeps its place, because its numbers must add up to those of the type alone.
	}
	return c.Label, false
}

// named is the name under which a name is counted.
func (p *NamePlaces) named(kind NameKind, agent, name string) (counted string, open bool) {
	apart, open := p.apart(kind, agent, name)
	if apart {
		return name, false
	}
	return OtherNames, open
}
