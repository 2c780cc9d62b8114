package api

import (
	"time"

	"fleetglass/duplicates"
	"fleetglass/lifecycle"
	"fleetglass/query"
)

func exampleDuplicates() DuplicateTable {
	row := duplicates.Row{
		From: lifecycle.MicrosOf(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)), Published: 2847, Completed: 2841,
		Found: map[lifecycle.Layer]int64{lifecycle.LayerStream: 3, lifecycle.LayerIdempotency: 7}, Recorded: 2841,
	}
	cost, prices := duplicates.DefaultCost(), duplicates.DefaultRecordPrices()
	filled := query.LedgerRow{Row: row, Saved: cost.Saved(row.Caught()), Records: row.RecordCost(duplicates.RecordsFirestore, prices), Observed: query.ObservedAll}
	t := duplicateTableOf(query.Ledger{
		Rows: []query.LedgerRow{filled}, Total: filled, Cost: cost, Records: duplicates.RecordsFirestore, Prices: prices,
		Dedupe: duplicates.DedupeMemory{Known: true, Window: time.Hour, IDs: 12, Bytes: 12 * duplicates.DedupeBytesPerID},
		Wait:   duplicates.RecordWait{P50: 2380 * time.Microsecond, P95: 5656 * time.Microsecond, Sample: 2848},
		Retention: duplicates.CheckRetention([]lifecycle.ConsumerState{exampleConsumer()}, duplicates.Retention{
			Known: true, Records: 72 * time.Hour, MaxAge: 7 * 24 * time.Hour, DuplicateWindow: time.Hour, RetryDelay: 24 * time.Hour,
		}),
	})
	t.List = exampleList(t.Data...)
	t.Page = Page{}
	return t
}

func exampleCases() CaseTasks {
	t := exampleStory()
	return CaseTasks{List: exampleList(CaseTask{TaskRow: rowOf(query.TaskRow{TaskSummary: t.Summary, MaxDeliver: exampleConsumer().MaxDeliver}), Cases: duplicatesOf(t.Facts).Cases})}
}
