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
	"fleetglass/reconcile"
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
	{duplicates.PeriodMonth, "Months", "Month", "the last 12 months, UTC", "January 2006"},
	{duplicates.PeriodDay, "Days", "Day", "the last 31 days", "Mon 2 Jan"},
	{duplicates.PeriodHour, "Hours", "Hour", "the last 24 hours", "2 Jan 15:04"},
}

// duplicates is the ledger of duplicates over time, with the tasks behind its numbers.
func (w *Web) duplicates(c *gin.Context) error {
	snap, err := w.snapshot(c.Request.Context())
	if err != nil {
		return err
	}
	k, layer := bucketingOf(c.Query("bucket")), layerOf(c.Query("layer"))
	p := views.DuplicatesPage{
		Links: links(c, ledgerAddress(k.Period, layer), "/api/v1/duplicates", url.Values{"bucket": {string(k.Period)}}), Head: k.head, Unit: k.unit,
		Layer: views.LayerWord(layer), AllHref: address("/tasks", lifecycle.CasesFilter(layer).Values()),
	}
	for _, x := range bucketings {
		p.Ranges = append(p.Ranges, views.Tab{Href: ledgerAddress(x.Period, layer), Label: x.label, Current: x.Period == k.Period})
	}
	if snap.Counts.Total() == 0 && !snap.Deleted { // The table outlives the tasks that it counts.
		p.Empty = w.emptyFleet(snap)
	} else if err := w.fillLedger(c, &p, k, layer, snap); err != nil {
		return err
	}
	if snap.Reconciled != nil && p.Empty.Kind == "" {
		p.Balance = ledgerBalance(snap.Reconciled.Report)
	}
	return w.render(c, frame{title: "Duplicates", section: "duplicates", search: true, snapshot: snap}, views.Duplicates(p))
}

// ledgerBalance is the balance of a report; what its terms list stands on the page of the reconciliation.
func ledgerBalance(r *reconcile.Report) *views.LedgerBalance {
	out := &views.LedgerBalance{Report: r, Terms: balanceTerms(r)}
	for i, t := range out.Terms {
		if strings.HasPrefix(t.Href, "#") {
			out.Terms[i].Href = "/reconciliation" + t.Href
		}
	}
	return out
}

func bucketingOf(period string) bucketing {
	for _, x := range bucketings {
		if string(x.Period) == period {
			return x
		}
	}
	return bucketings[0]
}

func ledgerAddress(bucket duplicates.Period, l lifecycle.Layer) string {
	return address("/duplicates", url.Values{"bucket": {string(bucket)}, "layer": {string(l)}})
}

// fillLedger adds the table, its chart and the cases below.
func (w *Web) fillLedger(c *gin.Context, p *views.DuplicatesPage, k bucketing, layer lifecycle.Layer, snap *query.FleetSnapshot) error {
	ctx := c.Request.Context()
	bounds := k.bounds(snap.AsOf.Time(), preferencesOf(c).zone)
	ledger, err := w.cfg.Query.Ledger(ctx, instants(bounds))
	if err != nil {
		return err
	}
	p.Cost = ledger.Cost
	for i, row := range ledger.Rows {
		p.Rows = append(p.Rows, ledgerRow(row, bounds[i].Format(k.layout)))
	}
	p.Total = ledgerRow(ledger.Total, "Total")
	p.Protection = views.Protection{Store: ledger.Records, Prices: ledger.Prices, Cost: p.Total.Cost, Dedupe: ledger.Dedupe, Wait: ledger.Wait, Keep: ledger.Retention}
	p.Chart = k.chart(p.Rows)
	slices.Reverse(p.Rows)
	p.Rows = slices.DeleteFunc(p.Rows, func(r views.LedgerRow) bool { return r.Empty() })
	for _, l := range lifecycle.Layers() {
		p.Layers = append(p.Layers, views.Tab{Href: ledgerAddress(k.Period, l), Label: views.LayerWord(l), Count: views.Count(p.Total.Found[l]), Current: l == layer})
	}
	p.Note, p.Records = recordNote(w.health()), recordAdvice(ledger.Retention)
	p.Cases, p.KeptSince, err = w.cases(ctx, snap, layer)
	return err
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
	return "Fleetglass reads no idempotency records here. Only reports of agents say what records caught and what ran again."
}

// cases are the tasks behind a number, with the evidence, and since when they are kept.
func (w *Web) cases(ctx context.Context, snap *query.FleetSnapshot, layer lifecycle.Layer) ([]views.CaseRow, lifecycle.Micros, error) {
	found, err := w.cfg.Query.Cases(ctx, lifecycle.Filter{Layers: []lifecycle.Layer{layer}, Sort: lifecycle.SortLastEventDesc}, lifecycle.Page{Limit: caseRows})
	if err != nil {
		return nil, 0, err
	}
	var out []views.CaseRow
	for i, row := range rows(found.Rows, snap) {
		if cases := found.Tasks[i].Cases; len(cases) > 0 {
			out = append(out, views.CaseRow{TaskRow: row, Why: cases[0].Why, Count: cases[0].N, At: cases[0].At})
		}
	}
	return out, found.KeptSince, nil
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

func instants(times []time.Time) []lifecycle.Micros {
	out := make([]lifecycle.Micros, len(times))
	for i, t := range times {
		out[i] = lifecycle.MicrosOf(t)
	}
	return out
}

// ledgerRow links the numbers to the tasks behind them. The list goes by last event, which is never before the duplicate, so it has
// no upper bound.
func ledgerRow(r query.LedgerRow, label string) views.LedgerRow {
	out := views.LedgerRow{Row: r.Row, Label: label, Saved: r.Saved, Cost: r.Records, Observed: r.Observed != query.ObservedNone, Cases: map[lifecycle.Layer]string{}}
	for _, l := range lifecycle.Layers() {
		f := lifecycle.CasesFilter(l)
		f.From = r.From
		out.Cases[l] = address("/tasks", f.Values())
	}
	return out
}

// recordAdvice says what to do when idempotency records do not live long enough.
func recordAdvice(check duplicates.RetentionCheck) string {
	if check.Verdict == duplicates.RetentionShort {
		return check.Advice
	}
	return ""
}

func (k bucketing) chart(rows []views.LedgerRow) views.Chart {
	c := views.Chart{ID: "duplicates-chart", Title: "Duplicates by layer, " + k.head, Unit: k.unit, Series: []views.Series{
		{Name: "caught by the stream", Tone: "dup"}, {Name: "caught by record", Tone: "run"}, {Name: "reached execution", Tone: "bad", Warn: true}, {Name: "unknown", Tone: "wait"}}}
	var caught, ran int64
	every := max(1, len(rows)/6)
	for i, r := range rows {
		b := views.Bucket{Label: r.Label, Values: []int64{
			r.Found[lifecycle.LayerStream], r.Found[lifecycle.LayerIdempotency], r.Found[lifecycle.LayerExecution], r.Found[lifecycle.LayerUnknown],
		}}
		if !r.Observed {
			b.Blind = notObserved
		}
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
