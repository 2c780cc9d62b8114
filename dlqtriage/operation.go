package dlqtriage

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fleetglass/decision"
	"fleetglass/lifecycle"
)

// Operation is one action on one entry, or on all that a selector names.
type Operation struct {
	ID        string
	Action    ActionKind
	Actor     decision.Actor
	CreatedAt lifecycle.Micros
	UpdatedAt lifecycle.Micros
	Bulk      bool // It has a selector; otherwise it is one action on one entry.
	// Counting says that entries were acted on, or may have been, that are not counted yet: they are counted by slices. Where a server is killed, that is up to
	// half a minute later.
	Counting bool
	Delays   Delays // Of a dry run that was just made, as far as it sends by plans. How often a message was tried is not known there: it counts as any that may be tried again.
	OperationBody
}

// OperationBody is what the store keeps of a bulk operation beside its columns.
type OperationBody struct {
	Reason    string           `json:"reason"`
	Params    Params           `json:"params"`
	Selector  Selector         `json:"selector"`
	DryRun    bool             `json:"dry_run,omitempty"` // It changed nothing.
	Rate      float64          `json:"rate,omitempty"`    // Entries in a second; zero for no limit.
	Status    ActionStatus     `json:"status"`
	StartedAt lifecycle.Micros `json:"started_at,omitempty"`
	EndedAt   lifecycle.Micros `json:"ended_at,omitempty"`
	Counts    Counts           `json:"counts"`
	Slices    int              `json:"slices,omitempty"`   // How many slices are counted.
	Items     []Item           `json:"items"`              // The first [FirstItems].
	Refusals  []RefusalCount   `json:"refusals,omitempty"` // Why items are blocked or failed, the first [maxRefusals] reasons.
	By        decision.Actor   `json:"by"`
	// LatestDue is when the last of the messages for which it asked is due; zero where it sends none.
	LatestDue lifecycle.Micros `json:"latest_due,omitempty"`
}

// FirstItems is how many items are kept with the operation itself.
const FirstItems = 50

// Selector names entries: by their ids, by a filter, or by an earlier operation. A filter selects what died before the operation began. An operation
// selects the entries that it acted on and that nobody has decided about since: that is how it is undone.
type Selector struct {
	IDs       []string     `json:"ids,omitempty"`
	Filter    *EntryFilter `json:"filter,omitempty"`
	Operation string       `json:"operation,omitempty"`
}

// RefusalCount is how many items were not done for one reason.
type RefusalCount struct {
	Status ItemStatus `json:"status"` // ItemBlocked or ItemFailed.
	Why    string     `json:"why"`
	Count  int64      `json:"count"`
}

// maxRefusals bounds the reasons that are kept apart. What is beyond is in the counts and with the items.
const maxRefusals = 20

// Counts are those of an operation.
type Counts struct {
	Selected int64 `json:"selected"`
	Eligible int64 `json:"eligible"` // Of those looked at.
	Blocked  int64 `json:"blocked"`  // Likewise.
	Done     int64 `json:"done"`     // Decided; of a retry, [Action] says whether its message was published yet.
	Failed   int64 `json:"failed"`
}

// Item is one entry of an operation.
type Item struct {
	Entry   string     `json:"entry"`
	Status  ItemStatus `json:"status"`
	Why     string     `json:"why,omitempty"`
	Action  string     `json:"action,omitempty"` // The id of its action; empty where there is none.
	Message *Sent      `json:"message,omitempty"`
	ID      string     `json:"message_id,omitempty"` // Of that message.
	Outcome Outcome    `json:"outcome,omitempty"`
	// DueAt is when its message is, or was, to be published; zero where none is.
	DueAt lifecycle.Micros `json:"due_at,omitempty"`
}

// ItemStatus is how far an item is.
type ItemStatus string

// The ways of an item.
const (
	ItemQueued    ItemStatus = "queued"
	ItemBlocked   ItemStatus = "blocked"
	ItemDone      ItemStatus = "done"
	ItemFailed    ItemStatus = "failed"
	ItemCancelled ItemStatus = "cancelled"
)

// ItemStatuses lists them all.
func ItemStatuses() []ItemStatus {
	return []ItemStatus{ItemQueued, ItemBlocked, ItemDone, ItemFailed, ItemCancelled}
}

