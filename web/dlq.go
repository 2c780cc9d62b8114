package web

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"fleetglass/access"
	"fleetglass/dlqtriage"
	"fleetglass/duplicates"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

const (
	openDead    = "/dlq?status=open" // Where the bare address leads: to what waits for a decision.
	everyStatus = "all"              // The status of an address that names none, which tells the list of all from the bare address. Pages alone know it.
)

// whole is the address of a list without any condition.
func whole(path string) string {
	if path == "/dlq" {
		return path + "?status=" + everyStatus
	}
	return path
}

// entryQuery is what the address of the list of dead letters says.
type entryQuery struct {
	filter dlqtriage.EntryFilter
	values url.Values    // Of the filter.
	from   *query.Cursor // Where the page begins; nil at the beginning.
	place  string        // The same as the address says it.
	chosen string        // The id of the entry that is open beside the list; empty for none.
	now    lifecycle.Micros
}

// readEntries reads the address. The error joins a *lifecycle.FilterError for everything that is wrong.
func readEntries(v url.Values, now time.Time) (entryQuery, error) {
	q := entryQuery{values: url.Values{}, place: v.Get("cursor"), chosen: v.Get("entry"), now: lifecycle.MicrosOf(now)}
	for _, name := range append(dlqtriage.FilterParameters(), "by") {
		if name == "status" && slices.Contains(v[name], everyStatus) {
			continue
		}
		for _, value := range v[name] {
			if value != "" {
				q.values.Add(name, value)
			}
		}
	}
	from, wrongCursor := readCursor(q.place, query.Binding("/dlq", q.values))
	if from != nil {
		q.from, q.now = from, from.Now
	}
	filter, wrongFilter := dlqtriage.ParseEntryFilter(q.values, q.now.Time())
	q.filter = filter
	return q, errors.Join(wrongFilter, wrongCursor)
}

// at is the address of the page that begins at a place of the list; empty where there is none.
func (q entryQuery) at(c *dlqtriage.EntryCursor, backward bool) string {
	if c == nil {
		return ""
	}
	cursor := query.Cursor{At: c.FailedAt, Key: c.ID, Backward: backward, Now: q.now}
	v := maps.Clone(q.values)
	v.Set("cursor", cursor.Encode(query.Binding("/dlq", q.values)))
	return address("/dlq", v)
}

// with is the address of the list with a parameter changed, from its beginning.
func (q entryQuery) with(name string, values ...string) string {
	v := maps.Clone(q.values)
	v[name] = values
	return address("/dlq", v)
}

// beside are the parameters of this page of the list with an entry beside it; without one where id is empty.
func (q entryQuery) beside(id string) url.Values {
	v := maps.Clone(q.values)
	v["cursor"], v["entry"] = []string{q.place}, []string{id}
	return v
}

// params are the parameters but for those named, for the hidden fields of a form. A form of the list of all stays there when it is sent empty.
func (q entryQuery) params(without ...string) []views.Param {
	var out []views.Param
	if len(q.values["status"]) == 0 {
		out = append(out, views.Param{Name: "status", Value: everyStatus})
	}
	for _, name := range slices.Sorted(maps.Keys(q.values)) {
		if !slices.Contains(without, name) {
			for _, value := range q.values[name] {
				out = append(out, views.Param{Name: name, Value: value})
			}
		}
	}
	return out
}

// frozen is the address of the list with absolute times, and of the entry beside it.
func (q entryQuery) frozen() string {
	v := q.filter.Values()
	v["by"], v["entry"] = q.values["by"], []string{q.chosen}
	return address("/dlq", v)
}

