package api

import (
	"fleetglass/duplicates"
)

// RecordRetention says whether idempotency records are kept for as long as a completed task may come again.
type RecordRetention struct {
	Verdict   string            `json:"verdict" enum:"enough,short,unknown" example:"short"`
	RecordsMS *int64            `json:"records_ms" doc:"How long a record is kept; null: for ever, or not known."`
	Windows   []RetentionWindow `json:"windows" nullable:"false" doc:"The ways in which a completed task may come again."`
	Advice    Text              `json:"advice" doc:"What to do about it; null when records are kept long enough."`
}

// RetentionWindow is one way in which a completed task may come again.
type RetentionWindow struct {
	Name     string `json:"name" enum:"redelivery,late_arrival,retry,republish" example:"late_arrival"`
	LengthMS *int64 `json:"length_ms" doc:"How long after completion; null: without end."`
	Covered  bool   `json:"covered" doc:"The record is still there at its end."`
	Why      string `json:"why"`
}

func retentionOf(c duplicates.RetentionCheck) RecordRetention {
	out := RecordRetention{
		Verdict: string(c.Verdict), RecordsMS: knownMilliseconds(c.Records, c.Records > 0), Advice: Text(c.Advice),
		Windows: make([]RetentionWindow, len(c.Windows)),
	}
	for i, w := range c.Windows {
		out.Windows[i] = RetentionWindow{Name: w.Name, LengthMS: knownMilliseconds(w.Length, !w.Endless), Covered: w.Covered, Why: w.Why}
	}
	return out
}
