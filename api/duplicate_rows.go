package api

import (
	"context"
	"time"

	"fleetglass/access"
	"fleetglass/duplicates"
	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
	"fleetglass/query"
)

// DuplicateRow is a bucket of the table of duplicates. Every task is in one row, that of its first publish, so that
// published = completed + in_flight_or_dlq in each.
type DuplicateRow struct {
	Bucket   Instant `json:"bucket" doc:"Beginning of the month, day or hour, in UTC." example:"2026-11-01T00:00:00.000000Z"`
	Observed string  `json:"observed" enum:"all,part,none" doc:"part: lines were lost in it, and counts are lower bounds. none: nothing was observed, and its zeros say nothing." example:"all"`
	DuplicateSums
}

// DuplicateSums are the numbers of a row, or of all rows.
type DuplicateSums struct {
	Published           int64    `json:"published" doc:"Tasks whose first message was stored in the bucket." example:"2847"`
	Completed           int64    `json:"completed" doc:"How many of these are completed now, whenever that happened." example:"2841"`
	CaughtByStream      int64    `json:"caught_by_stream" doc:"Publishes that the stream swallowed." example:"3"`
	CaughtByIdempotency int64    `json:"caught_by_idempotency" doc:"Deliveries after completion that were not run again." example:"7"`
	ReachedExecution    int64    `json:"reached_execution" doc:"Runs after completion." example:"0"`
	Unknown             int64    `json:"unknown" doc:"Deliveries after completion, where nothing says whether they ran." example:"0"`
	InFlightOrDLQ       int64    `json:"in_flight_or_dlq" doc:"Of the published, the ones that are not completed now." example:"6"`
	NetRate             *float64 `json:"net_rate" doc:"Duplicates that reached execution, divided by published tasks; a lower bound where unknown is not 0. Null when nothing was published and duplicates reached execution, and where nothing was observed." example:"0"`
	Saved               Saved    `json:"saved"`
	Costs               Costs    `json:"costs"`
}

// Saved is what caught duplicates would have cost.
type Saved struct {
	LowUSD  float64 `json:"usd_low" example:"3"`
	HighUSD float64 `json:"usd_high" example:"35"`
	Minutes float64 `json:"minutes" example:"140"`
}

// DuplicateTable is the table of duplicates, oldest row first. Sums are of all rows, also of those on other pages.
type DuplicateTable struct {
	List[DuplicateRow]
	Totals       DuplicateSums   `json:"totals" doc:"Of all rows."`
	KeyConflicts int64           `json:"key_conflicts" doc:"In all rows: further payloads under an idempotency key that was used before."`
	Semantic     int64           `json:"semantic" doc:"In all rows: tool calls repeated with the same input under other step ids."`
	Cost         DuplicateCost   `json:"cost"`
	Protection   Protection      `json:"protection"`
	Retention    RecordRetention `json:"retention"`
}

// DuplicateCost is what one duplicate is taken to cost.
type DuplicateCost struct {
	LowUSD  float64 `json:"usd_low" example:"0.3"`
	HighUSD float64 `json:"usd_high" example:"3.5"`
	Minutes float64 `json:"minutes" example:"14"`
}

// DuplicatesQuery is the query of the table of duplicates.
type DuplicatesQuery struct {
	WholeQuery
	Bucket string `query:"bucket" doc:"month (default), day or hour; of UTC."`
	From   string `query:"from" doc:"Time in the first bucket: RFC 3339, a date, or a span back from now. Default: 12 months, 31 days or 24 hours ago."`
	To     string `query:"to" doc:"End: buckets that begin before this time, in the same forms. Default: now."`
}

// maxBuckets bounds the rows of one answer: over a month of hours, nearly three years of days.
const maxBuckets = 1000

func (a *API) describeDuplicates() {
	register(a, call{
		id: "list-duplicates", needs: access.Read, path: Base + "/duplicates", tag: "duplicates", summary: "Duplicates by month, day or hour", example: exampleDuplicates(),
		detail: "What was published and completed, and where duplicates ended. The oldest bucket comes first; empty buckets are included. Tasks count in the " +
			"bucket of their first publish: published = completed + in_flight_or_dlq in every row, and a row of the past changes until its last task " +
			"completes. Duplicates count in the bucket in which they showed. Tasks whose publish was not seen are in no row.",
		failures: []httperr.Code{httperr.InvalidCursor},
	}, a.listDuplicates)
	enumerate(a, "/duplicates", "bucket", duplicates.Periods())
	register(a, call{
		id: "list-duplicate-cases", needs: access.Read, path: Base + "/duplicates/cases", tag: "duplicates", summary: "The tasks behind the numbers of duplicates", example: exampleCases(),
		detail: "Tasks with a finding of one of the layers, each with those findings. Filters, order and cursors are those of the task list; from and to are on the " +
			"last event of a task, which is never before its finding. Of tasks that --retention has deleted the table keeps the counts alone: kept_since says up to when that may be so.",
		failures: []httperr.Code{httperr.InvalidCursor},
	}, a.listCases)
	queryParameter(a.huma.OpenAPI().Paths[Base+"/duplicates/cases"].Get, "layer").Required = true
	enumerateTasks(a, "/duplicates/cases")
}

