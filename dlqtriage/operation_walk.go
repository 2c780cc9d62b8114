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
	index int          // Of the next id.
	after *EntryCursor // Of the last entry.
	end   bool         // There are no more.
}

// run acts on the entries of the slice, one after the other.
func (w *walk) run(ctx context.Context) error {
	w.index, w.after, w.looked = w.at.Index, w.at.After, w.began
	ids, cursors, err := w.entries(ctx)
	if err != nil {
		return err
	}
	for i, id := range ids {
		over, err := w.interrupted(ctx)
		if over || err != nil {
			return err
		}
		if err := w.pace(ctx, i); err != nil {
			return err
		}
		item, err := w.act(ctx, id)
		if err != nil {
			return err
		}
		w.items = append(w.items, item)
		w.index++
		if cursors != nil {
			w.after = &cursors[i]
		}
	}
	w.end = len(ids) < sliceSize
	return nil
}

// entries lists the ids of the slice, and their places where a filter selects them.
func (w *walk) entries(ctx context.Context) (ids []string, places []EntryCursor, err error) {
	if w.operation.Selector.Filter == nil {
		all := w.operation.Selector.IDs
		return all[min(w.index, len(all)):min(w.index+sliceSize, len(all))], nil, nil
	}
	page, err := w.service.Actions.Entries.Entries(ctx, *w.operation.Selector.Filter, EntryPageRequest{Limit: sliceSize, From: w.after})
	for _, e := range page.Entries {
		ids, places = append(ids, e.ID), append(places, EntryCursor{FailedAt: e.FailedAt, ID: e.ID})
	}
	return ids, places, err
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
func (w *walk) act(ctx context.Context, id string) (Item, error) {
	o := w.operation
	a, err := w.service.Actions.act(ctx, Request{Entry: id, Action: o.Action, Reason: o.Reason, Params: o.Params, Actor: o.Actor, Key: o.ID}, o.ID)
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal):
		return Item{Entry: id, Status: ItemBlocked, Why: refusal.Why}, nil
	case errors.Is(err, lifecycle.ErrNotFound):
		return Item{Entry: id, Status: ItemBlocked, Why: "There is no such entry."}, nil
	case err != nil:
		return Item{}, err
	}
	return itemOf(a), nil
}

// next is where the following slice begins.
func (w *walk) next() slice { return slice{Index: w.index, After: w.after} }

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
