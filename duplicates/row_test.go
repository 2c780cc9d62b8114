package duplicates

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fleetglass/lifecycle"
)

func instants(times ...time.Time) []lifecycle.Micros {
	out := make([]lifecycle.Micros, len(times))
	for i, t := range times {
		out[i] = lifecycle.MicrosOf(t)
	}
	return out
}

func month(m time.Month) time.Time { return time.Date(2026, m, 1, 0, 0, 0, 0, time.UTC) }

func TestDuplicateRowsCountEachCellInTheRowItBeginsIn(t *testing.T) {
	t.Parallel()
	bounds := instants(month(10), month(11), month(12))
	cell := func(m lifecycle.Metric, at lifecycle.Micros, label string) lifecycle.Cell {
		return lifecycle.Cell{Metric: m, Bucket: at, Label: label}
	}
	cells := lifecycle.Tally{
		cell(lifecycle.MetricTasks, bounds[0], "completed"):                      5,
		cell(lifecycle.MetricTasks, bounds[1]-3_600_000_000, lifecycle.TaskOpen): 2,
		cell(lifecycle.MetricTasks, bounds[1], "dead_lettered"):                  1,
		cell(lifecycle.MetricDuplicates, bounds[1], "stream"):                    3,
		cell(lifecycle.MetricDuplicates, bounds[1], "idempotency"):               4,
		cell(lifecycle.MetricPublished, bounds[1], "code_review"):                99, // Messages, not tasks.
		cell(lifecycle.MetricTasks, bounds[0]-1, "completed"):                    99, // Before.
		cell(lifecycle.MetricTasks, bounds[2], "completed"):                      99, // After.
	}
	want := []Row{
		{From: bounds[0], To: bounds[1], Published: 7, Completed: 5},
		{From: bounds[1], To: bounds[2], Published: 1, Found: map[lifecycle.Layer]int64{lifecycle.LayerStream: 3, lifecycle.LayerIdempotency: 4}},
	}
	rows := Rows(cells, bounds)
	if d := cmp.Diff(want, rows); d != "" {
		t.Errorf("rows (-want +got):\n%s", d)
	}
	total := Row{From: bounds[0], To: bounds[2], Published: 8, Completed: 5, Found: want[1].Found}
	if d := cmp.Diff(total, Sum(rows)); d != "" {
		t.Errorf("sum (-want +got):\n%s", d)
	}
	for i, want := range []int64{2, 1} {
		if got := rows[i].InFlightOrDLQ(); got != want {
			t.Errorf("row %d: in flight or in the DLQ %d, want %d", i, got, want)
		}
	}
	if rows[1].Caught() != 7 || rows[0].Empty() || !(Row{}).Empty() {
		t.Errorf("caught %d, empty %v", rows[1].Caught(), rows[0].Empty())
	}
	if got := Rows(cells, nil); len(got) != 0 {
		t.Errorf("no bounds: %d rows", len(got))
	}
}

func TestNetRateIsOfPublishedTasks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ran, published int64
		rate           float64
		known          bool
	}{{0, 0, 0, true}, {0, 10, 0, true}, {1, 4, 0.25, true}, {1, 0, 0, false}} {
		r := Row{Published: c.published, Found: map[lifecycle.Layer]int64{lifecycle.LayerExecution: c.ran}}
		if rate, known := r.NetRate(); rate != c.rate || known != c.known {
			t.Errorf("%d of %d: %v, %v; want %v, %v", c.ran, c.published, rate, known, c.rate, c.known)
		}
	}
}

func TestSavingsAreToTheCent(t *testing.T) {
	t.Parallel()
	want := Savings{LowUSD: 11.4, HighUSD: 133, Minutes: 532}
	if got := DefaultCost().Saved(38); got != want {
		t.Errorf("38 caught duplicates saved %+v, want %+v", got, want)
	}
}

func TestMonthsAreReadFromMonthsOnlyWhereTheyAreWhole(t *testing.T) {
	t.Parallel()
	months := []lifecycle.Metric{lifecycle.MetricTasksMonth, lifecycle.MetricDuplicatesMonth, lifecycle.MetricRecordedMonth, lifecycle.MetricRecordWaitMonth}
	hours := []lifecycle.Metric{lifecycle.MetricTasks, lifecycle.MetricDuplicates, lifecycle.MetricRecorded, lifecycle.MetricRecordWait}
	berlin := time.FixedZone("CET", 3600)
	for _, c := range []struct {
		name   string
		bounds []lifecycle.Micros
		want   []lifecycle.Metric
	}{
		{"months of UTC", instants(month(1), month(2), month(3)), months},
		{"days", instants(month(1), month(1).AddDate(0, 0, 1)), hours},
		{"months of another zone", instants(month(1).In(berlin).Add(-time.Hour), month(2).Add(-time.Hour)), hours},
	} {
		if d := cmp.Diff(c.want, Metrics(c.bounds)); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

func TestPeriodsFollowTheCalendar(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 31, 23, 59, 59, 0, time.UTC)
	for p, want := range map[Period][2]string{
		PeriodMonth: {"2026-01-01T00", "2026-02-01T00"},
		PeriodDay:   {"2026-01-31T00", "2026-02-01T00"},
		PeriodHour:  {"2026-01-31T23", "2026-02-01T00"},
	} {
		got := [2]string{p.Start(at).Format("2006-01-02T15"), p.Shift(at, 1).Format("2006-01-02T15")}
		if got != want {
			t.Errorf("%s of %v: %v, want %v", p, at, got, want)
		}
	}
	bounds, more := PeriodMonth.Bounds(at, month(4), 100)
	if d := cmp.Diff([]time.Time{month(1), month(2), month(3), month(4)}, bounds); d != "" || more {
		t.Errorf("months, more %v (-want +got):\n%s", more, d)
	}
	if bounds, more = PeriodDay.Bounds(month(1), month(4), 3); len(bounds) != 4 || !more {
		t.Errorf("at most three days: %d bounds, more %v", len(bounds), more)
	}
	if bounds, _ = PeriodDay.Bounds(month(2), month(2), 3); len(bounds) != 0 {
		t.Errorf("an empty span has %d bounds", len(bounds))
	}
	for _, p := range Periods() {
		if !p.Valid() || p.Usual() == 0 {
			t.Errorf("%s: valid %v, usually %d", p, p.Valid(), p.Usual())
		}
	}
}

func TestSumsKeepTheBalance(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 7))
	bounds := instants(month(1), month(2), month(3), month(4))
	states := append(lifecycle.States(), lifecycle.State(lifecycle.TaskOpen))
	cells, tasks := lifecycle.Tally{}, int64(0)
	for range 500 {
		at := lifecycle.MicrosOf(month(1).Add(time.Duration(r.IntN(90*24)) * time.Hour))
		cells[lifecycle.Cell{Metric: lifecycle.MetricTasks, Bucket: at, Label: string(states[r.IntN(len(states))])}]++
		tasks++
	}
	sum := Sum(Rows(cells, bounds))
	if sum.Published != tasks || sum.Completed+sum.InFlightOrDLQ() != tasks || sum.Completed == 0 || sum.InFlightOrDLQ() == 0 {
		t.Errorf("%d tasks give %+v", tasks, sum)
	}
}
