package dlqtriage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"fleetglass/decision"
	"fleetglass/lifecycle"
)

// The queues of the effects of actions on messages in flight.
const (
	QueueRelease    = "release"    // Hand a message back.
	QueueQuarantine = "quarantine" // Copy a message to the dead-letter queue, then delete it.
)

// HeldEffect is the body of an effect on a message in flight.
type HeldEffect struct {
	Message  lifecycle.MessageKey `json:"message"`
	TaskID   string               `json:"task_id"`
	Consumer string               `json:"consumer"`
	Attempt  int                  `json:"attempt"`
	Subject  string               `json:"subject,omitempty"`  // Of release: that of the acknowledgement.
	Deadline lifecycle.Micros     `json:"deadline,omitempty"` // Of the attempt, as it was known then; zero for none.
	Actor    string               `json:"actor"`
	Reason   string               `json:"reason"`
}

// ReadHeldEffect reads the body of an effect of the queues [QueueRelease] and [QueueQuarantine].
func ReadHeldEffect(body []byte) (e HeldEffect, err error) {
	if err := json.Unmarshal(body, &e); err != nil {
		return e, fmt.Errorf("read action on a message in flight: %w", err)
	}
	return e, nil
}

// PreviewHeld says what an action on a message in flight would do, and changes nothing. It errors as [Actions.Preview] does.
func (s *Actions) PreviewHeld(ctx context.Context, r HeldRequest) (HeldPreview, error) {
	if err := r.check(); err != nil {
		return HeldPreview{}, err
	}
	h, err := s.Held(ctx, r.Message)
	if err != nil {
		return HeldPreview{}, err
	}
	if err := h.unchanged(r); err != nil {
		return HeldPreview{}, err
	}
	return h.preview(r), nil
}

func (h *Held) unchanged(r HeldRequest) error {
	if r.Revision != nil && *r.Revision != h.Revision {
		return &Refusal{Code: RefusedChanged, Why: "Something was decided about the message since it was loaded. Load it again."}
	}
	return nil
}

// ActHeld takes an action on a message in flight, once however often it is called with the request's key. It errors as [Actions.Act] does.
func (s *Actions) ActHeld(ctx context.Context, r HeldRequest) (Action, error) {
	if r.Key == "" {
		return Action{}, errors.New("act: the request has no key")
	}
	id := ActionID(r.Key, EntryID(r.Message))
	if a, err := s.Action(ctx, id); !errors.Is(err, lifecycle.ErrNotFound) {
		return a, err // It was decided before, or nobody can tell.
	}
	if err := r.check(); err != nil {
		return Action{}, err
	}
	for n := 1; ; n++ {
		a, err := s.decideHeld(ctx, r, id)
		switch {
		case errors.Is(err, decision.ErrBusy):
			return a, busy()
		case !errors.Is(err, decision.ErrConflict):
			return a, err
		case r.Revision != nil || n == attempts:
			return a, &Refusal{Code: RefusedChanged, Why: "Something was decided about the message meanwhile. Load it again."}
		}
	}
}

// decideHeld decides on the revision that is there now.
func (s *Actions) decideHeld(ctx context.Context, r HeldRequest, id string) (Action, error) {
	h, err := s.Held(ctx, r.Message)
	if err != nil {
		return Action{}, err
	}
	if err := h.unchanged(r); err != nil {
		return s.already(ctx, id, err)
	}
	if v := h.preview(r); !v.Eligible {
		return s.already(ctx, id, refusalOf(v.Blocked))
	}
	d, a, err := h.decide(r, id, s.now())
	if err != nil {
		return Action{}, err
	}
	return s.commit(ctx, d, a)
}

// decide makes one decision of an eligible request: the action, what is said of the message, who did it, and what follows.
func (h *Held) decide(r HeldRequest, id string, now lifecycle.Micros) (decision.Decision, Action, error) {
	a := Action{
		ID: id, Kind: r.Action, Entry: EntryID(h.Key), TaskID: h.Task.ID, Actor: r.Actor, Reason: r.Reason, CreatedAt: now, UpdatedAt: now, Attempt: h.Lease.Attempt,
		Params: Params{Force: r.Force, ForceReason: r.ForceReason}, Progress: Progress{Status: ActionSucceeded, EndedAt: now},
	}
	d := decision.Decision{ID: id, Subject: decision.About(h.Key), Expected: h.Revision, At: now}
	if queue := heldQueue(r.Action); queue != "" {
		a.Progress = Progress{Status: ActionQueued}
		body, err := json.Marshal(h.effect(r))
		if err != nil {
			return d, a, fmt.Errorf("write effect: %w", err)
		}
		d.Effects = []decision.Effect{{ID: id, Queue: queue, Action: id, Due: now, Body: body}}
	}
	var err error
	e := a.heldEvent(0, heldKind(r.Action), r.Reason, now)
	e.Detail.OfConsumer = h.Lease.Consumer
	d.Events = []lifecycle.Event{e}
	d.Audit = []decision.AuditRecord{h.audit(r, id, now)}
	d.Action, err = a.stored()
	return d, a, err
}