// operationPrefix begins the ids of bulk operations, and of no action.
const operationPrefix = "op-"

// aboutOperation is the subject that stands for a bulk operation.
func aboutOperation(id string) decision.Subject { return decision.Subject("operation " + id) }

// operationOf is the operation that an action on one entry is.
func operationOf(a Action) Operation {
	o := Operation{ID: a.ID, Action: a.Kind, Actor: a.Actor, CreatedAt: a.CreatedAt, UpdatedAt: a.UpdatedAt}
	o.Reason, o.Params, o.Status, o.StartedAt, o.EndedAt = a.Reason, a.Params, a.Status, a.StartedAt, a.EndedAt
	o.Selector.IDs = []string{a.Entry}
	o.Counts = Counts{Selected: 1, Eligible: 1}
	switch a.Status {
	case ActionSucceeded:
		o.Counts.Done = 1
	case ActionFailed:
		o.Counts.Failed = 1
	}
	if !a.Kind.Sends() {
		o.StartedAt = a.CreatedAt
	}
	o.Items = []Item{itemOf(a)}
	return o
}

func itemOf(a Action) Item {
	i := Item{Entry: a.Entry, Status: ItemQueued, Why: a.Why, Action: a.ID, Message: a.Sent, ID: a.MessageID, DueAt: a.DueAt}
	switch a.Status {
	case ActionSucceeded:
		i.Status = ItemDone
	case ActionFailed:
		i.Status = ItemFailed
	case ActionCancelled:
		i.Status = ItemCancelled
	}
	return i
}

// stored writes a bulk operation for the store, as an action on itself.
func (o Operation) stored() (*decision.Action, error) {
	o.By = o.Actor
	body, err := json.Marshal(o.OperationBody)
	if err != nil {
		return nil, fmt.Errorf("write operation %q: %w", o.ID, err)
	}
	return &decision.Action{
		ID: o.ID, Subject: aboutOperation(o.ID), Kind: string(o.Action), Open: !o.Status.Ended(), CreatedAt: o.CreatedAt, UpdatedAt: o.UpdatedAt, Body: body,
	}, nil
}

// ReadOperation reads what either kind of operation stored: a bulk operation, or an action on one entry. It errors where the body
// is of neither.
func ReadOperation(d decision.Action) (Operation, error) {
	if !strings.HasPrefix(d.ID, operationPrefix) {
		a, err := readAction(d)
		return operationOf(a), err
	}
	o := Operation{ID: d.ID, Action: ActionKind(d.Kind), CreatedAt: d.CreatedAt, UpdatedAt: d.UpdatedAt, Bulk: true}
	if err := json.Unmarshal(d.Body, &o.OperationBody); err != nil {
		return o, fmt.Errorf("read operation %q: %w", d.ID, err)
	}
	o.Actor = o.By
	return o, nil
}

// note adds what became of one entry.
func (o *Operation) note(i Item) {
	switch i.Status {
	case ItemBlocked:
		o.Counts.Blocked++
	case ItemFailed:
		o.Counts.Failed++
	default:
		o.Counts.Eligible++
		o.Counts.Done++
	}
	o.LatestDue = max(o.LatestDue, i.DueAt)
	o.refuse(i, 1)
	if len(o.Items) < FirstItems {
		o.Items = append(o.Items, i)
	}
}

// refuse counts why items such as this one are not done.
func (o *Operation) refuse(i Item, n int64) {
	if i.Status != ItemBlocked && i.Status != ItemFailed {
		return
	}
	at := slices.IndexFunc(o.Refusals, func(r RefusalCount) bool { return r.Status == i.Status && r.Why == i.Why })
	switch {
	case at >= 0:
		o.Refusals[at].Count += n
	case len(o.Refusals) < maxRefusals:
		o.Refusals = append(o.Refusals, RefusalCount{i.Status, i.Why, n})
	}
}

// Undoable reports whether what the operation did can be taken back: its entries can be opened again, or some of its retries wait.
func (o Operation) Undoable(now lifecycle.Micros) bool {
	if !o.Bulk || o.DryRun || !o.Status.Ended() || o.Counts.Done == 0 {
		return false
	}
	if o.Action.Sends() {
		return o.LatestDue >= now.Add(tooLate)
	}
	return o.Action.Reopens()
}
