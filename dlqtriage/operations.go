package dlqtriage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"fleetglass/decision"
	"fleetglass/lifecycle"
)

// OperationsConfig says what bulk operations work with.
type OperationsConfig struct {
	Actions *Actions       // Required.
	Store   OperationStore // Required.

	Changed func(Operation) // Optional; hears of every operation that began, went on or ended.
	Log     *slog.Logger    // Optional; default discards.
}

// OperationStore is what operations need of the store of decisions.
type OperationStore interface {
	decision.Decider
	decision.Outbox
	decision.Reader
}

// Operations runs actions on many entries.
type Operations struct {
	OperationsConfig
	wake chan struct{}

	mu        sync.Mutex
	cancelled map[string]bool // Of this process: so that an operation ends at once.
}

// NewOperations checks the configuration. It starts nothing.
func NewOperations(cfg OperationsConfig) (*Operations, error) {
	if cfg.Actions == nil || cfg.Store == nil {
		return nil, errors.New("dlqtriage: OperationsConfig needs Actions and Store")
	}
	if cfg.Changed == nil {
		cfg.Changed = func(Operation) {}
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Operations{OperationsConfig: cfg, wake: make(chan struct{}, 1), cancelled: map[string]bool{}}, nil
}

// BulkRequest asks for an action on many entries.
type BulkRequest struct {
	Selector Selector       // Required.
	Action   ActionKind     // Required.
	Reason   string         // Required, as for one entry.
	Params   Params         //
	Actor    decision.Actor // Required.
	Key      string         // Required, as for one entry.
	DryRun   bool           // Only says which entries are eligible, and what blocks the others.
	Rate     float64        // Optional; entries in a second at most. Zero for no limit.
}

// maxIDs bounds the ids of a selector.
const maxIDs = 10_000

func (r BulkRequest) check(p *Policy, now lifecycle.Micros) error {
	return together(r.checkSelection(), r.on("").check(p, now))
}

// checkSelection reports all that is wrong with the request apart from the action.
func (r BulkRequest) checkSelection() error {
	var wrong []error
	if r.Selector.ways() != 1 {
		wrong = append(wrong, refusePart(RefusedParameter, "/selector", "Give exactly one of ids, filter and operation."))
	}
	if len(r.Selector.IDs) > maxIDs {
		wrong = append(wrong, refusePart(RefusedParameter, "/selector/ids", "At most 10,000 ids are allowed; select more by a filter."))
	}
	if r.Rate < 0 || r.Rate > 10_000 {
		wrong = append(wrong, refusePart(RefusedParameter, "/rate_per_s", "rate_per_s must be from 0 to 10,000."))
	}
	return together(wrong...)
}

// ways is in how many ways the selector names entries.
func (s Selector) ways() (n int) {
	for _, given := range []bool{len(s.IDs) > 0, s.Filter != nil, s.Operation != ""} {
		if given {
			n++
		}
	}
	return n
}

// on is the request for one of the entries.
func (r BulkRequest) on(entry string) Request {
	return Request{Entry: entry, Action: r.Action, Reason: r.Reason, Params: r.Params, Actor: r.Actor, Key: r.Key}
}

// OperationID names the operation that a request starts.
func OperationID(key string) string {
	sum := sha256.Sum256([]byte(key))
	return operationPrefix + hex.EncodeToString(sum[:12])
}

// Check errors with a [*Refusal] of all that is wrong with the request itself.
func (s *Operations) Check(r BulkRequest) error { return r.check(s.Actions.Policy(), s.Actions.now()) }

// Start begins an operation, once however often it is called with the request's key. A dry run is over when Start returns. It errors with a
// [*Refusal] where the request is wrong.
func (s *Operations) Start(ctx context.Context, r BulkRequest) (Operation, error) {
	if r.Key == "" {
		return Operation{}, errors.New("start operation: the request has no key")
	}
	now := s.Actions.now()
	if err := s.Check(r); err != nil {
		return Operation{}, err
	}
	id := OperationID(r.Key)
	if o, err := s.Get(ctx, id); !errors.Is(err, lifecycle.ErrNotFound) {
		return o, err
	}
	o := Operation{ID: id, Action: r.Action, Actor: r.Actor, CreatedAt: now, UpdatedAt: now, Bulk: true}
	o.OperationBody = OperationBody{Reason: r.Reason, Params: r.Params, Selector: r.Selector.frozen(now), DryRun: r.DryRun, Rate: r.Rate, Status: ActionQueued, Items: []Item{}}
	if err := s.count(ctx, &o); err != nil {
		return o, err
	}
	return s.begin(ctx, o, r.Key)
}

// frozen is the selector without what dies after now, and without ids that are named again.
func (s Selector) frozen(now lifecycle.Micros) Selector {
	if s.Filter == nil {
		return Selector{IDs: distinct(s.IDs), Operation: s.Operation}
	}
	f := *s.Filter
	if !f.To.Known() || f.To > now {
		f.To = now
	}
	return Selector{Filter: &f}
}

// distinct gives each id once, in the order in which they are named first.
func distinct(ids []string) (out []string) {
	seen := map[string]bool{}
	for _, id := range ids {
		if !seen[id] {
			seen[id], out = true, append(out, id)
		}
	}
	return out
}

// count finds how many entries are selected; for a dry run it looks at each.
func (s *Operations) count(ctx context.Context, o *Operation) (err error) {
	if o.DryRun {
		return s.dryRun(ctx, o)
	}
	switch {
	case o.Selector.Filter != nil:
		o.Counts.Selected, err = s.Actions.Entries.CountEntries(ctx, *o.Selector.Filter)
	case o.Selector.Operation != "":
		o.Counts.Selected, err = s.countDone(ctx, o.Selector.Operation)
	default:
		o.Counts.Selected = int64(len(o.Selector.IDs))
	}
	return err
}

// begin decides that the operation is to run.
func (s *Operations) begin(ctx context.Context, o Operation, key string) (Operation, error) {
	stored, err := o.stored()
	if err != nil {
		return o, err
	}
	record := o.Actor.Record(o.ID, o.CreatedAt, string(o.Action), decision.Allowed)
	record.Target, record.Reason, record.RequestID = "operation "+o.ID, o.Reason, key
	record.After, _ = json.Marshal(o.Counts) // Numbers can be written.
	d := decision.Decision{ID: o.ID, Subject: aboutOperation(o.ID), At: o.CreatedAt}
	d.Action, d.Audit = stored, []decision.AuditRecord{record}
	if !o.DryRun {
		part, err := slice{}.effect(o, 0, o.CreatedAt)
		if err != nil {
			return o, err
		}
		d.Effects = []decision.Effect{part}
	}
	if made, err := s.Store.Decide(ctx, d); err != nil || made.Repeated {
		if err == nil || errors.Is(err, decision.ErrConflict) {
			return s.Get(ctx, o.ID)
		}
		return o, fmt.Errorf("start operation: %w", err)
	}
	s.Changed(o)
	s.Wake()
	return o, nil
}

// Get returns an operation with its items as they are now, or lifecycle.ErrNotFound.
func (s *Operations) Get(ctx context.Context, id string) (Operation, error) {
	d, err := s.Store.Action(ctx, id)
	if err != nil {
		return Operation{}, err
	}
	o, err := ReadOperation(d)
	if err != nil {
		return o, err
	}
	if o, err = s.counted(ctx, o); err != nil {
		return o, err
	}
	return o, s.follow(ctx, &o)
}

// counted says whether somebody took a slice up that is not counted. Where none is to be counted any more, the operation is read again, for
// the last one may have been counted since it was read.
func (s *Operations) counted(ctx context.Context, o Operation) (Operation, error) {
	if !o.Bulk || o.DryRun || o.Status == ActionSucceeded {
		return o, nil
	}
	e, err := s.Store.Effect(ctx, sliceID(o.ID, o.Slices))
	if errors.Is(err, lifecycle.ErrNotFound) {
		return o, nil
	}
	if o.Counting = e.Token > 0 && !e.SettledAt.Known(); err != nil || o.Counting || !e.SettledAt.Known() {
		return o, err
	}
	d, err := s.Store.Action(ctx, o.ID)
	if err != nil {
		return o, err
	}
	now, err := ReadOperation(d)
	if err != nil || now.Slices == o.Slices {
		return now, err
	}
	return s.counted(ctx, now)
}

// List returns operations without their items' outcome, as [decision.Reader] lists actions.
func (s *Operations) List(ctx context.Context, from *decision.ActionPlace, limit int) ([]Operation, error) {
	found, err := s.Store.Operations(ctx, from, limit)
	if err != nil {
		return nil, err
	}
	out := make([]Operation, len(found))
	for i, d := range found {
		if out[i], err = ReadOperation(d); err == nil {
			out[i], err = s.counted(ctx, out[i])
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// follow brings the items up to date: whether the message of each was published, and what became of it.
func (s *Operations) follow(ctx context.Context, o *Operation) error {
	for i := range o.Items {
		if err := s.followItem(ctx, o, &o.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *Operations) followItem(ctx context.Context, o *Operation, item *Item) error {
	if item.Action == "" || !o.Action.Sends() {
		return nil
	}
	if o.Bulk {
		a, err := s.Actions.Action(ctx, item.Action)
		if err != nil && !errors.Is(err, lifecycle.ErrNotFound) {
			return err
		}
		if err == nil {
			*item = itemOf(a)
		}
	}
	return s.outcome(ctx, item)
}

// outcome is what became of the message that the item published: the entry says so while no later action was taken on it.
func (s *Operations) outcome(ctx context.Context, item *Item) error {
	if item.Message == nil {
		return nil
	}
	e, err := s.Actions.Entries.Entry(ctx, item.Entry)
	if errors.Is(err, lifecycle.ErrNotFound) {
		return nil
	}
	if e.Action == item.Action {
		item.Outcome = e.Outcome
	}
	return err
}

// Wake says that there may be something to do. It never blocks.
func (s *Operations) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