// deadLetters is the list of messages that died, with their reasons in groups, and with one of them beside it where the address names one.
func (w *Web) deadLetters(c *gin.Context) error {
	if c.Request.URL.RawQuery == "" {
		c.Redirect(http.StatusFound, openDead)
		return nil
	}
	ctx := c.Request.Context()
	snap, err := w.snapshot(ctx)
	if err != nil {
		return err
	}
	found, err := w.cfg.Query.Findings(ctx)
	if err != nil {
		return err
	}
	f := frame{title: "DLQ", section: "dlq", snapshot: snap, banners: incidentBanner(found, preferencesOf(c).zone)}
	p := views.DeadLettersPage{Head: "Messages that died, those that died last first", Unread: !w.cfg.Query.EntriesRead().Known() && len(health.Lacking(w.health())) == 0}
	q, err := readEntries(c.Request.URL.Query(), w.cfg.Now())
	p.Search = views.SearchBox{
		Action: "/dlq", What: "Messages that died", Query: strings.Join(q.values["q"], " "), Example: "Text of a reason, an id, or agent:marketing", Keep: q.params("q"),
		Grammar: dlqtriage.EntryGrammar(), Suggestions: fieldSuggestions(dlqtriage.EntryGrammar()),
	}
	if wrong := problemWords(err); wrong != "" {
		p.Search.Problem, p.Empty = wrong, unreadable(openDead)
		f.status = http.StatusBadRequest
		return w.render(c, f, views.DeadLetters(p))
	}
	if q.chosen != "" {
		p.Chosen, err = w.chosenEntry(ctx, q)
		switch {
		case errors.Is(err, lifecycle.ErrNotFound):
			p.Absent, f.status = &views.AbsentEntry{ID: q.chosen, Close: address("/dlq", q.beside("")), Search: address("/search", url.Values{"q": {q.chosen}})}, http.StatusNotFound
		case err != nil:
			return err
		}
	}
	p.Links = links(c, q.frozen(), "/api/v1/dlq", q.filter.Values())
	p.Chips = understood("/dlq", dlqtriage.EntryGrammar(), q.values, true, "status")
	for _, fill := range []func(context.Context, *views.DeadLettersPage, entryQuery, *query.FleetSnapshot) error{w.fillEntries, w.fillStatuses, w.fillGroups, w.fillFacets, w.fillOutcomes, w.fillBulk} {
		if err := fill(ctx, &p, q, snap); err != nil {
			return err
		}
	}
	return w.render(c, f, views.DeadLetters(p))
}

func (w *Web) fillEntries(ctx context.Context, p *views.DeadLettersPage, q entryQuery, snap *query.FleetSnapshot) error {
	page := dlqtriage.EntryPageRequest{Limit: rowsPerPage}
	if q.from != nil {
		page.From, page.Backward = &dlqtriage.EntryCursor{FailedAt: q.from.At, ID: q.from.Key}, q.from.Backward
	}
	found, err := w.cfg.Query.Entries(ctx, q.filter, page)
	if err != nil {
		return err
	}
	for _, e := range found.Rows {
		row := views.DeadRow{Entry: e.Entry, Href: entryAddress(e.ID), TaskHref: lifecycle.PageOfTask(e.TaskID), Plan: e.Plan, On: e.ID == q.chosen, Left: e.Open() && e.InQueue != nil && !*e.InQueue}
		if e.Task != nil && e.Deliveries > 0 {
			row.Effects, row.Doubt = effectsInShort(e.Task)
		}
		p.Rows = append(p.Rows, row)
	}
	p.First, p.FirstHref = q.from == nil || found.Prev == nil, q.with("cursor")
	p.Pager = views.Pager{Newer: q.at(found.Prev, true), Older: q.at(found.Next, false), Note: counted(int64(len(found.Rows)), "row", "rows")}
	if len(p.Rows) == 0 {
		p.Empty, err = w.emptyDead(ctx, q, snap)
	}
	return err
}

// whole reports whether a page shows all that the list has. Its rows are the count then: one that was made at another moment would contradict them.
func (q entryQuery) whole(p *views.DeadLettersPage) bool { return q.from == nil && p.Pager.Older == "" }

func (w *Web) emptyDead(ctx context.Context, q entryQuery, snap *query.FleetSnapshot) (views.EmptyState, error) {
	if q.onlyOpen() {
		return w.noneOpen(ctx, snap)
	}
	if len(q.filter.Values()) > 0 || q.from != nil {
		links, err := loosened(ctx, "/dlq", conditions(dlqtriage.EntryGrammar(), q.values), true, w.loosenEntries(q))
		return views.EmptyState{Kind: "nomatch", Say: "No message that died matches.", Links: append(links, views.Chip{Href: openDead, Label: "Clear filters"})}, err
	}
	return w.noneDead(snap), nil
}

// onlyOpen reports whether the list is that of all that is open, from its beginning.
func (q entryQuery) onlyOpen() bool {
	f := q.filter
	f.Statuses = nil
	return q.from == nil && len(f.Values()) == 0 && slices.Equal(q.filter.Statuses, []dlqtriage.Status{dlqtriage.StatusOpen})
}

