package web

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"fleetglass/access"
	"fleetglass/dlqtriage"
	"fleetglass/query"
	"fleetglass/views"
)

// maxDeadGroups is how many groups stand beside the list.
const maxDeadGroups = 40

// grouping is one way to put dead letters into groups.
type grouping struct {
	value, label, note string
	by                 []dlqtriage.GroupField
	clear              func(*dlqtriage.EntryFilter)        // Takes away what a group of it selects.
	name               func([]string) (heading, of string) // Of a group, from the values of its fields; the heading is empty where groups have none.
}

// groupings are in the order of their links; the first is the usual one.
var groupings = []grouping{
	{"", "Reason", "without numbers, ids and quoted texts", []dlqtriage.GroupField{dlqtriage.ByFingerprint}, func(f *dlqtriage.EntryFilter) { f.Fingerprints = nil }, ofReason},
	{"cause", "Cause", "as they were classified", []dlqtriage.GroupField{dlqtriage.ByCategory, dlqtriage.ByDetail}, func(f *dlqtriage.EntryFilter) { f.Categories, f.Details = nil, nil }, ofCause},
	{"agent", "Agent", "whose messages they are", []dlqtriage.GroupField{dlqtriage.ByAgent}, func(f *dlqtriage.EntryFilter) { f.Agents = nil }, ofAgent},
}

// ofReason names a group of reasons. Of those without a reason some may be fresh deaths whose reason was not read yet.
func ofReason(values []string) (heading, of string) {
	if values[0] == dlqtriage.NoReason {
		return "", "no reason known"
	}
	return "", values[0]
}

func ofCause(values []string) (heading, of string) {
	heading = cmp.Or(words(values[0]), "no category")
	return heading, cmp.Or(words(values[1]), "no detail")
}

func ofAgent(values []string) (heading, of string) { return "", cmp.Or(values[0], "no agent") }

func words(name string) string { return strings.ReplaceAll(name, "_", " ") }

func names(fields []dlqtriage.GroupField) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = string(f)
	}
	return out
}

// grouping is the one that the address asks for.
func (q entryQuery) grouping() grouping {
	for _, g := range groupings {
		if q.values.Get("by") == g.value {
			return g
		}
	}
	return groupings[0]
}

// of is the address of the list with another filter, in the same groups.
func (q entryQuery) of(f dlqtriage.EntryFilter) string {
	v := f.Values()
	v["by"] = q.values["by"]
	return address("/dlq", v)
}

// fillGroups puts the entries into groups, within the rest of the filter. Each group leads to its own entries and to no others.
func (w *Web) fillGroups(ctx context.Context, p *views.DeadLettersPage, q entryQuery, _ *query.FleetSnapshot) error {
	way, rest := q.grouping(), q.filter
	way.clear(&rest)
	for _, g := range groupings {
		p.Groupings = append(p.Groupings, views.Tab{Href: q.with("by", g.value), Label: g.label, Current: g.value == way.value})
	}
	groups, more, err := w.cfg.Query.EntryGroups(ctx, rest, way.by)
	if err != nil {
		return err
	}
	p.Note, p.AllHref, p.AllOn = way.note, q.of(rest), rest.Values().Encode() == q.filter.Values().Encode()
	p.AllName = strings.TrimSpace("All " + strings.Join(q.values["status"], " or "))
	switch {
	case p.AllOn && q.whole(p):
		p.AllCount = views.Count(int64(len(p.Rows)))
	case !more:
		p.AllCount = views.Count(countOf(groups))
	}
	if more || len(groups) > maxDeadGroups {
		p.Note = fmt.Sprintf("the first %d: most open, then the largest", maxDeadGroups)
	}
	groups = openFirst(groups)
	groups = underHeadings(groups[:min(len(groups), maxDeadGroups)], way)
	trends, err := w.cfg.Query.EntryTrends(ctx, rest, way.by, groups)
	if err != nil {
		return err
	}
	advices, err := w.cfg.Query.EntryAdvices(ctx, rest, way.by, groups)
	if err != nil {
		return err
	}
	retries, err := w.retries(ctx, rest, way.by)
	if err != nil {
		return err
	}
	may := w.cfg.Operations != nil && w.mayNot(ctx, access.TriagePropose).Say == ""
	last := ""
	for i, g := range groups {
		group := q.group(g, way, rest)
		group.Deaths, group.Retries = deathSteps(trends[i]), retries[valueKey(g)]
		if may {
			group.Advice, group.Offers = offers(g.Filter(way.by, rest), advices[i])
		}
		if group.Heading == last {
			group.Heading = ""
		} else {
			last = group.Heading
		}
		p.Groups = append(p.Groups, group)
	}
	return nil
}

// retries are how the retries of groups ended, whatever status is listed: what is open was not retried itself.
func (w *Web) retries(ctx context.Context, f dlqtriage.EntryFilter, by []dlqtriage.GroupField) (map[string]views.Retries, error) {
	f.Statuses, f.Not.Statuses = []dlqtriage.Status{dlqtriage.StatusRetried, dlqtriage.StatusReassigned}, nil
	groups, _, err := w.cfg.Query.EntryGroups(ctx, f, by)
	out := map[string]views.Retries{}
	for _, g := range groups {
		out[valueKey(g)] = views.Retries{Tried: g.Retried, Completed: g.Recovered, DiedAgain: g.DiedAgain, Median: g.Median}
	}
	return out, err
}

func valueKey(g dlqtriage.EntryGroup) string { return strings.Join(g.Values, "\x00") }

func countOf(groups []dlqtriage.EntryGroup) (n int64) {
	for _, g := range groups {
		n += g.Count
	}
	return n
}

// openFirst puts the groups with most to decide first; those in which nothing is open follow, the largest first.
func openFirst(groups []dlqtriage.EntryGroup) []dlqtriage.EntryGroup {
	out := slices.Clone(groups) // The answer is shared.
	slices.SortStableFunc(out, func(a, b dlqtriage.EntryGroup) int { return cmp.Compare(b.Open, a.Open) })
	return out
}

// underHeadings puts groups with headings beside each other: the category of the first cause comes first.
func underHeadings(groups []dlqtriage.EntryGroup, way grouping) []dlqtriage.EntryGroup {
	place := map[string]int{}
	for i, g := range groups {
		if heading, _ := way.name(g.Values); heading != "" {
			place[g.Values[0]] = cmp.Or(place[g.Values[0]], i+1)
		}
	}
	out := slices.Clone(groups) // The answer is shared.
	slices.SortStableFunc(out, func(a, b dlqtriage.EntryGroup) int { return cmp.Compare(place[a.Values[0]], place[b.Values[0]]) })
	return out
}

func (q entryQuery) group(g dlqtriage.EntryGroup, way grouping, rest dlqtriage.EntryFilter) views.DeadGroup {
	open := g.Filter(way.by, rest)
	out := views.DeadGroup{EntryGroup: g, Href: q.of(open), On: open.Values().Encode() == q.filter.Values().Encode()}
	out.Heading, out.Name = way.name(g.Values)
	return out
}

// deathSteps are when the messages of a group died.
func deathSteps(t query.EntryTrend) []views.DeathStep {
	out := make([]views.DeathStep, len(t.Steps))
	for i, s := range t.Steps {
		out[i] = views.DeathStep{Count: s.Count, Unseen: s.Observed == query.ObservedNone}
	}
	return out
}
