package api

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"fleetglass/access"
	"fleetglass/dlqtriage"
	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
	"fleetglass/query"
)

// EntryGroup is the entries that have the same values.
type EntryGroup struct {
	Values    map[string]Text `json:"values" doc:"By field; null where the entries have no value."`
	Count     int64           `json:"count" example:"31"`
	Open      int64           `json:"open" doc:"Of these, those that wait for a decision." example:"4"`
	Retried   int64           `json:"retried" doc:"Published again, for the same agent or another." example:"12"`
	Recovered int64           `json:"recovered" doc:"Of those retried, how many completed." example:"8"`
	DiedAgain int64           `json:"died_again" doc:"Of those retried, how many died again; what became of the others is not known yet." example:"3"`
	MedianMS  *int64          `json:"median_resolution_ms" doc:"From death to completion, of those that completed; null where none did." example:"45000"`
	FirstAt   Instant         `json:"first_seen"`
	LastAt    Instant         `json:"last_seen"`
	Trend     EntryTrend      `json:"trend"`
	Links     EntryGroupLinks `json:"links"`
}

// EntryTrend compares the last 24 hours with those before.
type EntryTrend struct {
	Direction string `json:"direction" enum:"new,rising,steady,falling,quiet" example:"rising" doc:"new: the first of them died in the last 24 hours. quiet: none did."`
	Last24h   int64  `json:"last_24h" example:"3"`
	Before24h int64  `json:"previous_24h" example:"1"`

	From   Instant  `json:"from" doc:"When the first of the steps begins; the last one ends now."`
	StepMS int64    `json:"step_ms" doc:"How long each step is." example:"7200000"`
	Counts []*int64 `json:"counts" doc:"How many died in each step, the earliest first; null where nothing was observed."`
}

// EntryGroupLinks leads to the entries of a group, and to no others.
type EntryGroupLinks struct {
	Entries string `json:"entries" example:"/api/v1/dlq?category=transient"`
}

// EntryGroupsQuery is the query of the groups.
type EntryGroupsQuery struct {
	EntryQuery
	WholeQuery
	By string `query:"by" doc:"Fields, with commas between them: status, category, detail, kind, path, agent, type, fingerprint. Default category,agent."`
}

// EntryGroups is the groups of entries, the largest first.
type EntryGroups struct {
	List[EntryGroup]
	More bool `json:"more" doc:"There are more groups than these: narrow the filter."`
}

func (a *API) describeEntryGroups() {
	register(a, call{
		id: "list-dlq-groups", needs: access.Read, path: Base + "/dlq/groups", tag: "triage", summary: "Messages that died, in groups", example: exampleEntryGroups(),
		detail:   "Counts of the entries that the filter selects, by the fields asked for, the largest group first. Each group has a link to exactly its entries.",
		failures: []httperr.Code{httperr.InvalidCursor},
	}, a.listEntryGroups)
	enumerateEntries(a, "/dlq/groups")
}

func (a *API) listEntryGroups(ctx context.Context, in *EntryGroupsQuery) (*reply[EntryGroups], error) {
	by, wrongBy := in.fields()
	l, wrongPage := a.wholeRequest(ctx, in.WholeQuery)
	filter, wrongFilter := dlqtriage.ParseEntryFilter(requestOf(ctx).URL.Query(), l.base.Time())
	if err := together(wrongBy, wrongFilter, wrongPage); err != nil {
		return nil, err
	}
	found, more, err := a.cfg.Query.EntryGroups(ctx, filter, by)
	if err != nil {
		return nil, err
	}
	gaps, err := a.entryGapRefs(ctx, filter.From, filter.To)
	if err != nil {
		return nil, err
	}
	found, page := window(l, found, groupPlace)
	body := EntryGroups{List: List[EntryGroup]{Data: make([]EntryGroup, len(found)), Page: page, AsOf: Instant(l.now), Gaps: gaps}, More: more}
	trends, err := a.cfg.Query.EntryTrends(ctx, filter, by, found)
	if err != nil {
		return nil, err
	}
	for i, g := range found {
		body.Data[i] = entryGroupOf(g, trends[i], by, filter)
	}
	stable := body
	stable.AsOf, stable.Page, stable.Data = 0, Page{}, slices.Clone(body.Data)
	for i := range stable.Data {
		stable.Data[i].Trend.From = 0 // It moves with the clock.
	}
	return wholeReply(ctx, l, page, body, stable), nil
}

// groupPlace is the place of a group: the largest first, ties broken by the values.
func groupPlace(g dlqtriage.EntryGroup) query.Cursor {
	return query.Cursor{At: -lifecycle.Micros(g.Count), Key: strings.Join(g.Values, "\x00")}
}

// fields reads the parameter by.
func (q *EntryGroupsQuery) fields() ([]dlqtriage.GroupField, error) {
	if q.By == "" {
		return []dlqtriage.GroupField{dlqtriage.ByCategory, dlqtriage.ByAgent}, nil
	}
	var out []dlqtriage.GroupField
	for name := range strings.SplitSeq(q.By, ",") {
		field := dlqtriage.GroupField(strings.TrimSpace(name))
		if !slices.Contains(dlqtriage.GroupFields(), field) {
			return nil, httperr.Parameter("by", "must be one or more of status, category, detail, kind, path, agent, type and fingerprint, separated by commas")
		}
		if !slices.Contains(out, field) {
			out = append(out, field)
		}
	}
	return out, nil
}

func entryGroupOf(g dlqtriage.EntryGroup, t query.EntryTrend, by []dlqtriage.GroupField, f dlqtriage.EntryFilter) EntryGroup {
	values := map[string]Text{}
	for i, field := range by {
		values[string(field)] = Text(g.Values[i])
	}
	return EntryGroup{
		Values: values, Count: g.Count, Open: g.Open, Retried: g.Retried, Recovered: g.Recovered, DiedAgain: g.DiedAgain, MedianMS: knownMilliseconds(g.Median.Round(time.Millisecond), g.Recovered > 0), FirstAt: Instant(g.FirstAt), LastAt: Instant(g.LastAt),
		Trend: entryTrendOf(g, t),
		Links: EntryGroupLinks{Entries: Base + "/dlq?" + entryGroupQuery(g, by, f).Encode()},
	}
}

func entryTrendOf(g dlqtriage.EntryGroup, t query.EntryTrend) EntryTrend {
	out := EntryTrend{
		Direction: string(g.Trend()), Last24h: g.Recent, Before24h: g.Before, From: Instant(t.From), StepMS: dlqtriage.TrendStep.Milliseconds(), Counts: make([]*int64, len(t.Steps)),
	}
	for i, step := range t.Steps {
		if step.Observed != query.ObservedNone {
			out.Counts[i] = &step.Count
		}
	}
	return out
}

// entryGroupQuery selects the entries of a group, within the filter.
func entryGroupQuery(g dlqtriage.EntryGroup, by []dlqtriage.GroupField, f dlqtriage.EntryFilter) url.Values {
	return g.Filter(by, f).Values()
}