// noneOpen says that nothing waits for a decision, as far as is known.
func (w *Web) noneOpen(ctx context.Context, snap *query.FleetSnapshot) (views.EmptyState, error) {
	all, err := w.cfg.Query.CountEntries(ctx, dlqtriage.EntryFilter{})
	out := w.noneDead(snap)
	if out.Kind == "healthy" && all > 0 {
		out.Say, out.Why = "Nothing waits for a decision.", counted(all, "message", "messages")+" died, and each was decided about; "+captureWords(w.health())
	}
	if all > 0 {
		out.Links = append(out.Links, views.Chip{Href: whole("/dlq"), Label: "All " + views.Count(all)})
	}
	return out, err
}

// loosenEntries counts the messages of the list without a condition.
func (w *Web) loosenEntries(q entryQuery) func(context.Context, condition) (int64, string, error) {
	return func(ctx context.Context, c condition) (int64, string, error) {
		filter, err := dlqtriage.ParseEntryFilter(c.rest, q.now.Time())
		if err != nil {
			return 0, "", nil // The rest alone cannot be read: it is no offer.
		}
		n, err := w.cfg.Query.CountEntries(ctx, filter)
		return n, counted(n, "message", "messages"), err
	}
}

// noneDead says why no message is dead, without any filter.
func (w *Web) noneDead(snap *query.FleetSnapshot) views.EmptyState {
	down := downParts(w.health())
	switch {
	case snap.Counts.Total() == 0 && (down == "" || len(health.Lacking(w.health())) > 0):
		return w.emptyFleet(snap)
	case down != "":
		return views.EmptyState{Kind: "down", Say: "No message that died is known, but " + down + ".", Links: []views.Chip{{Href: "/capture", Label: "Capture"}}}
	}
	return views.EmptyState{Kind: "healthy", Say: "All healthy: no message is dead.", Why: fmt.Sprintf("%s checked just now; %s", counted(snap.Counts.Total(), "task", "tasks"), captureWords(w.health()))}
}

// fillStatuses counts by status, within the rest of the filter, and says what stands above the list.
func (w *Web) fillStatuses(ctx context.Context, p *views.DeadLettersPage, q entryQuery, snap *query.FleetSnapshot) error {
	rest := q.filter
	rest.Statuses = nil
	groups, _, err := w.cfg.Query.EntryGroups(ctx, rest, []dlqtriage.GroupField{dlqtriage.ByStatus})
	if err != nil {
		return err
	}
	counts, all := map[string]int64{}, int64(0)
	for _, g := range groups {
		counts[g.Values[0]] += g.Count
	}
	if q.whole(p) {
		maps.DeleteFunc(counts, func(s string, _ int64) bool {
			return len(q.filter.Statuses) == 0 || slices.Contains(q.filter.Statuses, dlqtriage.Status(s))
		})
		for _, row := range p.Rows {
			counts[string(row.Status)]++
		}
	}
	for _, n := range counts {
		all += n
	}
	p.Statuses = []views.Tab{{Href: q.with("status"), Label: "All", Count: views.Count(all), Current: len(q.filter.Statuses) == 0}}
	for _, s := range dlqtriage.Statuses() {
		current := slices.Contains(q.filter.Statuses, s)
		if n := counts[string(s)]; n > 0 || current {
			p.Statuses = append(p.Statuses, views.Tab{Href: q.with("status", string(s)), Label: views.Capital(string(s)), Value: string(s), Count: views.Count(n), Current: current})
		}
	}
	dead, err := w.cfg.Query.Dead(ctx)
	if err != nil {
		return err
	}
	open := snap.DeadOpen
	if len(rest.Values()) == 0 {
		open = counts[string(dlqtriage.StatusOpen)] // As the tab says: the snapshot may be older.
		snap.DeadOpen = open
	}
	p.Stats = deadStats(snap, dead, open)
	return nil
}

