package dlqtriage

import (
	"context"
	"errors"
	"fmt"

	"fleetglass/lifecycle"
)

// An operation is undone by another one that selects what it did: entries are opened again, and retries that wait are cancelled (ADR 80). Its actions are
// read in the order of their ids, which does not change.

// maxUndoLooked is how many entries a dry run looks at when it selects those of an operation: there is no count of them by class.
const maxUndoLooked = 1000

// countDone is how many entries an operation acted on.
func (s *Operations) countDone(ctx context.Context, id string) (int64, error) {
	o, err := s.bulk(ctx, id)
	return o.Counts.Done, err
}

// bulk reads an operation that a selector names. It errors with a [*Refusal] where there is none, or where it is an action on one entry.
func (s *Operations) bulk(ctx context.Context, id string) (Operation, error) {
	none := refusePart(RefusedParameter, "/selector/operation", "There is no operation on many entries with this id.")
	d, err := s.Store.Action(ctx, id)
	if errors.Is(err, lifecycle.ErrNotFound) {
		return Operation{}, none
	}
	if err != nil {
		return Operation{}, fmt.Errorf("read operation: %w", err)
	}
	o, err := ReadOperation(d)
	switch {
	case err != nil:
		return o, err
	case !o.Bulk:
		return o, none
	case !o.Status.Ended():
		return o, refusePart(RefusedParameter, "/selector/operation", "The operation has not ended: cancel it first.")
	}
	return o, nil
}

// actionsOf lists the actions of an operation behind the given one, as the targets of the operation that undoes them.
func (s *Operations) actionsOf(ctx context.Context, operation, after string, limit int) ([]target, error) {
	found, err := s.Store.ActionsOf(ctx, operation, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list actions of an operation: %w", err)
	}
	out := make([]target, len(found))
	for i, d := range found {
		a, err := readAction(d)
		if err != nil {
			return nil, err
		}
		out[i] = target{entry: a.Entry, undoes: a.ID, retry: a.Kind.Sends()}
	}
	return out, nil
}

// dryUndo judges the first entries that an operation acted on, at most [maxUndoLooked].
func (s *Operations) dryUndo(ctx context.Context, o *Operation) error {
	done, err := s.countDone(ctx, o.Selector.Operation)
	if err != nil {
		return err
	}
	targets, err := s.actionsOf(ctx, o.Selector.Operation, "", maxUndoLooked)
	if err != nil {
		return err
	}
	for _, t := range targets {
		item, err := s.dryTarget(ctx, o, t)
		if err != nil {
			return err
		}
		o.dryOne(item)
	}
	o.Counts.Selected = max(done, o.Counts.Selected)
	return nil
}

// withdraw cancels the retry that a target names. It errors with a [*Refusal] where that does not wait any more.
func (s *Operations) withdraw(ctx context.Context, o Operation, t target) (Item, error) {
	a, err := s.Actions.Action(ctx, t.undoes)
	if err != nil {
		return Item{}, err
	}
	if a.UndoneBy != o.ID { // Otherwise whoever had this slice before cancelled it.
		err = s.Actions.cancel(ctx, a, cancellation{by: o.Actor, reason: o.Reason, undo: o.ID})
	}
	return Item{Entry: t.entry, Status: ItemDone}, err
}

// dryWithdraw judges a retry by what it says itself.
func (s *Operations) dryWithdraw(ctx context.Context, t target) (Item, error) {
	a, err := s.Actions.Action(ctx, t.undoes)
	if err != nil {
		return Item{}, err
	}
	return itemOr(Item{Entry: t.entry, Status: ItemQueued}, a.waits(s.Actions.now()))
}

// dryTarget judges one entry by its id.
func (s *Operations) dryTarget(ctx context.Context, o *Operation, t target) (Item, error) {
	if t.withdraws(o.Action) {
		return s.dryWithdraw(ctx, t)
	}
	e, err := s.Actions.Entries.Entry(ctx, t.entry)
	switch {
	case errors.Is(err, lifecycle.ErrNotFound):
		return Item{Entry: t.entry, Status: ItemBlocked, Why: noSuchEntry}, nil
	case err != nil:
		return Item{}, fmt.Errorf("read entry: %w", err)
	case t.undoes != "" && t.undoes != e.Action:
		return Item{Entry: t.entry, Status: ItemBlocked, Why: refusedUndo}, nil
	}
	return o.dryItem(e, s.Actions.Looks, s.Actions.Policy(), s.Actions.now()), nil
}
