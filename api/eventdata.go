package api

import (
	"time"

	"fleetglass/lifecycle"
)

// EventData is what only some kinds of events carry. Absent fields do not apply or were not said.
type EventData struct {
	MessageID      string    `json:"message_id,omitempty"`
	Subject        string    `json:"subject,omitempty"`
	Type           string    `json:"type,omitempty"`
	IdempotencyKey string    `json:"idempotency_key,omitempty"`
	Generation     int       `json:"generation,omitempty"`
	RetryOf        string    `json:"retry_of,omitempty"`
	TriageAction   string    `json:"triage_action,omitempty"`
	TraceParent    string    `json:"traceparent,omitempty"`
	Publisher      string    `json:"publisher,omitempty" doc:"Who published it, by its own word."`
	Title          string    `json:"title,omitempty"`
	CreatedAt      *Instant  `json:"created_at,omitempty"`
	SizeBytes      int64     `json:"size_bytes,omitempty"`
	PayloadHash    string    `json:"payload_hash,omitempty"`
	BestEffort     bool      `json:"best_effort,omitempty" doc:"Captured by a subscription, which misses what happens while Fleetglass is down."`
	DelayMS        float64   `json:"delay_ms,omitempty" doc:"The delay that a nak asked for."`
	Reason         string    `json:"reason,omitempty"`
	AckTimeMS      float64   `json:"ack_time_ms,omitempty" doc:"From the last delivery or heartbeat to the acknowledgement."`
	BasisAt        *Instant  `json:"basis_at,omitempty" doc:"The last signal that the deadline counts from."`
	DeadlineAt     *Instant  `json:"deadline_at,omitempty"`
	Exact          bool      `json:"exact,omitempty" doc:"The time is the broker's own."`
	Category       string    `json:"category,omitempty"`
	Path           string    `json:"path,omitempty"`
	Entry          string    `json:"entry,omitempty"`
	CategoryDetail string    `json:"category_detail,omitempty"`
	CauseKind      string    `json:"cause_kind,omitempty"`
	Rule           string    `json:"rule,omitempty" doc:"By which a dead message was classified."`
	Deliveries     int       `json:"deliveries,omitempty" doc:"As a dead-letter entry says."`
	FailedAt       *Instant  `json:"failed_at,omitempty" doc:"As a dead-letter entry says."`
	Action         string    `json:"action,omitempty" doc:"What somebody asked for."`
	ActionID       string    `json:"action_id,omitempty"`
	Actor          string    `json:"actor,omitempty"`
	Outcome        string    `json:"outcome,omitempty" doc:"What was decided."`
	Until          *Instant  `json:"until,omitempty" doc:"triaged: until when it is deferred. decided: when what was asked for is due."`
	LeaseOwner     string    `json:"lease_owner,omitempty"`
	LeaseVersion   *Sequence `json:"lease_version,omitempty"`
	LeaseExpiresAt *Instant  `json:"lease_expires_at,omitempty"`
	StepID         string    `json:"step_id,omitempty"`
	StepClass      string    `json:"step_class,omitempty"`
	Tool           string    `json:"tool,omitempty"`
	InputHash      string    `json:"input_hash,omitempty"`
	ResultRef      string    `json:"result_ref,omitempty"`
	Status         string    `json:"status,omitempty"`
	Model          string    `json:"model,omitempty"`
	InputTokens    int64     `json:"input_tokens,omitempty"`
	OutputTokens   int64     `json:"output_tokens,omitempty"`
	CostUSD        float64   `json:"cost_usd,omitempty"`
	ExpiresAt      *Instant  `json:"expires_at,omitempty"`
	ReportedBy     string    `json:"reported_by,omitempty" doc:"Who sent the report over HTTP, where nothing proves that it was the agent: the name of a token that is bound to no agent. The report stands in that name, not in the agent's."`
	RecordsMS      float64   `json:"records_ms,omitempty" doc:"What the delivery waited for the idempotency records, as its agent measured it."`
}

func dataOf(d lifecycle.Detail) EventData {
	out := EventData{
		MessageID: d.MsgID, Subject: d.Subject, Type: d.Type, IdempotencyKey: d.IdempotencyKey, Generation: d.Generation, RetryOf: d.RetryOf,
		TriageAction: d.TriageAction, TraceParent: d.TraceParent, Publisher: d.Publisher, Title: d.Title, CreatedAt: instant(d.CreatedAt), SizeBytes: d.Size,
		PayloadHash: d.PayloadHash, BestEffort: d.BestEffort, DelayMS: fractional(d.Delay), Reason: d.Reason, AckTimeMS: fractional(d.AckTime),
		BasisAt: instant(d.Basis), DeadlineAt: instant(d.Deadline), Exact: d.Exact, Category: d.Category, Path: d.Path, Entry: d.Entry,
		LeaseOwner: d.LeaseOwner, LeaseExpiresAt: instant(d.LeaseExpiresAt), StepID: d.StepID, StepClass: d.StepClass, Tool: d.Tool,
		InputHash: d.InputHash, ResultRef: d.ResultRef, Status: d.Status, Model: d.Model, InputTokens: d.InputTokens,
		OutputTokens: d.OutputTokens, CostUSD: d.CostUSD, ExpiresAt: instant(d.ExpiresAt), ReportedBy: d.ReportedBy, RecordsMS: fractional(d.RecordsWait),
		CategoryDetail: d.CategoryDetail, CauseKind: d.CauseKind, Rule: d.Rule, Deliveries: d.Deliveries, FailedAt: instant(d.FailedAt),
		Action: d.Action, ActionID: d.ActionID, Actor: d.Actor, Outcome: string(d.Outcome), Until: instant(d.Until),
	}
	if d.LeaseVersion != 0 {
		v := Sequence(d.LeaseVersion)
		out.LeaseVersion = &v
	}
	return out
}

// instant is an instant that is absent when not known.
func instant(m lifecycle.Micros) *Instant {
	if !m.Known() {
		return nil
	}
	i := Instant(m)
	return &i
}

// fractional is a duration in milliseconds, with its fraction.
func fractional(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
