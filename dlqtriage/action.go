package dlqtriage

import (
	"encoding/json"
	"fmt"

	"fleetglass/decision"
	"fleetglass/lifecycle"
)

// Action is what was asked for about one entry, and how far it is.
type Action struct {
	ID        string
	Operation string // The bulk operation that it is part of; empty for none.
	Kind      ActionKind
	Entry     string
	TaskID    string
	Actor     decision.Actor
	Reason    string
	Params    Params
	CreatedAt lifecycle.Micros
	UpdatedAt lifecycle.Micros
	Attempt   int // Of a message in flight: the attempt that it is about; zero for a dead letter.
	Progress
}

// Progress is how far an action is.
type Progress struct {
	Status    ActionStatus     `json:"status"`
	Strategy  Strategy         `json:"strategy,omitempty"`   // Of the plan, for a retry.
	DueAt     lifecycle.Micros `json:"due_at,omitempty"`     // When its message is published; zero where none is.
	StartedAt lifecycle.Micros `json:"started_at,omitempty"` // When its publishing began.
	EndedAt   lifecycle.Micros `json:"ended_at,omitempty"`
	MessageID string           `json:"message_id,omitempty"` // Of the message that it publishes.
	Subject   string           `json:"subject,omitempty"`    // Of that message.
	Sent      *Sent            `json:"sent,omitempty"`       // Nil until it is published.
	Why       string           `json:"why,omitempty"`        // Why it failed.
	UndoneBy  string           `json:"undone_by,omitempty"`  // The operation that cancelled it as part of an undo; empty for none.
}

// Sent is where a message was stored.
type Sent struct {
	Stream string `json:"stream"`
	Seq    uint64 `json:"seq"`
}

// ActionStatus is how far an action or an operation is.
type ActionStatus string

// The ways of an action.
const (
	ActionQueued    ActionStatus = "queued"    // Nothing has happened yet.
	ActionRunning   ActionStatus = "running"   // Its message waits until it is due.
	ActionSucceeded ActionStatus = "succeeded" // It was done.
	ActionFailed    ActionStatus = "failed"    // It was given up; nothing was published.
	ActionCancelled ActionStatus = "cancelled" // Somebody cancelled it before it was done.
)

// Ended reports whether nothing more happens.
func (s ActionStatus) Ended() bool { return s != ActionQueued && s != ActionRunning }

// actionBody is what the store keeps of an action beside its columns.
type actionBody struct {
	Entry   string         `json:"entry"`
	Message string         `json:"message"` // The key of the message that died.
	TaskID  string         `json:"task_id"`
	Actor   decision.Actor `json:"actor"`
	Reason  string         `json:"reason"`
	Params  Params         `json:"params"`
	Attempt int            `json:"attempt,omitempty"`
	Progress
}

// stored writes an action for the store.
func (a Action) stored() (*decision.Action, error) {
	key, err := ParseEntryID(a.Entry)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(actionBody{a.Entry, key.String(), a.TaskID, a.Actor, a.Reason, a.Params, a.Attempt, a.Progress})
	if err != nil {
		return nil, fmt.Errorf("write action %q: %w", a.ID, err)
	}
	return &decision.Action{
		ID: a.ID, Subject: decision.About(key), Kind: string(a.Kind), Operation: a.Operation, Open: !a.Status.Ended(),
		CreatedAt: a.CreatedAt, UpdatedAt: a.UpdatedAt, Body: body,
	}, nil
}

// readAction reads what stored wrote.
func readAction(d decision.Action) (Action, error) {
	var b actionBody
	if err := json.Unmarshal(d.Body, &b); err != nil {
		return Action{}, fmt.Errorf("read action %q: %w", d.ID, err)
	}
	return Action{
		ID: d.ID, Operation: d.Operation, Kind: ActionKind(d.Kind), Entry: b.Entry, TaskID: b.TaskID, Actor: b.Actor, Reason: b.Reason, Params: b.Params,
		CreatedAt: d.CreatedAt, UpdatedAt: d.UpdatedAt, Attempt: b.Attempt, Progress: b.Progress,
	}, nil
}
