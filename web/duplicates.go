package web

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"fleetglass/internal/health"
	"fleetglass/lifecycle"
	"fleetglass/views"
)

// Savings of a duplicate that was caught (SPEC 4).
const (
	savedLowUSD  = 0.30
	savedHighUSD = 3.50
	savedMinutes = 14.0
	caseRows     = 10
)

// bucketing is a step of the ledger.
type bucketing struct {
	key, label, unit, head, layout string
	count                          int
}

var bucketings = []bucketing{
	{"month", "Months", "Month", "the last 12 months", "January 2006", 12},
	{"day", "Days", "Day", "the last 31 days", "Mon 2 Jan", 31},
	{"hour", "Hours", "Hour", "the last 24 hours", "2 Jan 15:04", 24},
}

// duplicates is the ledger of duplicates over time, with the tasks behind its numbers.
func (w *Web) duplicates(c *gin.Context) error {
	ctx := c.Request.Context()
	r := readerOf(c)
	b, err := w.board.get(ctx)
	if err != nil {
		return err
	}
	k := bucketings[0]
	for _, x := range bucketings {
		if x.key == c.Query("bucket") {
			k = x
		}
	}
	layer := layerOf(c.Query("layer"))
	here := func(bucket string, l lifecycle.Layer) string {
		return address("/duplicates", url.Values{"bucket": {bucket}, "layer": {string(l)}})
	}
	p := views.DuplicatesPage{
		Links: links(c, here(k.key, layer), "/api/v1/tasks", lifecycle.CasesFilter(layer).Values()), Head: k.head, Unit: k.unit,
		Layer: views.LayerWord(layer), AllHref: address("/tasks", lifecycle.CasesFilter(layer).Values()),
	}
	for _, x := range bucketings {
		p.Ranges = append(p.Ranges, views.Tab{Href: here(x.key, layer), Label: x.label, Current: x.key == k.key})
	}
	f := frame{title: "Duplicates", section: "duplicates", search: true, board: b}
	if b.total() == 0 {
		p.Blank = w.blank(listQuery{path: "/tasks", first: true}, b, nil)
		return w.render(c, f, views.Duplicates(p))
	}
	starts := k.starts(b.Now.Time().In(r.zone))
	cells, err := w.rollups(ctx, lifecycle.MicrosOf(starts[0]), b.Now, false, lifecycle.MetricPublished, lifecycle.MetricCompleted, lifecycle.MetricDuplicates)
	if err != nil {
		return err
	}
	p.Rows, p.Total = k.ledger(cells, starts)
	p.Chart = k.chart(p.Rows)
	slices.Reverse(p.Rows)
	p.Rows = slices.DeleteFunc(p.Rows, views.LedgerRow.Blank)
	for _, l := range lifecycle.Layers() {
		p.Layers = append(p.Layers, views.Tab{Href: here(k.key, l), Label: views.LayerWord(l), Count: views.Count(p.Total.Cell(l).N), Current: l == layer})
	}
	p.Note = recordNote(w.health())
	if p.Cases, err = w.cases(ctx, b, layer); err != nil {
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
func (w *Web) cases(ctx context.Context, b *board, layer lifecycle.Layer) ([]views.CaseRow, error) {
	page, err := w.cfg.Store.ListTasks(ctx, lifecycle.CasesFilter(layer), lifecycle.Page{Limit: caseRows})
	if err != nil {
		return nil, err
	}
	var out []views.CaseRow
	for _, row := range rows(page.Tasks, b) {
		rec, err := w.cfg.Store.Task(ctx, row.TaskID)
		if errors.Is(err, lifecycle.ErrNotFound) {
			continue // Removed meanwhile.
		}
		if err != nil {
			return nil, err
		}
		for _, found := range lifecycle.Ledger(rec.Facts) {
			if found.Layer == layer {
				out = append(out, views.CaseRow{TaskRow: row, Why: found.Why, Count: found.N, At: found.At})
				break
			}
		}
	}
	return out, nil
}

// starts are the beginnings of the buckets up to now, in the reader's zone, oldest first.
func (k bucketing) starts(now time.Time) []time.Time {
	out := make([]time.Time, k.count)
	for i := range out {
		back := k.count - 1 - i
		y, m, d := now.Date()
		switch k.key {
		case "month":
			out[i] = time.Date(y, m-time.Month(back), 1, 0, 0, 0, 0, now.Location())
		case "day":
			out[i] = time.Date(y, m, d-back, 0, 0, 0, 0, now.Location())
		default:
			out[i] = now.Truncate(time.Hour).Add(-time.Duration(back) * time.Hour)
		}
	}
	return out
}

func (k bucketing) ledger(cells lifecycle.Tally, starts []time.Time) ([]views.LedgerRow, views.LedgerRow) {
	out := make([]views.LedgerRow, len(starts))
	total := views.LedgerRow{Label: "Total"}
	for c, n := range cells {
		i, found := slices.BinarySearchFunc(starts, c.Bucket.Time(), func(s, t time.Time) int { return s.Compare(t) })
		if !found {
			i--
		}
		if i < 0 {
			continue
		}
		for _, r := range []*views.LedgerRow{&out[i], &total} {
			switch c.Metric {
			case lifecycle.MetricPublished:
				r.Published += n
			case lifecycle.MetricCompleted:
				r.Completed += n
			case lifecycle.MetricDuplicates:
				if cell := r.Cell(lifecycle.Layer(c.Label)); cell != nil {
					cell.N += n
				}
			}
		}
	}
	for i := range out {
		out[i].Label = starts[i].Format(k.layout)
		finish(&out[i], lifecycle.MicrosOf(starts[i]))
	}
	finish(&total, lifecycle.MicrosOf(starts[0]))
	return out, total
}

// finish links the numbers to the tasks behind them and counts what was saved. The list goes by last event, which is never before
// the duplicate, so it has no upper bound.
func finish(r *views.LedgerRow, from lifecycle.Micros) {
	for _, l := range lifecycle.Layers() {
		f := lifecycle.CasesFilter(l)
		f.From = from
		r.Cell(l).Href = address("/tasks", f.Values())
	}
	n := float64(r.Stream.N + r.Record.N)
	r.SavedLow, r.SavedHigh, r.SavedMinutes = n*savedLowUSD, n*savedHighUSD, n*savedMinutes
}

func (k bucketing) chart(rows []views.LedgerRow) views.Chart {
	c := views.Chart{ID: "duplicates-chart", Title: "Duplicates by layer, " + k.head, Unit: k.unit, Series: []views.Series{
		{Name: "caught by the stream", Tone: "dup"}, {Name: "caught by record", Tone: "run"}, {Name: "reached execution", Tone: "bad"}, {Name: "unknown", Tone: "wait"}}}
	var caught, ran int64
	every := max(1, len(rows)/6)
	for i, r := range rows {
		b := views.Bucket{Label: r.Label, Values: []int64{r.Stream.N, r.Record.N, r.Ran.N, r.Unknown.N}}
		if i%every == every/2 {
			b.Axis = axisLabel(r.Label)
		}
		caught, ran = caught+r.Stream.N+r.Record.N, ran+r.Ran.N
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
