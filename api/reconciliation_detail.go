package api

import (
	"fleetglass/reconcile"
)

// ReconciliationDetail is a reconciliation with its whole report. The parts of the report are empty until it is done.
type ReconciliationDetail struct {
	Reconciliation
	Lines          []BalanceLine         `json:"lines" nullable:"false" doc:"The balance by stream and agent; they add up to balance."`
	Streams        []StreamSpan          `json:"streams" nullable:"false" doc:"What was compared of each stream."`
	Lists          []DiscrepancyList     `json:"lists" nullable:"false" doc:"What is wrong, one list for each kind, empty ones too."`
	WithoutRecords []AgentWithoutRecords `json:"without_records" nullable:"false" doc:"Agents that keep no records at all. What they acknowledged is in no list."`
	Records        RecordCheck           `json:"records"`
	Gaps           []GapRef              `json:"gaps" nullable:"false" doc:"Spans of the period in which lines may have been missed."`
	Notes          []string              `json:"notes" nullable:"false" doc:"What restricts the report, in sentences."`
}

// BalanceLine is the balance of one agent in one stream.
type BalanceLine struct {
	Stream string `json:"stream" example:"TASKS"`
	Agent  Text   `json:"agent" doc:"Null where it is not known, such as for messages that were never seen."`
	Balance
}

// StreamSpan is what was compared of one stream.
type StreamSpan struct {
	Stream     string   `json:"stream" example:"TASKS"`
	FromSeq    Sequence `json:"from_seq" doc:"First sequence of the period."`
	ToSeq      Sequence `json:"to_seq" doc:"Last one; less than from_seq where there is none."`
	Known      int64    `json:"known" doc:"Messages in between that are known here." example:"2846"`
	Compared   bool     `json:"compared" doc:"With what the stream holds now." example:"true"`
	Held       *int64   `json:"held" doc:"Messages of this span that the stream still holds; null when it was not compared." example:"4"`
	Why        Text     `json:"why_not" doc:"Why it was not compared."`
	ComparedAt Instant  `json:"compared_at" doc:"When the stream was asked."`
}

// DiscrepancyList is all that is wrong in one way.
type DiscrepancyList struct {
	Kind    string        `json:"kind" enum:"completed_not_acked,acked_not_recorded,recorded_unpublished,record_missing,outcome_unexplained,never_seen,exhausted_outside_dlq,expired,held_though_settled,held_unknown" example:"completed_not_acked"`
	Title   string        `json:"title" example:"Completed, not acknowledged"`
	Meaning string        `json:"meaning" doc:"What is wrong, in a sentence."`
	Advice  string        `json:"advice" doc:"What to do about it."`
	Total   int64         `json:"total" doc:"Messages or records, however many rows are kept." example:"1"`
	Rows    []Discrepancy `json:"rows" nullable:"false" doc:"The first ones, at most 1000."`
}

// Discrepancy is one thing that is wrong.
type Discrepancy struct {
	Stream Text             `json:"stream" doc:"Null where no message is known."`
	Seq    Sequence         `json:"seq"`
	ToSeq  Sequence         `json:"to_seq" doc:"Last sequence of a run that begins with seq; null for one message."`
	Count  int64            `json:"count" doc:"Messages or records that the row stands for." example:"1"`
	TaskID Text             `json:"task_id" doc:"Null where it is not known."`
	Agent  Text             `json:"agent"`
	State  Text             `json:"state" doc:"What the facts prove; null where there are none."`
	At     Instant          `json:"at" doc:"When the latest of what is known happened."`
	Why    string           `json:"why" doc:"The evidence, in a sentence."`
	Links  DiscrepancyLinks `json:"links"`
}

// DiscrepancyLinks are the addresses of what a discrepancy is about.
type DiscrepancyLinks struct {
	Task Text `json:"task" doc:"Null where no task is known."`
}

// AgentWithoutRecords is an agent that keeps no records.
type AgentWithoutRecords struct {
	Agent        Text  `json:"agent"`
	Acknowledged int64 `json:"acknowledged" doc:"Messages that it acknowledged and for which no completion is known." example:"12"`
}

// RecordCheck says whether completions that were seen were looked for among the records that exist now.
type RecordCheck struct {
	Checked bool  `json:"checked" example:"true"`
	Asked   int64 `json:"asked" doc:"Records that were looked for." example:"2830"`
	Why     Text  `json:"why_not" doc:"Why not, or not all."`
}

func detailOf(r reconcile.Run) ReconciliationDetail {
	out := ReconciliationDetail{
		Reconciliation: reconciliationOf(r), Lines: []BalanceLine{}, Streams: []StreamSpan{}, Lists: []DiscrepancyList{},
		WithoutRecords: []AgentWithoutRecords{}, Gaps: []GapRef{}, Notes: []string{},
	}
	report := r.Report
	if report == nil {
		return out
	}
	for _, l := range report.Lines {
		out.Lines = append(out.Lines, BalanceLine{Stream: l.Stream.String(), Agent: Text(l.Agent), Balance: balanceOf(l.Balance)})
	}
	for _, s := range report.Streams {
		out.Streams = append(out.Streams, streamSpanOf(s))
	}
	for _, l := range report.Lists {
		out.Lists = append(out.Lists, listOf(l))
	}
	for _, k := range report.WithoutRecords {
		out.WithoutRecords = append(out.WithoutRecords, AgentWithoutRecords{Agent: Text(k.Agent), Acknowledged: k.Acknowledged})
	}
	for _, g := range report.Gaps {
		out.Gaps = append(out.Gaps, GapRef{Source: g.Source, From: Instant(g.From), To: Instant(g.To), Reason: Text(g.Reason)})
	}
	out.Records = RecordCheck{Checked: report.Records.Checked, Asked: report.Records.Asked, Why: Text(report.Records.Why)}
	out.Notes = append(out.Notes, report.Notes...)
	return out
}

func streamSpanOf(s reconcile.StreamSpan) StreamSpan {
	out := StreamSpan{
		Stream: s.Stream.String(), FromSeq: Sequence(s.FromSeq), ToSeq: Sequence(s.ToSeq), Known: s.Known, Compared: s.Compared, Why: Text(s.Why),
		ComparedAt: Instant(s.LookedAt),
	}
	if s.Compared {
		out.Held = &s.Held
	}
	return out
}

func listOf(l reconcile.DiscrepancyList) DiscrepancyList {
	out := DiscrepancyList{
		Kind: string(l.Kind), Title: l.Kind.Title(), Meaning: l.Kind.Meaning(), Advice: l.Kind.Advice(), Total: l.Total,
		Rows: make([]Discrepancy, len(l.Rows)),
	}
	for i, d := range l.Rows {
		out.Rows[i] = discrepancyOf(d)
	}
	return out
}

func discrepancyOf(d reconcile.Discrepancy) Discrepancy {
	out := Discrepancy{
		ToSeq: Sequence(d.ToSeq), Count: d.N(), TaskID: Text(d.TaskID), Agent: Text(d.Agent), State: Text(d.State), At: Instant(d.At), Why: d.Why,
	}
	if !d.Message.IsZero() {
		out.Stream, out.Seq = Text(d.Message.Stream.String()), Sequence(d.Message.Seq)
	}
	if d.TaskID != "" {
		out.Links.Task = Text(taskPath(d.TaskID))
	}
	return out
}
