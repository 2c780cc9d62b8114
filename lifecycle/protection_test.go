package lifecycle

import (
	"strings"
	"testing"
	"time"
)

func TestRecordsCostWhatTheirStoreCharges(t *testing.T) {
	t.Parallel()
	row := DuplicateRow{Published: 1010, Completed: 1000, Found: map[Layer]int64{
		LayerStream: 50, LayerIdempotency: 7, LayerExecution: 2, LayerUnknown: 1, LayerConflict: 9, LayerSemantic: 9,
	}}
	prices := RecordPrices{ReadsUSD: 10, WritesUSD: 20}
	for _, tt := range []struct {
		store RecordStore
		want  RecordCost
	}{
		{RecordsFirestore, RecordCost{Known: true, Reads: 1010, Writes: 1000, USD: 0.301}},
		{RecordsKV, RecordCost{Known: true, Reads: 1010, Writes: 1000}},
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
	now := MicrosOf(time.Date(2026, 11, 20, 12, 34, 56, 0, time.UTC))
	for _, tt := range []struct {
		window time.Duration
		from   string
		metric Metric
	}{
		{time.Hour, "2026-11-20T11:34:00", MetricPublishedMin},
		{5 * time.Minute, "2026-11-20T12:29:00", MetricPublishedMin},
		{72 * time.Hour, "2026-11-17T12:00:00", MetricPublished},
	} {
		from, metric := DedupeSince(tt.window, now)
		if got := from.Time().Format("2006-01-02T15:04:05"); got != tt.from || metric != tt.metric {
			t.Errorf("%s: got %s from %s, want %s from %s", tt.window, metric, got, tt.metric, tt.from)
		}
	}
	d := EstimateDedupe(time.Hour, Tally{
		{Metric: MetricPublishedMin, Bucket: now, Agent: "cto"}: 20, {Metric: MetricPublishedMin, Bucket: now, Agent: "ceo"}: 30,
		{Metric: MetricState, Label: "completed"}: 7,
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
