package dlqtriage

import (
	"context"
	"errors"
	"time"

	"fleetglass/lifecycle"
)

// walk is the work of one slice.
type walk struct {
	service   *Operations
	operation Operation // As it was when the slice began.
	at        slice
	began     time.Time
	looked    time.Time // When it was last looked whether the operation was cancelled.

	items []Item
	next  slice // Where the following one begins.
	end   bool  // There are no more.
}

// target is an entry that is acted on, with its place in the selection.
type target struct {
	entry  string
	place  *EntryCursor // In the list of the filter.
	undoes string       // The id of the action that is taken back; empty for none.
}

// noSuchEntry is why an entry that somebody named is not acted on.
const noSuchEntry = "There is no such entry."

// run acts on the entries of the slice, one after the other.
func (w *walk) run(ctx context.Context) error {
	w.next, w.looked = slice{Index: w.at.Index, After: w.at.After, Undone: w.at.Undone}, w.began
	targets, err := w.targets(ctx)
	if err != nil {
		return err
	}
	for i, t := range targets {
		over, err := w.interrupted(ctx)
		if over || err != nil {
			return err
		}
		if err := w.pace(ctx, i); err != nil {
			return err
		}
		item, err := w.act(ctx, t)
		if err != nil {
			return err
		}
		w.items = append(w.items, item)
		w.next = slice{Index: w.next.Index + 1, After: t.place, Undone: t.undoes}
	}
	w.end = len(targets) < sliceSize
	return nil
}

// targets lists the entries of the slice.
func (w *walk) targets(ctx context.Context) ([]target, error) {
	switch s := w.operation.Selector; {
	case s.Operation != "":
		return w.service.actionsOf(ctx, s.Operation, w.at.Undone, sliceSize)
	case s.Filter != nil:
		return w.filtered(ctx)
	default:
		var out []target
		for _, id := range s.IDs[min(w.at.Index, len(s.IDs)):min(w.at.Index+sliceSize, len(s.IDs))] {
			out = append(out, target{entry: id})
		}
		return out, nil
	}
}

func (w *walk) filtered(ctx context.Context) ([]target, error) {
	page, err := w.service.Actions.Entries.Entries(ctx, *w.operation.Selector.Filter, EntryPageRequest{Limit: sliceSize, From: w.at.After})
	var out []target
	for _, e := range page.Entries {
		out = append(out, target{entry: e.ID, place: e.Cursor()})
	}
	return out, err
}

// interrupted reports whether the slice ends here: its time is over, or the operation was cancelled.
func (w *walk) interrupted(ctx context.Context) (bool, error) {
	now := w.service.Actions.Now()
	switch {
	case ctx.Err() != nil:
		return true, ctx.Err()
	case w.service.stopped(w.operation.ID), now.Sub(w.began) > sliceTime && len(w.items) > 0:
		return true, nil
	case now.Sub(w.looked) < lookEvery:
		return false, nil
	}
	w.looked = now
	d, err := w.service.Store.Action(ctx, w.operation.ID)
	return err == nil && !d.Open, err
}

// pace waits until the rate allows the n-th entry of the slice.
func (w *walk) pace(ctx context.Context, n int) error {
	if w.operation.Rate <= 0 || w.at.Number == 0 && n == 0 {
		return nil
	}
	t := time.NewTimer(time.Duration(float64(time.Second) / w.operation.Rate))
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
			return nil
		case <-time.After(lookEvery):
			if w.service.stopped(w.operation.ID) {
				return nil
			}
		}
	}
}

// act takes the action on one entry. What is refused is an item that is blocked; what fails otherwise stops the slice.
func (w *walk) act(ctx context.Context, t target) (Item, error) {
	o, id := w.operation, t.entry
	a, err := w.service.Actions.act(ctx, Request{Entry: id, Action: o.Action, Reason: o.Reason, Params: o.Params, Actor: o.Actor, Key: o.ID, Undoes: t.undoes}, o.ID)
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal):
		return Item{Entry: id, Status: ItemBlocked, Why: refusal.Why}, nil
	case errors.Is(err, lifecycle.ErrNotFound):
		return Item{Entry: id, Status: ItemBlocked, Why: noSuchEntry}, nil
	case err != nil:
		return Item{}, err
	}
	return itemOf(a), nil
}

// progress is the operation with what the slice did.
func (w *walk) progress(o Operation, at lifecycle.Micros) Operation {
	o.UpdatedAt = at
	if !o.StartedAt.Known() {
		o.StartedAt = lifecycle.MicrosOf(w.began)
	}
	for _, i := range w.items {
		o.note(i)
	}
	if o.Status.Ended() {
		return o
	}
	o.Status = ActionRunning
	if w.end {
		o.Status, o.EndedAt = ActionSucceeded, at
	}
	return o
}
