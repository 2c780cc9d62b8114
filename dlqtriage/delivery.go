package dlqtriage

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"fleetglass/decision"
	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// QueueRetry is the queue of the effects that publish retries.
const QueueRetry = "retry"

// Delivery is the body of the effect that publishes a retry.
type Delivery struct {
	Message Message          `json:"message"`
	Of      string           `json:"of"` // The key of the message that died.
	TaskID  string           `json:"task_id"`
	DueAt   lifecycle.Micros `json:"due_at"` // Not before this.

	InSpiteOf []ObstacleCode `json:"in_spite_of"` // What its decision took upon itself; nil of one that is older than this list.
}

// ReadDelivery reads the body of an effect of the queue [QueueRetry].
func ReadDelivery(body []byte) (d Delivery, err error) {
	if err := json.Unmarshal(body, &d); err != nil {
		return d, fmt.Errorf("read retry: %w", err)
	}
	return d, nil
}

// parkedFor is the longest time that a retry waits in the broker's RETRY stream, which keeps messages for a day. Until then it waits in the
// store.
const parkedFor = time.Hour

// parkAt is when a retry is handed to the broker.
func parkAt(due, now lifecycle.Micros) lifecycle.Micros { return max(now, due.Add(-parkedFor)) }

// Published finds the message that the retry stored: the one with its message id that retries the same message, and that Fleetglass published. Somebody else may
// have published one under that id.
func (d Delivery) Published(r lifecycle.TaskRecord) (lifecycle.MessageKey, bool) {
	for _, m := range r.Messages {
		if m.Stored != nil && m.Stored.MsgID == d.Message.MessageID() && m.Stored.RetryOf == d.Of && m.Stored.Publisher == fleet.PublisherFleetglass {
			return m.Key, true
		}
	}
	return lifecycle.MessageKey{}, false
}

// Ended is how the publishing of a retry ended.
type Ended struct {
	Sent *Sent  // Where the message was stored; nil where it was given up.
	Why  string // Why it was given up.

	CancelledBy *decision.Actor // Who cancelled it before it was due; nil where nobody did.
	UndoneBy    string          // The operation that did so as part of an undo; empty for none.

	StartedAt lifecycle.Micros // When its publishing began; zero where it did not.
}

// Settle is the settlement of the effect that published a retry, or gave it up: with the end of its action, what is said of the message that
// died, and an audit record.
func (s *Actions) Settle(ctx context.Context, c decision.Claimed, e Ended) (decision.Settlement, error) {
	a, err := s.Action(ctx, c.Action)
	if err != nil {
		return decision.Settlement{}, err
	}
	at := s.now()
	a.UpdatedAt, a.StartedAt, a.EndedAt, a.Sent, a.Why, a.UndoneBy, a.Status = at, e.StartedAt, at, e.Sent, e.Why, e.UndoneBy, ActionSucceeded
	out := decision.Settlement{Effect: c.ID, Token: c.Token, Status: decision.StatusDone, At: at}
	by := a.Actor
	switch {
	case e.CancelledBy != nil:
		a.Status, out.Status, by = ActionCancelled, decision.StatusFailed, *e.CancelledBy
	case e.Sent == nil:
		a.Status, out.Status = ActionFailed, decision.StatusFailed
	}
	if out.Result, err = json.Marshal(a.Progress); err != nil {
		return out, err
	}
	out.Events = []lifecycle.Event{a.ended(by, at)}
	out.Audit = []decision.AuditRecord{a.endedRecord(by, at)}
	out.Action, err = a.stored()
	return out, err
}

// ended says what became of the message that died, and by whom: it was published again, or waits for another decision.
func (a Action) ended(by decision.Actor, at lifecycle.Micros) lifecycle.Event {
	key, _ := ParseEntryID(a.Entry) // It was read when the action was stored.
	e := lifecycle.Event{
		ID: decision.EventID(a.ID, 1), At: at, Kind: lifecycle.Triaged, Provenance: lifecycle.Recorded, Source: eventSource, Message: key,
	}
	e.Detail.Action, e.Detail.ActionID, e.Detail.Actor, e.Detail.Via, e.Detail.Reason = string(a.Kind), a.ID, by.Name, by.Via, a.Reason
	switch {
	case a.Status != ActionSucceeded:
		e.Kind, e.Detail.Reason = lifecycle.Reopened, a.Why
	case a.Kind == ActionReassign:
		e.Detail.Outcome = lifecycle.OutcomeReassigned
	default:
		e.Detail.Outcome = lifecycle.OutcomeRetried
	}
	return e
}

// endedRecord is what the audit keeps of the end: the actor of the action answers for what was published, and who cancels for what was not.
func (a Action) endedRecord(by decision.Actor, at lifecycle.Micros) decision.AuditRecord {
	out := by.Record(a.ID+"/ended", at, string(a.Kind)+" "+string(a.Status), decision.Allowed)
	out.Target, out.Reason = a.Entry, a.Reason
	if a.Why != "" {
		out.Reason = a.Why
	}
	out.After, _ = json.Marshal(a.Progress) // Texts and numbers can be written.
	return out
}