// heldQueue is who carries an action out; empty where nothing is to be done in the world.
func heldQueue(a ActionKind) string {
	switch a {
	case ActionRelease:
		return QueueRelease
	case ActionQuarantine:
		return QueueQuarantine
	}
	return ""
}

// heldKind is the kind of the event that says what was decided.
func heldKind(a ActionKind) lifecycle.Kind {
	if a == ActionReconcile {
		return lifecycle.Resolved
	}
	return lifecycle.Decided
}

func (h *Held) effect(r HeldRequest) HeldEffect {
	subject, _ := h.ackSubject()
	return HeldEffect{
		Message: h.Key, TaskID: h.Task.ID, Consumer: h.Message.Consumer, Attempt: h.Lease.Attempt, Subject: subject, Deadline: h.Lease.Deadline,
		Actor: r.Actor.Name, Reason: r.Reason,
	}
}

// heldEvent is the n-th event of an action on a message in flight.
func (a Action) heldEvent(n int, kind lifecycle.Kind, reason string, at lifecycle.Micros) lifecycle.Event {
	key, _ := ParseEntryID(a.Entry) // It was written by EntryID.
	e := lifecycle.Event{
		ID: decision.EventID(a.ID, n), At: at, Kind: kind, Provenance: lifecycle.Recorded, Source: eventSource, Message: key,
	}
	e.Detail.Action, e.Detail.ActionID, e.Detail.Actor, e.Detail.Via, e.Detail.Reason = string(a.Kind), a.ID, a.Actor.Name, a.Actor.Via, reason
	e.Detail.OfN = a.Attempt
	if kind == lifecycle.Triaged {
		e.Detail.Outcome = lifecycle.OutcomeQuarantined
	}
	return e
}

// audit says who decided, on what attempt, and what recovery had recommended.
func (h *Held) audit(r HeldRequest, id string, now lifecycle.Micros) decision.AuditRecord {
	out := r.Actor.Record(id, now, string(r.Action), decision.Allowed)
	out.Target, out.Reason, out.RequestID = EntryID(h.Key), r.Reason, r.Key
	if r.Force {
		out.Reason += " (forced: " + r.ForceReason + ")"
	}
	state, _ := json.Marshal(struct { // Texts and numbers can be written.
		State    lifecycle.State     `json:"state"`
		Attempt  int                 `json:"attempt"`
		Stale    lifecycle.StaleKind `json:"stale,omitempty"`
		Deadline time.Time           `json:"deadline,omitzero"`
		Recovery Remedy              `json:"recovery"`
		Rule     string              `json:"rule"`
	}{h.Lease.State, h.Lease.Attempt, h.Lease.Stale, h.Lease.Deadline.Time(), h.Recovery.Remedy, h.Recovery.Rule})
	out.Before = state
	return out
}

// SettleHeld is the settlement of an effect on a message in flight: why says why nothing was done; it is empty where it was done. More events of what
// was done may be given.
func (s *Actions) SettleHeld(ctx context.Context, c decision.Claimed, why string, events ...lifecycle.Event) (decision.Settlement, error) {
	a, err := s.Action(ctx, c.Action)
	if err != nil {
		return decision.Settlement{}, err
	}
	at := s.now()
	a.UpdatedAt, a.EndedAt, a.Why, a.Status = at, at, why, ActionSucceeded
	out := decision.Settlement{Effect: c.ID, Token: c.Token, Status: decision.StatusDone, At: at}
	kind, reason := heldEnd(a.Kind), a.Reason
	if why != "" {
		a.Status, out.Status, kind, reason = ActionFailed, decision.StatusFailed, lifecycle.Reopened, why
	}
	if out.Result, err = json.Marshal(a.Progress); err != nil {
		return out, err
	}
	out.Events = append(events, a.heldEvent(1, kind, reason, at))
	out.Audit = []decision.AuditRecord{a.endedRecord(a.Actor, at)}
	out.Action, err = a.stored()
	return out, err
}

func heldEnd(a ActionKind) lifecycle.Kind {
	if a == ActionQuarantine {
		return lifecycle.Triaged
	}
	return lifecycle.Released
}
