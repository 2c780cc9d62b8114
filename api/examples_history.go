package api

import (
	"time"

	"fleetglass/lifecycle"
	"fleetglass/query"
)

func exampleHistory() History {
	at := exampleTime(0).Truncate(time.Hour)
	span := query.HistorySpan{From: at, To: at.Add(time.Hour), Step: time.Hour}
	runs := query.RunsOfType{Type: "content_creation", Whole: exampleTypical()["content_creation"]}
	runs.Steps = []query.RunStep{{At: at, Typical: runs.Whole, Buckets: map[string]int64{lifecycle.DurationBucket(42 * time.Second): 118}}}
	return historyOf(query.History{
		AsOf: exampleTime(40 * time.Second), Span: span,
		Flow: []query.FlowStep{{
			At: at, End: span.To, Published: 120, Completed: 118, Failed: map[string]int64{string(lifecycle.EndTimedOut): 3}, Depth: 7, DepthKnown: true, Observed: query.ObservedAll,
		}},
		Runs: query.RunHistory{Span: span, All: runs, Types: []query.RunsOfType{runs}},
		Died: query.DeathHistory{Known: true, Reasons: []query.DeathReason{{Category: "transient", Detail: "rate_limit", Total: 2, Steps: []int64{2}}}},
	})
}
