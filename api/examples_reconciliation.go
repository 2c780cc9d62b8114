package api

import (
	"time"

	"fleetglass/lifecycle"
)

func exampleMade() lifecycle.Reconciliation {
	b := lifecycle.Balance{Published: 2847, Completed: 2841, InFlight: 4, InDLQ: 1, Unexplained: 1}
	period := lifecycle.ReconciliationPeriod{From: exampleTime(-7 * 24 * time.Hour), To: exampleTime(0)}
	report := lifecycle.ReconciliationReport{
		AsOf: exampleTime(2 * time.Second), Period: period, Total: b,
		Lines:   []lifecycle.BalanceLine{{Stream: exampleKey().Stream, Agent: "marketing", Balance: b}},
		Streams: []lifecycle.StreamSpan{{Stream: exampleKey().Stream, FromSeq: 1, ToSeq: 2847, Known: 2847, Compared: true, Held: 4, LookedAt: exampleTime(time.Second)}},
		Records: lifecycle.RecordCheck{Checked: true, Asked: 2841},
		Notes:   []string{"What happened in the last minute is not judged."},
	}
	for _, k := range lifecycle.DiscrepancyKinds() {
		l := lifecycle.DiscrepancyList{Kind: k}
		if k == lifecycle.OutcomeUnexplained {
			l.Total = 1
			l.Rows = []lifecycle.Discrepancy{{
				Message: exampleKey(), TaskID: "blog-post-118", Agent: "marketing", State: lifecycle.StateOutcomeUnknown, At: exampleTime(-time.Hour),
				Why: "It left the stream between two looks, and no answer was seen.",
			}}
		}
		report.Lists = append(report.Lists, l)
	}
	return lifecycle.Reconciliation{
		ID: "01K9ZJ3F6Q", Cause: lifecycle.ReconcileOnDemand, Actor: "ceo", Period: period, Status: lifecycle.ReconciliationDone,
		CreatedAt: exampleTime(0), StartedAt: exampleTime(time.Second), EndedAt: exampleTime(3 * time.Second), Report: &report,
	}
}

func exampleReconciliations() List[Reconciliation] {
	return exampleList(reconciliationOf(exampleMade()))
}

func exampleReconciliation() ReconciliationDetail { return detailOf(exampleMade()) }

func exampleReconciliationCSV() string { return string(reconciliationCSV(exampleMade())) }

func exampleQueued() Reconciliation {
	r := exampleMade()
	r.Status, r.StartedAt, r.EndedAt, r.Report = lifecycle.ReconciliationQueued, 0, 0, nil
	return reconciliationOf(r)
}

func exampleReconcileRequest() ReconcileRequest {
	from, to := "2026-11-13", "2026-11-20T16:00:00Z"
	return ReconcileRequest{From: &from, To: &to}
}
