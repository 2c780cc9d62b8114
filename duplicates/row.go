package duplicates

import (
	"math"
	"slices"

	"fleetglass/lifecycle"
)

// Row is one row of the table of duplicates (SPEC 4): a span of time, or the sum of several.
//
// Tasks are counted in the span in which their first message was stored, and only there. A task that is completed in a later month
// than it was published raises Completed of the month in which it was published, also when a retry completed it. So every task is
// either completed or not, and Published = Completed + [Row.InFlightOrDLQ] holds in each row and in every sum of rows; a
// row of the past changes until all its tasks are completed. Tasks whose publish nobody saw have no such span and are in no row.
//
// Duplicates are counted in the span in which they showed ([Case].At), which may be later than that of their task.
type Row struct {
	From, To  lifecycle.Micros          // From <= time < To.
	Published int64                     // Tasks.
	Completed int64                     // Of these, the ones that are completed now.
	Found     map[lifecycle.Layer]int64 // Duplicates by where they ended; nil where there are none.
	Recorded  int64                     // Completions that idempotency records stated, by when the records were stored.
}

// InFlightOrDLQ is how many of the published tasks are not completed: waiting, in a worker's hands, exhausted, in the dead-letter
// queue, decided about there, or gone without proof.
func (r Row) InFlightOrDLQ() int64 { return r.Published - r.Completed }

// Caught is how many duplicates the stream or an idempotency record caught.
func (r Row) Caught() int64 {
	return r.Found[lifecycle.LayerStream] + r.Found[lifecycle.LayerIdempotency]
}

// NetRate is how many duplicates reached execution for each published task. It is not known when there are some and nothing was
// published.
func (r Row) NetRate() (rate float64, known bool) {
	ran := r.Found[lifecycle.LayerExecution]
	if ran == 0 {
		return 0, true
	}
	if r.Published <= 0 {
		return 0, false
	}
	return float64(ran) / float64(r.Published), true
}

// Empty reports whether nothing was published and nothing found.
func (r Row) Empty() bool {
	for _, n := range r.Found {
		if n != 0 {
			return false
		}
	}
	return r.Published == 0 && r.Completed == 0 && r.Recorded == 0
}

func (r *Row) add(m lifecycle.Metric, label string, n int64) {
	switch m {
	case lifecycle.MetricTasks, lifecycle.MetricTasksMonth:
		r.Published += n
		if label == string(lifecycle.StateCompleted) {
			r.Completed += n
		}
	case lifecycle.MetricDuplicates, lifecycle.MetricDuplicatesMonth:
		if r.Found == nil {
			r.Found = map[lifecycle.Layer]int64{}
		}
		r.Found[lifecycle.Layer(label)] += n
	case lifecycle.MetricRecorded, lifecycle.MetricRecordedMonth:
		r.Recorded += n
	}
}

// Metrics are the metrics that [Rows] and [RecordWaits] add up: those of months, where every bound is the beginning of a month of
// UTC, else those of hours. With the former a table costs what its rows cost, however much happened in them.
func Metrics(bounds []lifecycle.Micros) []lifecycle.Metric {
	if slices.ContainsFunc(bounds, func(at lifecycle.Micros) bool { return lifecycle.MetricTasksMonth.Bucket(at) != at }) {
		return []lifecycle.Metric{lifecycle.MetricTasks, lifecycle.MetricDuplicates, lifecycle.MetricRecorded, lifecycle.MetricRecordWait}
	}
	return []lifecycle.Metric{lifecycle.MetricTasksMonth, lifecycle.MetricDuplicatesMonth, lifecycle.MetricRecordedMonth, lifecycle.MetricRecordWaitMonth}
}

// Rows adds the cells of [Metrics] up to the rows between the bounds, which ascend: a row for each but the last,
// in their order. Cells outside, and those of other metrics, do not count. A bucket that a bound cuts counts where it begins.
func Rows(cells lifecycle.Tally, bounds []lifecycle.Micros) []Row {
	rows := make([]Row, max(0, len(bounds)-1))
	for i := range rows {
		rows[i].From, rows[i].To = bounds[i], bounds[i+1]
	}
	for c, n := range cells {
		i, found := slices.BinarySearch(bounds, c.Bucket)
		if !found {
			i--
		}
		if i >= 0 && i < len(rows) {
			rows[i].add(c.Metric, c.Label, n)
		}
	}
	return rows
}

// Sum is the row of all rows, which follow one another.
func Sum(rows []Row) Row {
	var out Row
	for i, r := range rows {
		if i == 0 || r.From < out.From {
			out.From = r.From
		}
		out.To = max(out.To, r.To)
		out.Published += r.Published
		out.Completed += r.Completed
		out.Recorded += r.Recorded
		for l, n := range r.Found {
			out.add(lifecycle.MetricDuplicates, string(l), n)
		}
	}
	return out
}

// Cost is what one duplicate costs when it runs.
type Cost struct {
	LowUSD, HighUSD float64 // Tokens, from a cheap task to an expensive one.
	Minutes         float64 // Of somebody who cleans up.
}

// DefaultCost is the measure of the field: $0.30 to $3.50, and 14 minutes.
func DefaultCost() Cost {
	return Cost{LowUSD: 0.30, HighUSD: 3.50, Minutes: 14}
}

// Savings is what a number of duplicates would have cost, had they run.
type Savings struct {
	LowUSD, HighUSD float64 // To the cent.
	Minutes         float64
}

// Saved is what the duplicates that were caught would have cost.
func (c Cost) Saved(caught int64) Savings {
	n := float64(caught)
	cents := func(usd float64) float64 { return math.Round(usd*100) / 100 }
	return Savings{LowUSD: cents(n * c.LowUSD), HighUSD: cents(n * c.HighUSD), Minutes: n * c.Minutes}
}
