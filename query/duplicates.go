package query

import (
	"context"

	"fleetglass/duplicates"
	"fleetglass/lifecycle"
)

func (c DuplicatesConfig) withDefaults() DuplicatesConfig {
	if c.Cost == nil {
		cost := duplicates.DefaultCost()
		c.Cost = &cost
	}
	if c.Records == "" {
		c.Records = duplicates.RecordsUnknown
	}
	if c.Prices == nil {
		prices := duplicates.DefaultRecordPrices()
		c.Prices = &prices
	}
	return c
}

// Ledger is the table of duplicates over time, with what the protection against them costs.
type Ledger struct {
	AsOf  lifecycle.Micros
	Rows  []LedgerRow // One for each bucket, oldest first.
	Total LedgerRow
	Cost  duplicates.Cost

	Records   duplicates.RecordStore // Where agents keep records, as far as it was found.
	Prices    duplicates.RecordPrices
	Wait      duplicates.RecordWait // What deliveries of the span waited for records.
	Dedupe    duplicates.DedupeMemory
	Retention duplicates.RetentionCheck
}

// LedgerRow is one bucket, or all of them.
type LedgerRow struct {
	duplicates.Row
	Saved    duplicates.Savings
	Records  duplicates.RecordCost // What the idempotency records of its tasks cost.
	Observed Observed
}

// Ledger returns the table of duplicates between the bounds, which ascend: the beginnings of the buckets and the end of the last.
func (s *Service) Ledger(ctx context.Context, bounds []lifecycle.Micros) (Ledger, error) {
	d, now := s.cfg.Duplicates, s.now()
	out := Ledger{AsOf: now, Cost: *d.Cost, Prices: *d.Prices}
	cells, err := s.cfg.Store.Rollups(ctx, duplicates.Metrics(bounds), bounds[0], bounds[len(bounds)-1], false)
	if err != nil {
		return out, err
	}
	consumers, err := s.Consumers(ctx)
	if err != nil {
		return out, err
	}
	live := s.retention(ctx)
	if out.Dedupe, err = s.dedupeMemory(ctx, live, now); err != nil {
		return out, err
	}
	out.Records, out.Wait, out.Retention = d.Records.Found(live), duplicates.RecordWaits(cells), duplicates.CheckRetention(consumers.All, live)
	rows := duplicates.Rows(cells, bounds)
	observed, err := s.observedBuckets(ctx, bounds, func(i int) bool { return !rows[i].Empty() })
	for i, r := range rows {
		out.Rows = append(out.Rows, out.row(r, observed[i]))
	}
	out.Total = out.row(duplicates.Sum(rows), ObservedTogether(observed))
	return out, err
}

func (l Ledger) row(r duplicates.Row, o Observed) LedgerRow {
	return LedgerRow{Row: r, Saved: l.Cost.Saved(r.Caught()), Records: r.RecordCost(l.Records, l.Prices), Observed: o}
}

// retention reads the live configuration. If that fails, the check is not known and the other numbers are returned all the same.
func (s *Service) retention(ctx context.Context) duplicates.Retention {
	if s.cfg.Duplicates.Retention == nil {
		return duplicates.Retention{}
	}
	live, err := s.cfg.Duplicates.Retention(ctx)
	if err != nil {
		s.cfg.Log.WarnContext(ctx, "the retention of records could not be read", "error", err)
		return duplicates.Retention{}
	}
	return live
}

// dedupeMemory estimates the memory that the stream uses for message ids now, from the counters.
func (s *Service) dedupeMemory(ctx context.Context, live duplicates.Retention, now lifecycle.Micros) (duplicates.DedupeMemory, error) {
	if !live.Known {
		return duplicates.DedupeMemory{}, nil
	}
	from, metric := duplicates.DedupeSince(live.DuplicateWindow, now)
	cells, err := s.cfg.Store.Rollups(ctx, []lifecycle.Metric{metric}, from, now+1, false)
	if err != nil {
		return duplicates.DedupeMemory{}, err
	}
	return duplicates.EstimateDedupe(live.DuplicateWindow, cells), nil
}
