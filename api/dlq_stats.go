package api

import (
	"context"
	"time"

	"fleetglass/access"
	"fleetglass/dlqtriage"
	"fleetglass/duplicates"
	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
	"fleetglass/query"
)

// EntryStatisticsRow is the entries that died in one bucket.
type EntryStatisticsRow struct {
	Bucket   Instant  `json:"bucket" doc:"Beginning of the month, day or hour, in UTC." example:"2026-11-01T00:00:00.000000Z"`
	Observed string   `json:"observed" enum:"all,part,none" doc:"part: lines were lost in it, or entries deleted by retention, and counts are lower bounds. none: nothing was observed, or no entry is kept, and its zeros say nothing." example:"all"`
	Messages int64    `json:"messages" doc:"Tasks whose first message was stored in the bucket. What is published again does not count again." example:"2411"`
	Rate     *float64 `json:"rate" doc:"Entries for each message; null where no message is known, or entries may have been deleted by retention." example:"0.0045"`
	EntrySums
}

// EntrySums is how many entries there are, and what became of them.
type EntrySums struct {
	Entries            int64  `json:"entries" example:"11"`
	AutoResolved       int64  `json:"auto_resolved" doc:"Resolved, and no person decided." example:"9"`
	HumanRequired      int64  `json:"human_required" doc:"A person decided, or is asked to." example:"2"`
	Resolved           int64  `json:"resolved" example:"10"`
	MedianResolutionMS *int64 `json:"median_resolution_ms" doc:"From death to resolution; null where none is resolved." example:"45000"`
}

// EntryStatisticsGroup is the entries that have the same values.
type EntryStatisticsGroup struct {
	Category Text `json:"category,omitempty"`
	Detail   Text `json:"detail,omitempty"`
	Agent    Text `json:"agent,omitempty"`
	Type     Text `json:"type,omitempty"`
	Path     Text `json:"path,omitempty"`
	EntrySums
}

// EntryStatistics is what became of messages that died, oldest row first. Sums are of all rows, also of those on other pages.
type EntryStatistics struct {
	List[EntryStatisticsRow]
	Totals     EntryStatisticsRow     `json:"totals" doc:"Of all rows."`
	ByCategory []EntryStatisticsGroup `json:"by_category" nullable:"false"`
	ByDetail   []EntryStatisticsGroup `json:"by_detail" nullable:"false"`
	ByAgent    []EntryStatisticsGroup `json:"by_agent" nullable:"false"`
	ByType     []EntryStatisticsGroup `json:"by_type" nullable:"false"`
	ByPath     []EntryStatisticsGroup `json:"by_path" nullable:"false"`
}

// EntryStatisticsQuery is the query of the statistics: the buckets of the table of duplicates.
type EntryStatisticsQuery struct{ DuplicatesQuery }

func (a *API) describeEntryStatistics() {
	register(a, call{
		id: "dlq-stats", needs: access.Read, path: Base + "/dlq/stats", tag: "triage", summary: "What became of messages that died", example: exampleEntryStatistics(),
		detail:   "By month, day or hour of death, oldest first, buckets without anything included; and over all rows by category, detail, agent, task type and path.",
		failures: []httperr.Code{httperr.InvalidCursor},
	}, a.entryStatistics)
	enumerate(a, "/dlq/stats", "bucket", duplicates.Periods())
}

func (a *API) entryStatistics(ctx context.Context, in *EntryStatisticsQuery) (*reply[EntryStatistics], error) {
	l, bounds, err := a.tableRequest(ctx, in.DuplicatesQuery)
	if err != nil {
		return nil, err
	}
	found, err := a.cfg.Query.EntryStatistics(ctx, bounds)
	if err != nil {
		return nil, err
	}
	body := entryStatisticsOf(found)
	body.AsOf = Instant(l.now)
	body.Data, body.Page = window(l, body.Data, func(r EntryStatisticsRow) query.Cursor { return query.Cursor{At: lifecycle.Micros(r.Bucket)} })
	if body.Gaps, err = a.entryGapRefs(ctx, bounds[0], bounds[len(bounds)-1]); err != nil {
		return nil, err
	}
	stable := body
	stable.AsOf, stable.Page = 0, Page{}
	return wholeReply(ctx, l, body.Page, body, stable), nil
}

func entryStatisticsOf(s query.EntryStatistics) EntryStatistics {
	out := EntryStatistics{
		Totals:     entryStatisticsRowOf(s.Total, query.ObservedTogether(s.Observed)),
		ByCategory: statisticsGroups(s.Category, func(g *EntryStatisticsGroup, v []string) { g.Category = Text(v[0]) }),
		ByDetail:   statisticsGroups(s.Detail, func(g *EntryStatisticsGroup, v []string) { g.Category, g.Detail = Text(v[0]), Text(v[1]) }),
		ByAgent:    statisticsGroups(s.Agent, func(g *EntryStatisticsGroup, v []string) { g.Agent = Text(v[0]) }),
		ByType:     statisticsGroups(s.Type, func(g *EntryStatisticsGroup, v []string) { g.Type = Text(v[0]) }),
		ByPath:     statisticsGroups(s.Path, func(g *EntryStatisticsGroup, v []string) { g.Path = Text(v[0]) }),
	}
	out.Data = make([]EntryStatisticsRow, len(s.Rows))
	for i, r := range s.Rows {
		out.Data[i] = entryStatisticsRowOf(r, s.Observed[i])
	}
	return out
}

func entryStatisticsRowOf(r dlqtriage.StatisticsRow, o query.Observed) EntryStatisticsRow {
	out := EntryStatisticsRow{Bucket: Instant(r.From), Observed: string(o), Messages: r.Messages, EntrySums: entrySumsOf(r.Sums)}
	if rate, known := r.Rate(); known {
		out.Rate = &rate
	}
	return out
}

func entrySumsOf(s dlqtriage.Sums) EntrySums {
	return EntrySums{
		Entries: s.Entries, AutoResolved: s.AutoResolved, HumanRequired: s.HumanRequired, Resolved: s.Resolved,
		MedianResolutionMS: knownMilliseconds(s.Median.Round(time.Millisecond), s.Resolved > 0),
	}
}

func statisticsGroups(groups []dlqtriage.StatisticsGroup, name func(*EntryStatisticsGroup, []string)) []EntryStatisticsGroup {
	out := make([]EntryStatisticsGroup, len(groups))
	for i, g := range groups {
		out[i] = EntryStatisticsGroup{EntrySums: entrySumsOf(g.Sums)}
		name(&out[i], g.Values)
	}
	return out
}
