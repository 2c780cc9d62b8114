package duplicates

import (
	"fmt"
	"maps"
	"math"
	"time"

	"fleetglass/lifecycle"
)

// RecordPrices are what operations on a store that has a price cost.
type RecordPrices struct {
	ReadsUSD  float64 // For 100,000 documents read.
	WritesUSD float64 // For 100,000 documents written.
}

// DefaultRecordPrices are the public list prices of Firestore in its regions in the United States, without the free quota.
func DefaultRecordPrices() RecordPrices { return RecordPrices{ReadsUSD: 0.03, WritesUSD: 0.09} }

// pricedOperations is how many operations a price is for.
const pricedOperations = 100_000

// RecordCost is what the idempotency records of a span cost: writes as they were seen, reads estimated from what happened to its tasks.
type RecordCost struct {
	Known  bool    // False where no store of records is known; the rest is zero then.
	Reads  int64   // See [RecordReadsBasis].
	Writes int64   // See [RecordWritesBasis].
	USD    float64 // To a millionth of a dollar.
}

// How the numbers of [RecordCost] come about, in sentences for people.
const (
	RecordReadsBasis = "Estimated: one for each completed task, and one more for each duplicate that a record caught, that ran, or whose end is not known. " +
		"A lower bound where every agent looks for a record before it runs; attempts that failed are not counted."
	RecordWritesBasis = "Counted: the distinct completions that records stated, by when the records were stored. Reservations and their renewals are writes " +
		"that are not seen and come on top."
)

// RecordCost is what the records of the row cost. Reads leave no trace; they are estimated from what the row knows of its tasks: every
// agent of the fleet is taken to look for records as SPEC 1 says.
func (r Row) RecordCost(store RecordStore, prices RecordPrices) RecordCost {
	if !store.Known() {
		return RecordCost{}
	}
	c := RecordCost{Known: true, Writes: max(0, r.Recorded)}
	c.Reads = r.Completed + r.Found[lifecycle.LayerIdempotency] + r.Found[lifecycle.LayerExecution] + r.Found[lifecycle.LayerUnknown]
	if store.Priced() {
		usd := (float64(c.Reads)*prices.ReadsUSD + float64(c.Writes)*prices.WritesUSD) / pricedOperations
		c.USD = math.Round(usd*1e6) / 1e6
	}
	return c
}

// DedupeBytesPerID is what the server keeps in memory for one message id within the duplicate window of a stream: 109 to 127 bytes were
// measured with ids of 28 bytes (docs/duplicates.md).
const DedupeBytesPerID = 120

// DedupeMemory is an estimate of the memory in which a stream remembers message ids.
type DedupeMemory struct {
	Known  bool          // False where the duplicate window could not be read.
	Window time.Duration // The stream's duplicate window.
	IDs    int64         // Messages stored within it. Those without a message id are not remembered and count all the same.
	Bytes  int64         // IDs times [DedupeBytesPerID], on each server that holds a replica.
}

// DedupeSince is the beginning of the span whose stored messages the stream remembers, and the metric that counts them.
func DedupeSince(window time.Duration, now lifecycle.Micros) (from lifecycle.Micros, m lifecycle.Metric) {
	if window <= 24*time.Hour {
		return now.Add(-window).Truncate(time.Minute), lifecycle.MetricPublishedMin
	}
	return now.Add(-window).Truncate(time.Hour), lifecycle.MetricPublished
}

// EstimateDedupe counts the cells that [DedupeSince] names. The first bucket may begin before the window does and counts in full.
func EstimateDedupe(window time.Duration, cells lifecycle.Tally) DedupeMemory {
	d := DedupeMemory{Known: true, Window: window}
	for c, n := range cells {
		if c.Metric == lifecycle.MetricPublished || c.Metric == lifecycle.MetricPublishedMin {
			d.IDs += n
		}
	}
	d.Bytes = d.IDs * DedupeBytesPerID
	return d
}

// Formula says how the bytes come about, or why they are not known.
func (d DedupeMemory) Formula() string {
	if !d.Known {
		return "The duplicate window of the task stream could not be read."
	}
	return fmt.Sprintf("%s messages stored within the duplicate window of %s, times %d bytes measured for one message id.", lifecycle.Grouped(d.IDs), lifecycle.Lasting(d.Window), DedupeBytesPerID)
}

// What a fleet of seven agents published about its own protection. It is quoted for comparison; nothing here measured it.
const (
	FieldProtectionUSD = 4.20 // A month.
	FieldLatencyLow    = 3 * time.Millisecond
	FieldLatencyHigh   = 8 * time.Millisecond
)

// RecordWait is what deliveries waited for the idempotency records, as their agents measured it: the look for a record or the
// reservation, and recording completion.
type RecordWait struct {
	P50, P95 time.Duration // Upper ends of buckets, at most 19 % above the true value. Zero where nothing was said.
	Sample   int64         // Deliveries that said so.
}

// RecordWaits reads the waits from rollups of [MetricRecordWait] or those of its months. Where cells hold both it counts twice.
func RecordWaits(cells lifecycle.Tally) RecordWait {
	buckets := map[string]int64{}
	for c, n := range cells {
		if c.Metric == lifecycle.MetricRecordWait || c.Metric == lifecycle.MetricRecordWaitMonth {
			buckets[c.Label] += n
		}
	}
	maps.DeleteFunc(buckets, func(_ string, n int64) bool { return n <= 0 })
	t := lifecycle.TypicalOf(buckets) // On a scale of milliseconds, where this one is of microseconds.
	return RecordWait{P50: t.P50 / 1000, P95: t.P95 / 1000, Sample: t.Sample}
}

// Basis says where the figures come from, or why there are none, in sentences for people.
func (w RecordWait) Basis() string {
	if w.Sample == 0 {
		return "Not known: no report of this span says what a delivery waited for its records (records_ms)."
	}
	return "As agents report it by their own clocks (records_ms): to look for the record or reserve it, and to record completion."
}
