package duplicates

import (
	"math"
	"strings"
	"testing"
	"time"

	"fleetglass/lifecycle"
)

func TestRecordsCostWhatTheirStoreCharges(t *testing.T) {
	t.Parallel()
	row := Row{Published: 1010, Completed: 1000, Found: map[lifecycle.Layer]int64{
		lifecycle.LayerStream: 50, lifecycle.LayerIdempotency: 7, lifecycle.LayerExecution: 2, lifecycle.LayerUnknown: 1, lifecycle.LayerConflict: 9, lifecycle.LayerSemantic: 9,
	}, Recorded: 1003}
	prices := RecordPrices{ReadsUSD: 10, WritesUSD: 20}
	for _, tt := range []struct {
		store RecordStore
		want  RecordCost
	}{
		{RecordsFirestore, RecordCost{Known: true, Reads: 1010, Writes: 1003, USD: 0.3016}},
		{RecordsKV, RecordCost{Known: true, Reads: 1010, Writes: 1003}},
		{RecordsUnknown, RecordCost{}},
		{"", RecordCost{}},
	} {
		if got := row.RecordCost(tt.store, prices); got != tt.want {
			t.Errorf("%q: got %+v, want %+v", tt.store, got, tt.want)
		}
	}
}

func TestDedupeMemoryCountsWhatTheWindowRemembers(t *testing.T) {
	t.Parallel()
	now := lifecycle.MicrosOf(time.Date(2026, 11, 20, 12, 34, 56, 0, time.UTC))
	for _, tt := range []struct {
		window time.Duration
		from   string
		metric lifecycle.Metric
	}{
		{time.Hour, "2026-11-20T11:34:00", lifecycle.MetricPublishedMin},
		{5 * time.Minute, "2026-11-20T12:29:00", lifecycle.MetricPublishedMin},
		{72 * time.Hour, "2026-11-17T12:00:00", lifecycle.MetricPublished},
	} {
		from, metric := DedupeSince(tt.window, now)
		if got := from.Time().Format("2006-01-02T15:04:05"); got != tt.from || metric != tt.metric {
			t.Errorf("%s: got %s from %s, want %s from %s", tt.window, metric, got, tt.metric, tt.from)
		}
	}
	d := EstimateDedupe(time.Hour, lifecycle.Tally{
		{Metric: lifecycle.MetricPublishedMin, Bucket: now, Agent: "cto"}: 20, {Metric: lifecycle.MetricPublishedMin, Bucket: now, Agent: "ceo"}: 30,
		{Metric: lifecycle.MetricState, Label: "completed"}: 7,
	})
	if d.IDs != 50 || d.Bytes != 50*DedupeBytesPerID {
		t.Errorf("got %+v, want 50 ids", d)
	}
	if got := d.Formula(); !strings.Contains(got, "50 messages stored within the duplicate window of 1 h, times 120 bytes") {
		t.Errorf("formula: %s", got)
	}
	if got := (DedupeMemory{}).Formula(); !strings.Contains(got, "could not be read") {
		t.Errorf("formula of what is not known: %s", got)
	}
}

func TestWaitsForRecordsComeBackFromTheirBuckets(t *testing.T) {
	t.Parallel()
	cells := lifecycle.Tally{{Metric: lifecycle.MetricRunning, Label: "blog|052"}: 7}
	for us, n := range map[int64]int64{300: 12, 2400: 7, 40_000: 1} {
		cells[lifecycle.Cell{Metric: lifecycle.MetricRecordWait, Label: lifecycle.WaitBucket(time.Duration(us) * time.Microsecond)}] += n
	}
	w := RecordWaits(cells)
	within := func(got time.Duration, us int64) bool {
		want := time.Duration(us) * time.Microsecond
		return got >= want && float64(got) <= 1.19*float64(want)
	}
	if w.Sample != 20 || !within(w.P50, 300) || !within(w.P95, 2400) {
		t.Errorf("got %+v, want the median at 300 µs and 19 of 20 at 2.4 ms", w)
	}
	if !strings.Contains(w.Basis(), "As agents report it") {
		t.Errorf("basis: %s", w.Basis())
	}
	for _, none := range []lifecycle.Tally{nil, {{Metric: lifecycle.MetricRecordWaitMonth, Label: "040"}: -1}} {
		if got := RecordWaits(none); got != (RecordWait{}) || !strings.Contains(got.Basis(), "Not known") {
			t.Errorf("nothing was said: %+v, %s", got, got.Basis())
		}
	}
	if got := lifecycle.WaitBucket(math.MaxInt64); got != "213" {
		t.Errorf("the longest span is in bucket %s", got)
	}
	for _, d := range []time.Duration{1, time.Microsecond, lifecycle.MaxRecordsWait} {
		if back := lifecycle.BucketDuration(lifecycle.WaitBucket(d)); len(lifecycle.WaitBucket(d)) != 3 || back < 1000*d {
			t.Errorf("bucket of %s is %s, up to %s", d, lifecycle.WaitBucket(d), back/1000)
		}
	}
}
