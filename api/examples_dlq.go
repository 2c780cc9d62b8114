package api

import (
	"encoding/json"
	"time"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
	"fleetglass/query"
)

func exampleDead() query.EntryRow {
	e := dlqtriage.Entry{
		ID: "TASKS:1042", Key: exampleKey(), Revision: 1, TaskID: "blog-post-118", MessageID: "blog-post-118", DLQStream: "DLQ", DLQSeq: 17,
		Subject: "genbrain.agents.marketing.tasks.content_creation", Agent: "marketing", Type: "content_creation", Title: "Draft the launch post",
		Path:  dlqtriage.PathContextOverflow,
		Class: dlqtriage.Class{Category: dlqtriage.ConditionallyRecoverable, Detail: dlqtriage.DetailContextOverflow, Kind: dlqtriage.KindResource},
		Classification: dlqtriage.Classification{
			Rule: "context-overflow", By: dlqtriage.ByRules, At: exampleTime(31 * time.Second),
			Evidence: []lifecycle.Evidence{{Source: "term_reason", Text: "prompt is too long: 214,311 tokens > 200,000"}},
		},
		Reason: "prompt is too long: 214,311 tokens > 200,000", ReasonFingerprint: dlqtriage.Fingerprint("prompt is too long: 214,311 tokens > 200,000"),
		Deliveries: 2, FailedAt: exampleTime(30 * time.Second), Status: dlqtriage.StatusOpen,
	}
	return query.EntryRow{Entry: e, Plan: dlqtriage.DefaultPolicy().PlanFor(dlqtriage.CaseOf(e, nil), exampleTime(40*time.Second))}
}

func exampleEntries() List[Entry] {
	return exampleList(entryOf(exampleDead(), exampleTime(40*time.Second)))
}

func exampleEntry() EntryDetail {
	return EntryDetail{
		Entry: entryOf(exampleDead(), exampleTime(40*time.Second)), Timeline: exampleEvents().Data, History: []Operation{}, Gaps: []GapRef{},
		Original: EntryOriginal{
			Subject: "genbrain.agents.marketing.tasks.content_creation", Headers: map[string][]string{"X-Task-ID": {"blog-post-118"}},
			Payload: json.RawMessage(`{"taskId":"blog-post-118"}`), PayloadEncoding: "json", SizeBytes: 26,
		},
		AsOf: Instant(exampleTime(40 * time.Second)),
	}
}

func exampleEntryGroups() EntryGroups {
	group := dlqtriage.EntryGroup{Values: []string{"transient", "marketing"}, Count: 31, Open: 4, FirstAt: exampleTime(-720 * time.Hour), LastAt: exampleTime(0), Recent: 3, Before: 1, Retried: 12, Recovered: 8, DiedAgain: 3, Median: 45 * time.Second}
	trend := query.EntryTrend{From: exampleTime(-48 * time.Hour), Steps: make([]query.TrendStep, dlqtriage.TrendSteps)}
	trend.Steps[0].Observed, trend.Steps[3].Count, trend.Steps[15].Count, trend.Steps[23].Count = query.ObservedNone, 1, 2, 1
	out := EntryGroups{List: exampleList(entryGroupOf(group, trend, []dlqtriage.GroupField{dlqtriage.ByCategory, dlqtriage.ByAgent}, dlqtriage.EntryFilter{}))}
	out.Page = Page{}
	return out
}

func exampleEntryStatistics() EntryStatistics {
	sums := dlqtriage.Sums{Entries: 11, AutoResolved: 9, HumanRequired: 2, Resolved: 10, Median: 45 * time.Second}
	row := dlqtriage.StatisticsRow{From: lifecycle.MicrosOf(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)), Messages: 2411, Sums: sums}
	out := entryStatisticsOf(query.EntryStatistics{Observed: []query.Observed{query.ObservedAll}, Statistics: dlqtriage.Statistics{
		Rows: []dlqtriage.StatisticsRow{row}, Total: row, Category: []dlqtriage.StatisticsGroup{{Values: []string{"transient"}, Sums: sums}},
		Detail: []dlqtriage.StatisticsGroup{{Values: []string{"transient", "llm_provider_timeout"}, Sums: sums}},
		Agent:  []dlqtriage.StatisticsGroup{{Values: []string{"marketing"}, Sums: sums}}, Type: []dlqtriage.StatisticsGroup{{Values: []string{"content_creation"}, Sums: sums}},
		Path: []dlqtriage.StatisticsGroup{{Values: []string{"max_deliveries"}, Sums: sums}},
	}})
	out.List = exampleList(out.Data...)
	out.Page = Page{}
	return out
}
