package web

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"fleetglass/dlqtriage"
	"fleetglass/query"
	"fleetglass/views"
)

// statsPath is the page of statistics. No entry has that id: an id names stream and sequence.
const statsPath = "/dlq/stats"

// maxStatGroups is how many groups of each field the page of statistics shows.
const maxStatGroups = 15

// deadStatistics is what became of messages that died, over time and by what they are.
func (w *Web) deadStatistics(c *gin.Context) error {
	ctx := c.Request.Context()
	snap, err := w.snapshot(ctx)
	if err != nil {
		return err
	}
	k := bucketingOf(c.Query("bucket"))
	p := views.DeadStatisticsPage{
		Links: links(c, address(statsPath, url.Values{"bucket": {string(k.Period)}}), "/api/v1/dlq/stats", url.Values{"bucket": {string(k.Period)}}), Head: k.head, Unit: k.unit,
	}
	for _, x := range bucketings {
		p.Ranges = append(p.Ranges, views.Tab{Href: address(statsPath, url.Values{"bucket": {string(x.Period)}}), Label: x.label, Current: x.Period == k.Period})
	}
	bounds := k.bounds(snap.AsOf.Time(), preferencesOf(c).zone)
	found, err := w.cfg.Query.EntryStatistics(ctx, instants(bounds))
	if err != nil {
		return err
	}
	for i, r := range found.Rows {
		p.Rows = append(p.Rows, views.EntryOutcomeRow{StatisticsRow: r, Label: bounds[i].Format(k.layout), Observed: found.Observed[i] != query.ObservedNone})
	}
	p.Total = views.EntryOutcomeRow{StatisticsRow: found.Total, Label: "Total"}
	p.Chart = k.deathChart(p.Rows)
	slices.Reverse(p.Rows)
	p.Rows = slices.DeleteFunc(p.Rows, func(r views.EntryOutcomeRow) bool { return r.Entries == 0 && r.Messages == 0 })
	p.Groups = statGroups(found.Statistics, bounds[0])
	if found.Total.Entries == 0 {
		p.Empty = k.noDeaths(query.ObservedTogether(found.Observed), found.Total.Deleted)
	}
	return w.render(c, frame{title: "DLQ statistics", section: "dlq", search: true, snapshot: snap}, views.DeadStatistics(p))
}

// noDeaths says that no message died, as far as that was observed.
func (k bucketing) noDeaths(o query.Observed, deleted bool) views.EmptyState {
	out := views.EmptyState{Kind: "healthy", Say: "No message died in " + k.head + ".", Links: []views.Chip{{Href: whole("/dlq"), Label: "All dead letters"}}}
	switch {
	case deleted:
		out.Say, out.Why = "No message is known to have died in "+k.head+".", "Dead letters that somebody decided about are deleted after --retention: those of part of that time are not kept."
	case o == query.ObservedNone:
		out.Kind, out.Say = "new", "Nothing was observed in "+k.head+"."
	case o == query.ObservedPart:
		out.Say, out.Why = "No message is known to have died in "+k.head+".", "Part of that time was not observed."
	}
	return out
}

// statGroups are the groups of each field. Each leads to its messages.
func statGroups(s dlqtriage.Statistics, from time.Time) []views.DeadStatisticsGroups {
	since := from.UTC().Format(time.RFC3339)
	out := make([]views.DeadStatisticsGroups, 0, 5)
	for _, field := range []struct {
		title  string
		by     []dlqtriage.GroupField
		groups []dlqtriage.StatisticsGroup
	}{
		{"Category", []dlqtriage.GroupField{dlqtriage.ByCategory}, s.Category}, {"Path", []dlqtriage.GroupField{dlqtriage.ByPath}, s.Path},
		{"Detail", []dlqtriage.GroupField{dlqtriage.ByCategory, dlqtriage.ByDetail}, s.Detail}, {"Agent", []dlqtriage.GroupField{dlqtriage.ByAgent}, s.Agent},
		{"Type", []dlqtriage.GroupField{dlqtriage.ByType}, s.Type},
	} {
		g := views.DeadStatisticsGroups{ID: "by-" + strings.ToLower(field.title), Title: field.title}
		for _, group := range field.groups[:min(len(field.groups), maxStatGroups)] {
			f := dlqtriage.EntryGroup{Values: group.Values}.Filter(field.by, dlqtriage.EntryFilter{})
			v := f.Values()
			v.Set("from", since)
			g.Rows = append(g.Rows, views.DeadStatisticsRow{Sums: group.Sums, Name: groupName(group.Values), Href: address("/dlq", v)})
		}
		out = append(out, g)
	}
	return out
}

// groupName is the last of the values, which is the narrowest.
func groupName(values []string) string {
	name := values[len(values)-1]
	if name == "" {
		return strings.Join(append(slices.Clone(values[:len(values)-1]), "none"), ": ")
	}
	return views.Cut(strings.ReplaceAll(name, "_", " "), 60)
}

// deathChart stacks those that died by who resolved them.
func (k bucketing) deathChart(rows []views.EntryOutcomeRow) views.Chart {
	c := views.Chart{ID: "deaths-chart", Title: "Messages that died, " + k.head, Unit: k.unit, Series: []views.Series{
		{Name: "without a person", Tone: "ok"}, {Name: "with a person", Tone: "run"}, {Name: "neither so far", Tone: "bad"},
	}}
	var all int64
	every := max(1, len(rows)/6)
	for i, r := range rows {
		b := views.Bucket{Label: r.Label, Values: []int64{r.AutoResolved, r.HumanRequired, max(0, r.Entries-r.AutoResolved-r.HumanRequired)}}
		switch {
		case r.Deleted && r.Entries == 0:
			b.Blind = "not kept"
		case !r.Observed:
			b.Blind = notObserved
		}
		if i%every == every/2 {
			b.Axis = axisLabel(r.Label)
		}
		all += r.Entries
		c.Buckets = append(c.Buckets, b)
	}
	c.Desc = fmt.Sprintf("%s died in %s.", counted(all, "message", "messages"), k.head)
	return c
}
