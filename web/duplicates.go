package web

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"fleetglass/duplicates"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

// caseRows is how many tasks stand below the ledger.
const caseRows = 10

// bucketing is a step of the ledger.
type bucketing struct {
	duplicates.Period
	label, unit, head, layout string
}

// Months are those of UTC, for which there are counters; days and hours are the reader's.
var bucketings = []bucketing{
	{duplicates.PeriodMonth, "Months", "Month", "the last 12 months of UTC", "January 2006"},
	{duplicates.PeriodDay, "Days", "Day", "the last 31 days", "Mon 2 Jan"},
	{duplicates.PeriodHour, "Hours", "Hour", "the last 24 hours", "2 Jan 15:04"},
}

// duplicates is the ledger of duplicates over time, with the tasks behind its numbers.
func (w *Web) duplicates(c *gin.Context) error {
	ctx := c.Request.Context()
	r := preferencesOf(c)
	snap, err := w.snapshot(ctx)
	if err != nil {
		return err
	}
	k := bucketings[0]
	for _, x := range bucketings {
		if string(x.Period) == c.Query("bucket") {
			k = x
		}
	}
	layer := layerOf(c.Query("layer"))
	here := func(bucket duplicates.Period, l lifecycle.Layer) string {
		return address("/duplicates", url.Values{"bucket": {string(bucket)}, "layer": {string(l)}})
	}
	p := views.DuplicatesPage{
		Links: links(c, here(k.Period, layer), "/api/v1/duplicates", url.Values{"bucket": {string(k.Period)}}), Head: k.head, Unit: k.unit,
		Layer: views.LayerWord(layer), AllHref: address("/tasks", lifecycle.CasesFilter(layer).Values()),
	}
	for _, x := range bucketings {
		p.Ranges = append(p.Ranges, views.Tab{Href: here(x.Period, layer), Label: x.label, Current: x.Period == k.Period})
	}
	f := frame{title: "Duplicates", section: "duplicates", search: true, snapshot: snap}
	if snap.Counts.Total() == 0 {
		p.Empty = w.emptyList(listQuery{path: "/tasks"}, snap, query.StateCounts{})
		return w.render(c, f, views.Duplicates(p))
	}
	bounds := k.bounds(snap.AsOf.Time(), r.zone)
	found, wait, err := w.duplicateRows(ctx, bounds)
	if err != nil {
		return err
	}
	p.Cost = *w.cfg.DuplicateCost
	live := w.retention(ctx)
	store := w.cfg.Records.Found(live)
	for i, row := range found {
		p.Rows = append(p.Rows, w.ledgerRow(row, bounds[i].Format(k.layout), store))
	}
	p.Total = w.ledgerRow(duplicates.Sum(found), "Total", store)
	if p.Protection, err = w.protection(ctx, p.Total, live, snap.AsOf); err != nil {
		return err
	}
	p.Protection.Wait = wait
	p.Chart = k.chart(p.Rows)
	slices.Reverse(p.Rows)
	p.Rows = slices.DeleteFunc(p.Rows, func(r views.LedgerRow) bool { return r.Empty() })
	for _, l := range lifecycle.Layers() {
		p.Layers = append(p.Layers, views.Tab{Href: here(k.Period, l), Label: views.LayerWord(l), Count: views.Count(p.Total.Found[l]), Current: l == layer})
	}
	p.Note, p.Records = recordNote(w.health()), recordAdvice(snap.Consumers.All, live)
	if p.Cases, err = w.cases(ctx, snap, layer); err != nil {
		return err
	}
	return w.render(c, f, views.Duplicates(p))
}

func layerOf(s string) lifecycle.Layer {
	if slices.Contains(lifecycle.Layers(), lifecycle.Layer(s)) {
		return lifecycle.Layer(s)
	}
	return lifecycle.LayerStream
}

// recordNote says when the records that the ledger needs are not read.
func recordNote(parts []health.Part) string {
	for _, p := range parts {
		if strings.Contains(p.Name, "idempotency") && p.State != health.NotConfigured && p.State != health.Down {
			return ""
		}
	}
	return "Idempotency records are not read here, so what they caught, and what ran again, is known from reports of agents only."
}

// cases are the tasks behind a number, with the evidence.
func (w *Web) cases(ctx context.Context, snap *query.FleetSnapshot, layer lifecycle.Layer) ([]views.CaseRow, error) {
	found, err := w.cfg.Query.Cases(ctx, layer, lifecycle.CasesFilter(layer), lifecycle.Page{Limit: caseRows})
	if err != nil {
		return nil, err
	}
	var out []views.CaseRow
	for i, row := range rows(found.Rows, snap) {
		if cases := found.Tasks[i].Cases; len(cases) > 0 {
			out = append(out, views.CaseRow{TaskRow: row, Why: cases[0].Why, Count: cases[0].N, At: cases[0].At})
		}
	}
	return out, nil
}

