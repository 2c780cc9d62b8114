package dlqtriage

import (
	"encoding/json"
	"fmt"

	"fleetglass/decision"
	"fleetglass/lifecycle"
)

// decide makes one decision of a request whose preview is eligible: the action, what is said of the message, who did it, and what follows.
func (k *Known) decide(r Request, id, operation string, v Preview, now lifecycle.Micros) (decision.Decision, Action, error) {
	a := Action{
		ID: id, Operation: operation, Kind: r.Action, Entry: k.Entry.ID, TaskID: k.Entry.TaskID, Actor: r.Actor, Reason: r.Reason, Params: r.Params,
		CreatedAt: now, UpdatedAt: now, Progress: Progress{Status: ActionSucceeded, EndedAt: now},
	}
	d := decision.Decision{ID: id, Subject: k.Entry.About(), Expected: k.Revision, At: now}
	if v.Message != nil {
		a.Progress = Progress{Status: ActionQueued, Strategy: v.plan.Strategy, DueAt: v.DueAt, MessageID: v.Message.MessageID(), Subject: v.Message.Subject}
		effect, err := json.Marshal(Delivery{Message: *v.Message, Of: k.Entry.Key.String(), TaskID: k.Entry.TaskID, DueAt: v.DueAt, InSpiteOf: v.forced})
		if err != nil {
			return d, a, fmt.Errorf("write effect: %w", err)
		}
		d.Effects = []decision.Effect{{ID: id, Queue: QueueRetry, Action: id, Due: parkAt(v.DueAt, now), Body: effect}}
	}
	var err error
	d.Events = []lifecycle.Event{k.event(r, id, v.DueAt, now)}
	d.Audit = []decision.AuditRecord{k.audit(r, id, now)}
	d.Action, err = a.stored()
	return d, a, err
}

// event says what was decided about the message. due is when what was asked for happens.
func (k *Known) event(r Request, id string, due, now lifecycle.Micros) lifecycle.Event {
	e := lifecycle.Event{
		ID: decision.EventID(id, 0), At: now, Kind: lifecycle.Triaged, Provenance: lifecycle.Recorded, Source: eventSource, Message: k.Entry.Key, Agent: k.Entry.Agent,
	}
	e.Detail.Action, e.Detail.ActionID, e.Detail.Actor, e.Detail.Via, e.Detail.Reason = string(r.Action), id, r.Actor.Name, r.Actor.Via, r.Reason
	switch r.Action {
	case ActionRetry, ActionReassign:
		e.Kind = lifecycle.Decided
		if due > now {
			e.Detail.Until = due
		}
	case ActionDefer:
		e.Detail.Outcome, e.Detail.Until = lifecycle.OutcomeDeferred, r.Params.Until
	case ActionDiscard:
		e.Detail.Outcome = lifecycle.OutcomeDiscarded
	case ActionQuarantine:
		e.Detail.Outcome = lifecycle.OutcomeQuarantined
	case ActionReopen:
		e.Kind = lifecycle.Reopened
	case ActionReclassify:
		e.Kind = lifecycle.Classified
		class := ClassOf(r.Params.Category, r.Params.Detail)
		e.Detail.Category, e.Detail.CategoryDetail, e.Detail.CauseKind = string(class.Category), class.Detail, string(class.Kind)
	}
	return e
}

// eventSource is what the events that come from decisions name as their source.
const eventSource = "decision"

// audit says who decided, on what, and what that changed.
func (k *Known) audit(r Request, id string, now lifecycle.Micros) decision.AuditRecord {
	out := r.Actor.Record(id, now, string(r.Action), decision.Allowed)
	out.Target, out.Reason, out.RequestID = k.Entry.ID, r.Reason, r.Key
	if r.Params.Force {
		out.Reason += " (forced: " + r.Params.ForceReason + ")"
	}
	out.Before = auditState(k.Entry.Status, k.Entry.Class)
	after := statusAfter(r.Action, k.Entry.Status)
	class := k.Entry.Class
	if r.Action == ActionReclassify {
		class = ClassOf(r.Params.Category, r.Params.Detail)
	}
	out.After = auditState(after, class)
	return out
}

func auditState(s Status, c Class) []byte {
	text, _ := json.Marshal(struct { // Texts can be written.
		Status   Status   `json:"status"`
		Category Category `json:"category"`
		Detail   string   `json:"detail,omitempty"`
	}{s, c.Category, c.Detail})
	return text
}

// statusAfter is the status of an entry right after the decision.
func statusAfter(a ActionKind, before Status) Status {
	switch a {
	case ActionRetry, ActionReassign:
		return StatusActing
	case ActionDefer:
		return StatusDeferred
	case ActionDiscard:
		return StatusDiscarded
	case ActionQuarantine:
		return StatusQuarantined
	case ActionReopen:
		return StatusOpen
	}
	return before
}
