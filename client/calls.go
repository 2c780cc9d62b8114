package client

import (
	"context"
	"net/url"

	"fleetglass/lifecycle"
)

// Tasks lists tasks by the filter of the API's list (state, agent, type, q, limit, cursor, …).
func (c *Client) Tasks(ctx context.Context, filter url.Values) (Page[Task], error) {
	return asked[Page[Task]](c.Get(ctx, "/tasks", filter))
}

// Task is the trace of one task.
func (c *Client) Task(ctx context.Context, id string) (Trace, error) {
	return asked[Trace](c.Get(ctx, "/tasks/"+lifecycle.TaskSegment(id), nil))
}

// InFlight lists what workers hold now.
func (c *Client) InFlight(ctx context.Context, filter url.Values) (Page[Lease], error) {
	return asked[Page[Lease]](c.Get(ctx, "/in-flight", filter))
}

// DeadLetters lists dead letters (status, category, detail, agent, q, …).
func (c *Client) DeadLetters(ctx context.Context, filter url.Values) (Page[DeadLetter], error) {
	return asked[Page[DeadLetter]](c.Get(ctx, "/dlq", filter))
}

// Action is what is to be done with a dead letter.
type Action struct {
	Action string         `json:"action"` // retry, reassign, defer, discard, quarantine, reclassify or reopen.
	Reason string         `json:"reason"` // Why, from 3 to 2,000 characters. It stands in the audit.
	Params map[string]any `json:"params,omitempty"`
}

// Act has an action done. The key names the call: the same key again has no second effect, whatever happened to the first answer.
func (c *Client) Act(ctx context.Context, entry string, action Action, key string) (Operation, error) {
	return asked[Operation](c.post(ctx, "/dlq"+segment(entry)+"/actions", action, key))
}

// ManyAction is what is to be done with many dead letters.
type ManyAction struct {
	Action
	Selector ManySelector `json:"selector"`
	DryRun   bool         `json:"dry_run,omitempty"` // Only count what could be done.
}

// ManySelector names dead letters: by their ids, or as those that an operation acted on.
type ManySelector struct {
	IDs       []string `json:"ids,omitempty"`
	Operation string   `json:"operation,omitempty"`
}

// ActOnMany has an action on many dead letters begun. The key is as of [Client.Act]. With reopen and an operation as selector it takes that operation back.
func (c *Client) ActOnMany(ctx context.Context, action ManyAction, key string) (Operation, error) {
	return asked[Operation](c.post(ctx, "/operations", action, key))
}

// Operation is how far an action is.
func (c *Client) Operation(ctx context.Context, id string) (Operation, error) {
	return asked[Operation](c.Get(ctx, "/operations"+segment(id), nil))
}

// Cancel ends an operation: what was not begun is not done, and a retry that waits is not published. The reason may be empty. It errors with a [*Problem]
// where a retry can no longer be cancelled; an operation on many that has ended is answered as it is.
func (c *Client) Cancel(ctx context.Context, id, reason, key string) (Operation, error) {
	return asked[Operation](c.post(ctx, "/operations"+segment(id)+"/cancel", struct {
		Reason string `json:"reason,omitempty"`
	}{reason}, key))
}

// Events lists what happened to one task, in causal order (limit, cursor).
func (c *Client) Events(ctx context.Context, task string, filter url.Values) (Page[Event], error) {
	return asked[Page[Event]](c.Get(ctx, "/tasks/"+lifecycle.TaskSegment(task)+"/events", filter))
}

// Operations lists operations, the newest first (limit, cursor).
func (c *Client) Operations(ctx context.Context, filter url.Values) (Page[Operation], error) {
	return asked[Page[Operation]](c.Get(ctx, "/operations", filter))
}

// Doctor names the traps in the configuration of the broker.
func (c *Client) Doctor(ctx context.Context) (Checkup, error) {
	return asked[Checkup](c.Get(ctx, "/doctor", nil))
}

// Alerts lists alerts (state, rule, severity, agent).
func (c *Client) Alerts(ctx context.Context, filter url.Values) (Page[Alert], error) {
	return asked[Page[Alert]](c.Get(ctx, "/alerts", filter))
}