// bounds are the beginnings of the buckets up to now, oldest first, and the end of the last.
func (k bucketing) bounds(now time.Time, zone *time.Location) []time.Time {
	if k.Period == duplicates.PeriodMonth {
		zone = time.UTC
	}
	now = now.In(zone)
	bounds, _ := k.Bounds(k.Shift(now, 1-k.Usual()), now.Add(time.Microsecond), k.Usual())
	return bounds
}

// duplicateRows are the rows between the times, and what deliveries waited for records in all of them.
func (w *Web) duplicateRows(ctx context.Context, times []time.Time) ([]duplicates.Row, duplicates.RecordWait, error) {
	bounds := make([]lifecycle.Micros, len(times))
	for i, t := range times {
		bounds[i] = lifecycle.MicrosOf(t)
	}
	cells, err := w.cfg.Store.Rollups(ctx, duplicates.Metrics(bounds), bounds[0], bounds[len(bounds)-1], false)
	if err != nil {
		return nil, duplicates.RecordWait{}, err
	}
	return duplicates.Rows(cells, bounds), duplicates.RecordWaits(cells), nil
}

// ledgerRow links the numbers to the tasks behind them. The list goes by last event, which is never before the duplicate, so it has
// no upper bound.
func (w *Web) ledgerRow(r duplicates.Row, label string, store duplicates.RecordStore) views.LedgerRow {
	out := views.LedgerRow{
		Row: r, Label: label, Saved: w.cfg.DuplicateCost.Saved(r.Caught()), Cost: r.RecordCost(store, *w.cfg.RecordPrices),
		Cases: map[lifecycle.Layer]string{},
	}
	for _, l := range lifecycle.Layers() {
		f := lifecycle.CasesFilter(l)
		f.From = r.From
		out.Cases[l] = address("/tasks", f.Values())
	}
	return out
}

// retention reads the live configuration; what cannot be read is not known.
func (w *Web) retention(ctx context.Context) duplicates.Retention {
	if w.cfg.Retention == nil {
		return duplicates.Retention{}
	}
	live, err := w.cfg.Retention(ctx)
	if err != nil {
		w.cfg.Log.WarnContext(ctx, "the retention of records could not be read", "error", err)
		return duplicates.Retention{}
	}
	return live
}

// recordAdvice says what to do when idempotency records do not live long enough.
func recordAdvice(consumers []lifecycle.ConsumerState, live duplicates.Retention) string {
	if check := duplicates.CheckRetention(consumers, live); check.Verdict == duplicates.RetentionShort {
		return check.Advice
	}
	return ""
}

// protection is what the protection costs, beside the prices: memory as the stream is now.
func (w *Web) protection(ctx context.Context, total views.LedgerRow, live duplicates.Retention, now lifecycle.Micros) (views.Protection, error) {
	p := views.Protection{Store: w.cfg.Records.Found(live), Prices: *w.cfg.RecordPrices, Cost: total.Cost}
	if !live.Known {
		return p, nil
	}
	from, metric := duplicates.DedupeSince(live.DuplicateWindow, now)
	cells, err := w.cfg.Store.Rollups(ctx, []lifecycle.Metric{metric}, from, now+1, false)
	if err != nil {
		return p, err
	}
	p.Dedupe = duplicates.EstimateDedupe(live.DuplicateWindow, cells)
	return p, nil
}

func (k bucketing) chart(rows []views.LedgerRow) views.Chart {
	c := views.Chart{ID: "duplicates-chart", Title: "Duplicates by layer, " + k.head, Unit: k.unit, Series: []views.Series{
		{Name: "caught by the stream", Tone: "dup"}, {Name: "caught by record", Tone: "run"}, {Name: "reached execution", Tone: "bad"}, {Name: "unknown", Tone: "wait"}}}
	var caught, ran int64
	every := max(1, len(rows)/6)
	for i, r := range rows {
		b := views.Bucket{Label: r.Label, Values: []int64{
			r.Found[lifecycle.LayerStream], r.Found[lifecycle.LayerIdempotency], r.Found[lifecycle.LayerExecution], r.Found[lifecycle.LayerUnknown],
		}}
		if i%every == every/2 {
			b.Axis = axisLabel(r.Label)
		}
		caught, ran = caught+r.Caught(), ran+r.Found[lifecycle.LayerExecution]
		c.Buckets = append(c.Buckets, b)
	}
	c.Desc = fmt.Sprintf("%s caught and %s reached execution in %s.", counted(caught, "duplicate", "duplicates"), views.Count(ran), k.head)
	return c
}

// axisLabel shortens "November 2026" to "Nov"; the others are short already.
func axisLabel(s string) string {
	if t, err := time.Parse("January 2006", s); err == nil {
		return t.Format("Jan")
	}
	return s
}
