package webtest

import (
	"context"
	"fmt"
	"time"

	"fleetglass/lifecycle"
	"fleetglass/reconcile"
)

// Orphan is the id of a task of which only a completion record is known. It would like to be a formula, or a script.
const Orphan = `=HYPERLINK("http://evil.example")<script>alert(1)</script>`

// RecordOnly adds the record of [Orphan].
func (s *Story) RecordOnly() { s.Record(Message{Task: Orphan, Agent: "backend"}, -50*time.Hour) }

// Reports stores reconciliations: an old one that is balanced, a newer one that failed, the newest with every kind of discrepancy, and one
// that is being made.
func Reports(ctx context.Context, store reconcile.RunStore, now time.Time) error {
	for _, r := range []reconcile.Run{
		made("a", now, -8*24*time.Hour, reconcile.CauseScheduled, balanced()),
		failed("b", now, -26*time.Hour),
		made("c", now, -3*time.Hour, reconcile.CauseOnDemand, wrong(now)),
		running("d", now, -12*time.Second),
	} {
		if _, _, err := store.CreateReconciliation(ctx, r); err != nil {
			return fmt.Errorf("store a reconciliation: %w", err)
		}
		if err := store.SaveReconciliation(ctx, r); err != nil {
			return fmt.Errorf("store a report: %w", err)
		}
	}
	return nil
}

func begun(id string, now time.Time, ago time.Duration, cause reconcile.Cause) reconcile.Run {
	at := lifecycle.MicrosOf(now).Add(ago)
	return reconcile.Run{
		ID: id, Slot: "test:" + id, Cause: cause, CreatedAt: at, StartedAt: at, UpdatedAt: at, Owner: "test",
		Period: reconcile.Period{From: at.Add(-7 * 24 * time.Hour), To: at},
	}
}

func made(id string, now time.Time, ago time.Duration, cause reconcile.Cause, report reconcile.Report) reconcile.Run {
	r := begun(id, now, ago, cause)
	r.Status, r.EndedAt, r.Actor = reconcile.StatusDone, r.CreatedAt.Add(4*time.Second), "ceo"
	report.AsOf, report.Period = r.CreatedAt.Add(time.Second), r.Period
	r.Report = &report
	return r
}

func failed(id string, now time.Time, ago time.Duration) reconcile.Run {
	r := begun(id, now, ago, reconcile.CauseRestart)
	r.Status, r.EndedAt, r.Failure = reconcile.StatusFailed, r.CreatedAt.Add(time.Second), "The store did not answer in time."
	return r
}

func running(id string, now time.Time, ago time.Duration) reconcile.Run {
	r := begun(id, now, ago, reconcile.CauseRestart)
	r.Status, r.Progress = reconcile.StatusRunning, reconcile.Progress{Phase: "Judging messages", Read: 1200, Total: 4800}
	return r
}

func tasks() lifecycle.StreamID { return lifecycle.StreamID{Name: "TASKS"} }

func balanced() reconcile.Report {
	b := reconcile.Balance{Published: 2923, Completed: 2918, InFlight: 3, InDLQ: 2}
	r := reconcile.Report{
		Total: b, Lines: []reconcile.BalanceLine{{Stream: tasks(), Agent: "marketing", Balance: b}},
		Streams: []reconcile.StreamSpan{{Stream: tasks(), FromSeq: 1, ToSeq: 2923, Known: 2923, Compared: true, Held: 3}},
		Records: reconcile.RecordCheck{Checked: true, Asked: 2918},
	}
	for _, k := range reconcile.DiscrepancyKinds() {
		r.Lists = append(r.Lists, reconcile.DiscrepancyList{Kind: k})
	}
	return r
}

