package dlqtriage

import (
	"cmp"
	"context"
	"errors"
	"time"

	"fleetglass/lifecycle"

	"golang.org/x/sync/errgroup"
)

// walk is the work of one slice.
type walk struct {
	service   *Operations
	operation Operation // As it was when the slice began.
	at        slice
	again     bool // Somebody had the slice before, and may have acted on some of its entries.
	began     time.Time
	listed    time.Time // When it was known which entries it is about: a list may take long on a busy machine.
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
	retry  bool         // That action is a retry.
}

// withdraws reports whether to act on the target means to cancel its retry.
func (t target) withdraws(action ActionKind) bool { return t.retry && action == ActionReopen }

// noSuchEntry is why an entry that somebody named is not acted on.
const noSuchEntry = "There is no such entry."

// actsAtOnce is how many entries of a slice are decided at once: a store commits together those that wait.
const actsAtOnce = 8

// run acts on the entries of the slice. They begin in their order; all that began have ended when it returns.
func (w *walk) run(ctx context.Context) error {
	targets, err := w.targets(ctx)
	if err != nil {
		return err
	}
	var before []Item
	if w.again && w.operation.Selector.Filter != nil {
		if before, err = w.actedBefore(ctx, targets); err != nil {
			return err
		}
	}
	w.listed = w.service.Actions.Now()
	w.looked = w.listed
	w.items = make([]Item, len(targets))
	acts, acting := errgroup.WithContext(ctx)
	acts.SetLimit(actsAtOnce)
	begun, stop := 0, error(nil)
	for n, t := range targets {
		var over bool
		if over, stop = w.begin(acting, n); over || stop != nil {
			break
		}
		begun = n + 1
		acts.Go(func() (err error) {
			w.items[n], err = w.act(acting, t)
			return err
		})
	}
	if err := acts.Wait(); err != nil || stop != nil {
		return cmp.Or(err, stop)
	}
	w.reached(targets, begun)
	w.items = append(before, w.items...)
	return nil
}

// recount finds what whoever had the slice before did, where the operation was cancelled since. It acts on nothing.
func (w *walk) recount(ctx context.Context) (err error) {
	if w.items, err = w.actedBefore(ctx, nil); err != nil || w.operation.Selector.Operation == "" {
		return err
	}
	targets, err := w.targets(ctx)
	if err != nil {
		return err
	}
	for _, t := range targets {
		if !t.withdraws(w.operation.Action) {
			continue
		}
		switch a, err := w.service.Actions.Action(ctx, t.undoes); {
		case err != nil:
			return err
		case a.UndoneBy == w.operation.ID:
			w.items = append(w.items, Item{Entry: t.entry, Status: ItemDone})
		}
	}
	return nil
}

// actedBefore are the entries on which whoever had the slice before acted and which are none of the targets: to act may take an entry out of a filter.
func (w *walk) actedBefore(ctx context.Context, targets []target) (items []Item, err error) {
	known := map[string]bool{}
	for _, t := range targets {
		known[t.entry] = true
	}
	for n := range w.at.Number {
		settled, _, err := w.service.sliceResult(ctx, w.operation.ID, n)
		if err != nil {
			return nil, err
		}
		for _, i := range settled {
			known[i.Entry] = true
		}
	}
	for after := ""; ; {
		found, err := w.service.actionsOf(ctx, w.operation.ID, after, mostSlice)
		if err != nil || len(found) == 0 {
			return items, err
		}
		for _, t := range found {
			if after = t.undoes; known[t.entry] {
				continue
			}
			item, err := w.act(ctx, target{entry: t.entry})
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
	}
}

// begin waits until the n-th entry may begin. It reports that the slice ends before it.
func (w *walk) begin(ctx context.Context, n int) (over bool, err error) {
	if over, err = w.interrupted(ctx, n); over || err != nil {
		return over, err
	}
	return false, w.pace(ctx, n)
}

// reached notes that the first n entries were acted on, and where the next slice begins.
func (w *walk) reached(targets []target, n int) {
	w.items, w.end = w.items[:n], n == len(targets) && n < w.size()
	w.next = slice{Index: w.at.Index + n, Size: min(max(2*n, leastSlice), mostSlice), After: w.at.After, Undone: w.at.Undone}
	if n > 0 {
		w.next.After, w.next.Undone = targets[n-1].place, targets[n-1].undoes
	}
}

// size is how many entries are listed: twice as many as the slice before acted on, so that little is read for nothing.
func (w *walk) size() int { return cmp.Or(w.at.Size, leastSlice) }

// targets lists the entries of the slice.
func (w *walk) targets(ctx context.Context) ([]target, error) {
	switch s := w.operation.Selector; {
	case s.Operation != "":
		return w.service.actionsOf(ctx, s.Operation, w.at.Undone, w.size())
	case s.Filter != nil:
		return w.filtered(ctx)
	default:
		var out []target
		for _, id := range s.IDs[min(w.at.Index, len(s.IDs)):min(w.at.Index+w.size(), len(s.IDs))] {
			out = append(out, target{entry: id})
		}
		return out, nil
	}
}

func (w *walk) filtered(ctx context.Context) ([]target, error) {
	page, err := w.service.Actions.Entries.Entries(ctx, *w.operation.Selector.Filter, EntryPageRequest{Limit: w.size(), From: w.at.After})
	var out []target
	for _, e := range page.Entries {
		out = append(out, target{entry: e.ID, place: e.Cursor()})
	}
	return out, err
}

// interrupted reports whether the slice ends before its n-th entry: its time is over, or the operation was cancelled.
func (w *walk) interrupted(ctx context.Context, n int) (bool, error) {
	now := w.service.Actions.Now()
	switch {
	case ctx.Err() != nil:
		return true, ctx.Err()
	case w.service.stopped(w.operation.ID), now.Sub(w.listed) > sliceTime && n > 0:
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
	o := w.operation
	if t.withdraws(o.Action) {
		item, err := w.service.withdraw(ctx, o, t)
		return itemOr(item, err)
	}
	a, err := w.service.Actions.act(ctx, Request{Entry: t.entry, Action: o.Action, Reason: o.Reason, Params: o.Params, Actor: o.Actor, Key: o.ID, Undoes: t.undoes}, o.ID)
	if err == nil {
		return itemOf(a), nil
	}
	return itemOr(Item{Entry: t.entry}, err)
}

// itemOr is the item, or one that is blocked where the error says that the action is not possible.
func itemOr(i Item, err error) (Item, error) {
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal):
		return Item{Entry: i.Entry, Status: ItemBlocked, Why: refusal.Why}, nil
	case errors.Is(err, lifecycle.ErrNotFound):
		return Item{Entry: i.Entry, Status: ItemBlocked, Why: noSuchEntry}, nil
	}
	return i, err
}

// progress is the operation with what the slice did.
func (w *walk) progress(o Operation, at lifecycle.Micros) Operation {
	o.UpdatedAt = at
	if acted := len(w.items) > 0 || !o.Status.Ended(); acted && !o.StartedAt.Known() {
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
