package api

import (
	"context"

	"fleetglass/access"
	"fleetglass/dlqtriage"
	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
	"fleetglass/query"
)

// EntryQuery declares the parameters of [dlqtriage.ParseEntryFilter], which reads them: the same filter as the page.
type EntryQuery struct {
	Status      []string `query:"status,explode" doc:"What was decided."`
	Category    []string `query:"category,explode" doc:"What may help."`
	Detail      []string `query:"detail,explode" doc:"Details within categories; (none) for entries without one."`
	Kind        []string `query:"kind,explode" doc:"Kinds of cause; (none) for entries without one."`
	Path        []string `query:"path,explode" doc:"How the message came to be dead."`
	Agent       []string `query:"agent,explode" doc:"Agents; (none) for entries without one."`
	Type        []string `query:"type,explode" doc:"Task types; (none) for entries without one."`
	Fingerprint []string `query:"fingerprint,explode" doc:"Fingerprints of reasons, as groups have them."`
	ID          []string `query:"id,explode" doc:"Ids of entries, tasks or messages."`
	Q           []string `query:"q,explode" doc:"The search box. Words and \"quoted phrases\" match ids, titles and reasons; field:value narrows, the same field twice means either, a minus in front leaves out (-agent:cto, -word). TASKS:255 finds a message by stream and sequence. An unknown field or value is refused."`
	From        string   `query:"from" doc:"Died at or after: RFC 3339, a date, or a span back from now such as 15m, 24h, 7d."`
	To          string   `query:"to" doc:"Died before; same forms."`
}

// EntriesQuery is the query of the list of entries.
type EntriesQuery struct {
	EntryQuery
	PageQuery
}

// EntryPathInput names an entry.
type EntryPathInput struct {
	ID string `path:"id" doc:"The id of the entry, from the list."`
}

func (a *API) describeEntries() {
	register(a, call{
		id: "list-dlq", needs: access.Read, path: Base + "/dlq", tag: "triage", summary: "Messages that died", example: exampleEntries(),
		detail: "The latest death comes first. Each entry says why its message died and what should happen next. A message that has no entry in the broker's queue yet is listed " +
			"all the same: its dlq_seq is null.",
		failures: []httperr.Code{httperr.InvalidCursor},
	}, a.listEntries)
	enumerateEntries(a, "/dlq")
	register(a, call{
		id: "get-dlq-entry", needs: access.Read, path: Base + "/dlq/{id}", tag: "triage", summary: "One message that died",
		detail:   "All that is known of it: the original message, its timeline, why it died and what that rests on, what should happen next, and what was done about it.",
		failures: []httperr.Code{httperr.NotFound}, example: exampleEntry(),
	}, a.getEntry)
	a.describeEntryGroups()
	a.describeEntryStatistics()
}

func enumerateEntries(a *API, path string) {
	enumerate(a, path, "status", dlqtriage.Statuses())
	enumerate(a, path, "category", dlqtriage.Categories())
	enumerate(a, path, "path", dlqtriage.Paths())
}

func (a *API) listEntries(ctx context.Context, in *EntriesQuery) (*reply[List[Entry]], error) {
	l, wrongPage := a.listRequest(ctx, in.PageQuery)
	filter, wrongFilter := dlqtriage.ParseEntryFilter(l.values, l.base.Time())
	if err := together(wrongFilter, wrongPage); err != nil {
		return nil, err
	}
	p := dlqtriage.EntryPageRequest{Limit: l.limit}
	if l.from != nil {
		p.From, p.Backward = &dlqtriage.EntryCursor{FailedAt: l.from.At, ID: l.from.Key}, l.from.Backward
	}
	found, err := a.cfg.Query.Entries(ctx, filter, p)
	if err != nil {
		return nil, err
	}
	from := filter.From
	rows := make([]Entry, len(found.Rows))
	for i, row := range found.Rows {
		rows[i] = entryOf(row, l.now)
		if !filter.From.Known() && (!from.Known() || row.FailedAt < from) {
			from = row.FailedAt
		}
	}
	gaps, err := a.entryGapRefs(ctx, from, filter.To)
	if err != nil {
		return nil, err
	}
	next, prev := entryCursor(found.Next, false), entryCursor(found.Prev, true)
	return listReply(ctx, l, rows, Page{Next: l.cursor(next), Prev: l.cursor(prev)}, gaps), nil
}

func entryCursor(c *dlqtriage.EntryCursor, backward bool) *query.Cursor {
	if c == nil {
		return nil
	}
	return &query.Cursor{At: c.FailedAt, Key: c.ID, Backward: backward}
}

func (a *API) getEntry(ctx context.Context, in *EntryPathInput) (*reply[EntryDetail], error) {
	found, err := a.cfg.Query.Entry(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	body := a.entryDetailOf(found)
	stable := body
	stable.AsOf, stable.AgeMS, stable.Plan.DueAt, stable.Risk = 0, 0, 0, Maybe[Risk]{} // The clock alone changes these.
	return withTag(ctx, body, entryTag(found.Revision, stable)), nil
}

// age is how long ago something was.
func age(at, now lifecycle.Micros) int64 { return max(0, now.Sub(at)).Milliseconds() }

// entryGapRefs are the gaps beside answers about messages that died: the queue itself may not have been read yet.
func (a *API) entryGapRefs(ctx context.Context, from, to lifecycle.Micros) ([]GapRef, error) {
	gaps, err := a.gapRefs(ctx, from, to)
	return append(gaps, a.unreadQueue()...), err
}

// unreadQueue is the gap that stands while the broker's dead-letter queue was not read: entries of it are not known then.
func (a *API) unreadQueue() []GapRef {
	if a.cfg.Query.EntriesRead().Known() {
		return nil
	}
	return []GapRef{{Source: "dead letters", Reason: "The broker's dead-letter queue was not read yet: messages in it may be missing here, and a dlq_seq may be null although there is an entry."}}
}
