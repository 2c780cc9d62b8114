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
	o := Options{Records: duplicates.RecordsFirestore}.withDefaults()
	t := DuplicateTable{
		List:   exampleList(DuplicateRow{Bucket: Instant(row.From), DuplicateSums: o.sumsOf(row)}),
		Totals: o.sumsOf(row), Cost: DuplicateCost(*o.DuplicateCost),
		Protection: o.protection(duplicates.DedupeMemory{Known: true, Window: time.Hour, IDs: 12, Bytes: 12 * duplicates.DedupeBytesPerID},
			duplicates.RecordWait{P50: 2380 * time.Microsecond, P95: 5656 * time.Microsecond, Sample: 2848}),
		Retention: retentionOf(duplicates.CheckRetention([]lifecycle.ConsumerState{exampleConsumer()}, duplicates.Retention{
			Known: true, Records: 72 * time.Hour, MaxAge: 7 * 24 * time.Hour, DuplicateWindow: time.Hour, RetryDelay: 24 * time.Hour,
		})),
	}
	t.Page = Page{}
	return t
}

func exampleCases() List[CaseTask] {
	t := exampleStory()
	return exampleList(CaseTask{TaskRow: rowOf(query.TaskRow{TaskSummary: t.Summary, MaxDeliver: exampleConsumer().MaxDeliver}), Cases: duplicatesOf(t.Facts).Cases})
}