// wrong is a report with every kind of discrepancy but one.
func wrong(now time.Time) reconcile.Report {
	at := func(ago time.Duration) lifecycle.Micros { return lifecycle.MicrosOf(now).Add(ago) }
	key := func(seq uint64) lifecycle.MessageKey { return lifecycle.MessageKey{Stream: tasks(), Seq: seq} }
	r := reconcile.Report{
		Streams: []reconcile.StreamSpan{
			{Stream: tasks(), FromSeq: 45_902, ToSeq: 48_748, Known: 2845, Compared: true, Held: 17, LookedAt: at(-3 * time.Hour)},
			{Stream: lifecycle.StreamID{Name: "TASKS_OLD"}, Why: "The stream does not exist any more."},
		},
		WithoutRecords: []reconcile.AgentWithoutRecords{{Agent: "cso", Acknowledged: 212}},
		Records:        reconcile.RecordCheck{Checked: true, Asked: 2120, Why: "Records of agents without a bucket cannot be looked for."},
		Gaps:           []lifecycle.Gap{{Source: "OBS_ACK", From: at(-30 * time.Hour), To: at(-29 * time.Hour), Reason: "Lines were lost"}},
		Notes:          []string{"What happened in the last minute counts in the next report.", "Two collectors had not caught up after 3 min."},
	}
	for i, agent := range append([]string{""}, Agents...) {
		b := reconcile.Balance{Published: int64(300 + 41*i), InFlight: int64(i % 3), InDLQ: int64(i % 2)}
		switch agent {
		case "":
			b = reconcile.Balance{Published: 2, Unexplained: 2, NeverSeen: 2}
		case "marketing":
			b.Unexplained, b.Expired = 1, 1
		case "devops":
			b.Exhausted, b.Terminated = 1, 4
		}
		b.Completed = b.Published - b.InFlight - b.InDLQ - b.Unexplained - b.Expired - b.Exhausted - b.Terminated
		r.Lines = append(r.Lines, reconcile.BalanceLine{Stream: tasks(), Agent: agent, Balance: b})
		r.Total = sum(r.Total, b)
	}
	rows := map[reconcile.DiscrepancyKind]reconcile.Discrepancy{
		reconcile.CompletedNotAcked:   {Message: key(48_601), TaskID: "tsk-7f3a91", Agent: "marketing", State: lifecycle.StateCompleting, At: at(-4 * time.Hour), Why: "Completion was recorded, and no acknowledgement was seen since."},
		reconcile.AckedNotRecorded:    {Message: key(48_020), TaskID: "orders/2026/11 weird id?&#%", Agent: "ceo", State: lifecycle.StateCompleted, At: at(-31 * time.Minute), Why: "Acknowledged, and neither a record nor a report says that the task was completed."},
		reconcile.RecordedUnpublished: {TaskID: Orphan, Agent: "backend", At: at(-50 * time.Hour), Why: "A completion record names the task, and no message of it was ever seen."},
		reconcile.RecordMissing:       {Message: key(47_113), TaskID: "tsk-100000", Agent: "cto", State: lifecycle.StateCompleted, At: at(-60 * time.Hour), Why: "Its completion record was seen, its retention is not over, and the record is not there any more."},
		reconcile.OutcomeUnexplained:  {Message: key(48_700), TaskID: "tsk-a2c7d9", Agent: "marketing", State: lifecycle.StateOutcomeUnknown, At: at(-41 * time.Minute), Why: "It left the stream between two polls, and no answer was seen."},
		reconcile.NeverSeen:           {Message: key(46_500), ToSeq: 46_501, Why: "The stream gave out the sequence numbers, and nothing was seen of the messages."},
		reconcile.ExhaustedOutsideDLQ: {Message: key(48_311), TaskID: "tsk-6c40d1", Agent: "devops", State: lifecycle.StateExhausted, At: at(-28 * time.Minute), Why: "Terminated, and no dead-letter entry was seen."},
		reconcile.ExpiredInStream:     {Message: key(45_904), Agent: "marketing", At: at(-70 * time.Hour), Why: "Older than max_age when it was missed."},
		reconcile.HeldThoughSettled:   {Message: key(48_400), TaskID: "tsk-twice0", Agent: "backend", State: lifecycle.StateCompleted, At: at(-83 * time.Minute), Why: "The stream still holds it."},
	}
	for _, k := range reconcile.DiscrepancyKinds() {
		l := reconcile.DiscrepancyList{Kind: k}
		if d, some := rows[k]; some {
			l.Total, l.Rows = d.N(), []reconcile.Discrepancy{d}
		}
		r.Lists = append(r.Lists, many(l, k))
	}
	return r
}

// many makes the first list longer than a page shows.
func many(l reconcile.DiscrepancyList, k reconcile.DiscrepancyKind) reconcile.DiscrepancyList {
	if k != reconcile.CompletedNotAcked {
		return l
	}
	for i := range uint64(30) {
		d := l.Rows[0]
		d.Message.Seq, d.TaskID = 48_610+i, fmt.Sprintf("tsk-%06x", 0x100000+i*7919)
		l.Rows = append(l.Rows, d)
	}
	l.Total = int64(len(l.Rows))
	return l
}

func sum(a, b reconcile.Balance) reconcile.Balance {
	return reconcile.Balance{
		Published: a.Published + b.Published, Completed: a.Completed + b.Completed, InFlight: a.InFlight + b.InFlight, InDLQ: a.InDLQ + b.InDLQ,
		Exhausted: a.Exhausted + b.Exhausted, Terminated: a.Terminated + b.Terminated, Expired: a.Expired + b.Expired,
		Unexplained: a.Unexplained + b.Unexplained, NeverSeen: a.NeverSeen + b.NeverSeen,
	}
}
