package api

import (
	"time"

	"fleetglass/lifecycle"
	"fleetglass/reconcile"
)

func exampleMade() reconcile.Run {
	b := reconcile.Balance{Published: 2847, Completed: 2841, InFlight: 4, InDLQ: 1, Unexplained: 1}
	period := reconcile.Period{From: exampleTime(-7 * 24 * time.Hour), To: exampleTime(0)}
	report := reconcile.Report{
		AsOf: exampleTime(2 * time.Second), Period: period, Total: b,
		Lines:   []reconcile.BalanceLine{{Stream: exampleKey().Stream, Agent: "marketing", Balance: b}},
		Streams: []reconcile.StreamSpan{{Stream: exampleKey().Stream, FromSeq: 1, ToSeq: 2847, Known: 2847, Compared: true, Held: 4, LookedAt: exampleTime(time.Second)}},
		Records: reconcile.RecordCheck{Checked: true, Asked: 2841},
		Notes:   []string{"What happened in the last minute is not judged."},
	}
	for _, k := range reconcile.DiscrepancyKinds() {
		l := reconcile.DiscrepancyList{Kind: k}
		if k == reconcile.OutcomeUnexplained {
			l.Total = 1
			l.Rows = []reconcile.Discrepancy{{
				Message: exampleKey(), TaskID: "blog-post-118", Agent: "marketing", State: lifecycle.StateOutcomeUnknown, At: exampleTime(-time.Hour),
				Why: "It left the stream between two polls, and no answer was seen.",
			}}
		}
		report.Lists = append(report.Lists, l)
	}
	return reconcile.Run{
		ID: "01K9ZJ3F6Q", Cause: reconcile.CauseOnDemand, Actor: "ceo", Period: period, Status: reconcile.StatusDone,
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
	r.Status, r.StartedAt, r.EndedAt, r.Report = reconcile.StatusQueued, 0, 0, nil
	return reconciliationOf(r)
}

func exampleReconcileRequest() ReconcileRequest {
	from, to := "2026-11-13", "2026-11-20T16:00:00Z"
	return ReconcileRequest{From: &from, To: &to}
}