func (a *API) listDuplicates(ctx context.Context, in *DuplicatesQuery) (*reply[DuplicateTable], error) {
	l, bounds, err := a.tableRequest(ctx, *in)
	if err != nil {
		return nil, err
	}
	ledger, err := a.cfg.Query.Ledger(ctx, bounds)
	if err != nil {
		return nil, err
	}
	gaps, err := a.gapRefs(ctx, bounds[0], bounds[len(bounds)-1])
	if err != nil {
		return nil, err
	}
	body := duplicateTableOf(ledger)
	body.AsOf, body.Gaps = Instant(ledger.AsOf), gaps
	body.Data, body.Page = window(l, body.Data, func(r DuplicateRow) query.Cursor { return query.Cursor{At: lifecycle.Micros(r.Bucket)} })
	stable := body
	stable.AsOf, stable.Page = 0, Page{}
	return wholeReply(ctx, l, body.Page, body, stable), nil
}

// tableRequest reads the query of a table by time: the list, and the beginnings of its buckets with the end of the last.
func (a *API) tableRequest(ctx context.Context, q DuplicatesQuery) (listRequest, []lifecycle.Micros, error) {
	l, wrongPage := a.wholeRequest(ctx, q.WholeQuery)
	bounds, wrongTable := q.bounds(l.base.Time())
	return l, bounds, together(wrongTable, wrongPage)
}

// bounds reads the query: the beginnings of the buckets, and the end of the last.
func (q *DuplicatesQuery) bounds(now time.Time) ([]lifecycle.Micros, error) {
	period := duplicates.Period(q.Bucket)
	if period == "" {
		period = duplicates.PeriodMonth
	}
	var wrongBucket error
	if !period.Valid() {
		wrongBucket = httperr.Parameter("bucket", "must be month, day or hour")
	}
	span, wrongSpan := lifecycle.ParseFilter(map[string][]string{"from": {q.From}, "to": {q.To}}, now)
	if err := together(wrongBucket, wrongSpan); err != nil {
		return nil, err
	}
	to := now.UTC().Add(time.Microsecond)
	if span.To.Known() {
		to = span.To.Time()
	}
	from := span.From.Time()
	if !span.From.Known() {
		from = period.Shift(to.Add(-time.Microsecond), 1-period.Usual())
	}
	times, more := period.Bounds(from, to, maxBuckets)
	switch {
	case more:
		return nil, httperr.Parameter("from", "asks for more than 1,000 buckets; take longer buckets or a later from")
	case len(times) == 0:
		return nil, httperr.Parameter("to", "must be after from")
	}
	bounds := make([]lifecycle.Micros, len(times))
	for i, t := range times {
		bounds[i] = lifecycle.MicrosOf(t)
	}
	return bounds, nil
}

func duplicateTableOf(l query.Ledger) DuplicateTable {
	found := l.Total.Found
	out := DuplicateTable{
		Totals: sumsOf(l.Total), KeyConflicts: found[lifecycle.LayerConflict], Semantic: found[lifecycle.LayerSemantic], Cost: DuplicateCost(l.Cost),
		Protection: protectionOf(l), Retention: retentionOf(l.Retention),
	}
	out.Data = make([]DuplicateRow, len(l.Rows))
	for i, r := range l.Rows {
		out.Data[i] = DuplicateRow{Bucket: Instant(r.From), Observed: string(r.Observed), DuplicateSums: sumsOf(r)}
	}
	return out
}

func sumsOf(r query.LedgerRow) DuplicateSums {
	out := DuplicateSums{
		Published: r.Published, Completed: r.Completed, InFlightOrDLQ: r.InFlightOrDLQ(), CaughtByStream: r.Found[lifecycle.LayerStream],
		CaughtByIdempotency: r.Found[lifecycle.LayerIdempotency], ReachedExecution: r.Found[lifecycle.LayerExecution],
		Unknown: r.Found[lifecycle.LayerUnknown], Saved: Saved(r.Saved), Costs: costsOf(r.Records),
	}
	if rate, known := r.NetRate(); known && r.Observed != query.ObservedNone {
		out.NetRate = &rate
	}
	return out
}