// deadStats count the whole fleet, whatever the filter.
func deadStats(snap *query.FleetSnapshot, dead query.Dead, open int64) []views.Stat {
	abandoned := lifecycle.StatesThat(lifecycle.State.Abandoned)
	silent := lifecycle.Filter{Anomalies: []lifecycle.AnomalyCode{lifecycle.AnomalySilentAttempt}, States: lifecycle.StatesThat(lifecycle.State.Dead)}
	lost, c := snap.Counts.Of(abandoned...), snap.Counts
	return []views.Stat{
		{Href: "/dlq?status=open", Icon: "dlq", Tone: "dead", Label: "Open", Value: views.Count(open), Detail: "nobody decided yet"},
		{Href: address("/tasks", lifecycle.Filter{States: abandoned}.Values()), Icon: "exhausted", Tone: "bad", Label: "Dead, not in DLQ", Value: views.Count(lost), Loud: lost > 0, Detail: "no dead-letter entry seen"},
		{Href: "/tasks?state=outcome_unknown", Icon: "unknown", Tone: "wait", Label: "Outcome unknown", Value: views.Count(c.Of(lifecycle.StateOutcomeUnknown)), Detail: "nothing proves how it ended"},
		{Href: "/tasks?anomaly=completed_and_dead", Icon: "warn", Tone: "warn", Label: "Completed and dead", Value: views.Count(dead.With(lifecycle.AnomalyCompletedAndDead)), Detail: "a retry may repeat the effect"},
		{Href: address("/tasks", silent.Values()), Icon: "stale", Tone: "warn", Label: "No response", Value: views.Count(dead.With(lifecycle.AnomalySilentAttempt)), Detail: "an attempt got no answer"},
		{Href: "/tasks?state=triaged", Icon: "retried", Tone: "dup", Label: "Triaged tasks", Value: views.Count(c.Of(lifecycle.StateTriaged)), Detail: "their newest message is dead, and somebody decided"},
	}
}

// fillBulk offers what can be done with rows that are ticked, or with all that match.
func (w *Web) fillBulk(ctx context.Context, p *views.DeadLettersPage, q entryQuery, _ *query.FleetSnapshot) (err error) {
	total := int64(len(p.Rows))
	if !q.whole(p) {
		total, err = w.cfg.Query.CountEntries(ctx, q.filter)
	}
	p.Summary = counted(total, "message", "messages") + ", those that died last first"
	p.Bulk = views.BulkBar{Off: w.mayNot(ctx, access.TriagePropose), Total: total, Filter: q.filter.Values().Encode()}
	if w.cfg.Operations == nil {
		p.Bulk.Off = views.Denial{Say: "This server does not act on dead letters."}
	}
	return err
}

// facetFields are the fields by which the form narrows the list.
var facetFields = []dlqtriage.GroupField{dlqtriage.ByCategory, dlqtriage.ByDetail, dlqtriage.ByPath, dlqtriage.ByAgent, dlqtriage.ByType}

// fillFacets offers the values that there are.
func (w *Web) fillFacets(ctx context.Context, p *views.DeadLettersPage, q entryQuery, _ *query.FleetSnapshot) error {
	p.Keep = q.params(names(facetFields)...)
	rest := q.filter
	rest.Statuses = nil
	for _, field := range facetFields {
		groups, _, err := w.cfg.Query.EntryGroups(ctx, dlqtriage.EntryFilter{Statuses: q.filter.Statuses}, []dlqtriage.GroupField{field})
		if err != nil {
			return err
		}
		facet := views.Facet{Name: string(field), Legend: string(field)}
		for _, g := range groups[:min(len(groups), maxDeadGroups)] {
			value := g.Values[0]
			if value == "" {
				value = dlqtriage.Empty
			}
			choice := views.FacetChoice{Value: value, Label: value, On: slices.Contains(q.values[string(field)], value)}
			if len(rest.Values()) == 0 { // Else the choice leads to another number of messages.
				choice.Count = views.Count(g.Count)
			}
			facet.Choices = append(facet.Choices, choice)
		}
		p.Facets = append(p.Facets, facet)
	}
	return nil
}

// fillOutcomes counts the last twelve months, whatever the filter.
func (w *Web) fillOutcomes(ctx context.Context, p *views.DeadLettersPage, _ entryQuery, snap *query.FleetSnapshot) error {
	months := bucketings[0]
	bounds := months.bounds(snap.AsOf.Time(), time.UTC)
	found, err := w.cfg.Query.EntryStatistics(ctx, instants(bounds))
	if err != nil {
		return err
	}
	for i, r := range slices.Backward(found.Rows) {
		if r.Entries > 0 || r.Messages > 0 {
			p.Outcomes.Rows = append(p.Outcomes.Rows, views.EntryOutcomeRow{StatisticsRow: r, Label: duplicates.PeriodMonth.Start(bounds[i]).Format(months.layout)})
		}
	}
	p.Outcomes.Unit, p.Outcomes.Note, p.Outcomes.Href = months.unit, "messages, those that died, and what became of them; months in UTC", statsPath
	p.Outcomes.Total = views.EntryOutcomeRow{StatisticsRow: found.Total, Label: "Total"}
	return nil
}
