package api

import (
	"time"

	"fleetglass/duplicates"
	"fleetglass/query"
)

// Costs are what the idempotency records of a row's tasks cost.
type Costs struct {
	Reads  *int64   `json:"reads" doc:"Records read, see protection. Null where no store of records is configured." example:"2848"`
	Writes *int64   `json:"writes" doc:"Records written; likewise." example:"2841"`
	USD    *float64 `json:"usd" doc:"At the prices in protection; 0 for a bucket of the broker. Null where no store of records is configured." example:"0.003411"`
}

// Protection says what the costs are made of, and what else the protection against duplicates costs.
type Protection struct {
	Records     string       `json:"records" enum:"unknown,kv,firestore" doc:"Where agents keep idempotency records." example:"firestore"`
	Prices      RecordPrices `json:"prices" doc:"Prices of Firestore, as configured. A bucket of the broker has no price per operation."`
	ReadsBasis  string       `json:"reads_basis" doc:"How the number of reads is known."`
	WritesBasis string       `json:"writes_basis" doc:"How the number of writes is known."`
	Dedupe      Dedupe       `json:"dedupe_memory"`
	Latency     Latency      `json:"latency"`
	Field       FieldFigures `json:"field" doc:"What a fleet of seven agents published about itself. Not measured here."`
}

// RecordPrices are prices per 100,000 operations.
type RecordPrices struct {
	Reads  float64 `json:"reads_usd_per_100k" example:"0.03"`
	Writes float64 `json:"writes_usd_per_100k" example:"0.09"`
}

// Dedupe is the memory in which the task stream remembers message ids now.
type Dedupe struct {
	Bytes    *int64 `json:"bytes" doc:"An estimate, for each server that holds a replica; null when the duplicate window could not be read." example:"1440"`
	IDs      *int64 `json:"ids" doc:"Messages stored within the window." example:"12"`
	WindowMS *int64 `json:"window_ms" doc:"The stream's duplicate window." example:"3600000"`
	Formula  string `json:"formula" doc:"How the bytes come about, or why they are not known."`
}

// Latency is what a delivery waits for the idempotency records: the look for one or the reservation, and recording completion.
type Latency struct {
	MS     *float64 `json:"ms" doc:"The same as p50_ms." example:"2.38"`
	P50MS  *float64 `json:"p50_ms" doc:"The median. It is at most 19 % above the true value. Null when sample is 0." example:"2.38"`
	P95MS  *float64 `json:"p95_ms" doc:"The 95th percentile, under the same conditions as the median." example:"5.656"`
	Sample int64    `json:"sample" doc:"Deliveries in the span whose wait an agent reported." example:"2848"`
	Why    string   `json:"why" doc:"Where the figures come from, or why they are not known."`
}

// FieldFigures are published figures, for comparison.
type FieldFigures struct {
	USDPerMonth float64 `json:"usd_per_month" example:"4.2"`
	LatencyLow  int64   `json:"latency_ms_low" example:"3"`
	LatencyHigh int64   `json:"latency_ms_high" example:"8"`
}

func costsOf(c duplicates.RecordCost) Costs {
	if !c.Known {
		return Costs{}
	}
	return Costs{Reads: &c.Reads, Writes: &c.Writes, USD: &c.USD}
}

func latencyOf(w duplicates.RecordWait) Latency {
	out := Latency{Sample: w.Sample, Why: w.Basis()}
	if w.Sample > 0 {
		p50, p95 := fractional(w.P50.Round(time.Microsecond)), fractional(w.P95.Round(time.Microsecond))
		out.MS, out.P50MS, out.P95MS = &p50, &p50, &p95
	}
	return out
}

func protectionOf(l query.Ledger) Protection {
	d := l.Dedupe
	out := Protection{
		Records: string(l.Records), Prices: RecordPrices{Reads: l.Prices.ReadsUSD, Writes: l.Prices.WritesUSD},
		ReadsBasis: duplicates.RecordReadsBasis, WritesBasis: duplicates.RecordWritesBasis,
		Dedupe: Dedupe{Formula: d.Formula()}, Latency: latencyOf(l.Wait),
		Field: FieldFigures{
			USDPerMonth: duplicates.FieldProtectionUSD, LatencyLow: duplicates.FieldLatencyLow.Milliseconds(), LatencyHigh: duplicates.FieldLatencyHigh.Milliseconds(),
		},
	}
	if d.Known {
		out.Dedupe.Bytes, out.Dedupe.IDs, out.Dedupe.WindowMS = &d.Bytes, &d.IDs, knownMilliseconds(d.Window, true)
	}
	return out
}
