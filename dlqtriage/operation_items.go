package dlqtriage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"fleetglass/decision"
	"fleetglass/lifecycle"
)

// ItemPlace is a place among the items of an operation: in which slice, and the how manieth there.
type ItemPlace struct{ Slice, Index int }

// String writes the place; [ParseItemPlace] reads it.
func (p ItemPlace) String() string { return fmt.Sprintf("%d.%d", p.Slice, p.Index) }

// ParseItemPlace reads what [ItemPlace.String] wrote.
func ParseItemPlace(text string) (p ItemPlace, err error) {
	if _, err = fmt.Sscanf(text, "%d.%d", &p.Slice, &p.Index); err == nil && (p.Slice < 0 || p.Index < 0) {
		err = errors.New("a place is not negative")
	}
	return p, err
}

// ItemQuery asks for items of an operation.
type ItemQuery struct {
	Status ItemStatus // Optional; only those of this status as they were when they were looked at.
	From   ItemPlace  // Where to begin; the zero value is the beginning.
	Limit  int        // Required.
}

// ItemPage is a part of the items of an operation, in the order in which they were acted on.
type ItemPage struct {
	Items []Item
	Next  *ItemPlace // Where to go on; nil at the end of what was acted on so far.
}

// maxSlices bounds how many slices are read for a page. A page may therefore be short, or empty, and still have a next one.
const maxSlices = 400

// Items lists the entries that an operation looked at, with what became of each. Of a dry run only the first [FirstItems] are known. It errors with
// lifecycle.ErrNotFound where there is no such operation.
func (s *Operations) Items(ctx context.Context, id string, q ItemQuery) (ItemPage, error) {
	o, err := s.Get(ctx, id)
	if err != nil {
		return ItemPage{}, err
	}
	if o.DryRun || !o.Bulk {
		return ofStatus(o.Items, q), nil
	}
	return s.sliceItems(ctx, &o, q)
}

// ofStatus is the page of items that are all at hand.
func ofStatus(items []Item, q ItemQuery) (out ItemPage) {
	for i, item := range items[min(q.From.Index, len(items)):] {
		if len(out.Items) == q.Limit {
			out.Next = &ItemPlace{Index: q.From.Index + i}
			return out
		}
		if q.takes(item) {
			out.Items = append(out.Items, item)
		}
	}
	return out
}

func (q ItemQuery) takes(i Item) bool { return q.Status == "" || q.Status == i.Status }

// sliceItems reads items from the slices, one after the other.
func (s *Operations) sliceItems(ctx context.Context, o *Operation, q ItemQuery) (out ItemPage, err error) {
	at := q.From
	for n := 0; ; n++ {
		items, settled, err := s.sliceResult(ctx, o.ID, at.Slice)
		if err != nil || !settled {
			return out, err
		}
		for ; at.Index < len(items); at.Index++ {
			if len(out.Items) == q.Limit || n == maxSlices {
				out.Next = &at
				return out, nil
			}
			if item := items[at.Index]; q.takes(item) {
				if err := s.followItem(ctx, o, &item); err != nil {
					return out, err
				}
				out.Items = append(out.Items, item)
			}
		}
		at = ItemPlace{Slice: at.Slice + 1}
	}
}

// sliceResult is what a slice did; settled is false where it has not ended, or where there is none.
func (s *Operations) sliceResult(ctx context.Context, operation string, number int) (items []Item, settled bool, err error) {
	e, err := s.Store.Effect(ctx, sliceID(operation, number))
	switch {
	case errors.Is(err, lifecycle.ErrNotFound):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("read slice: %w", err)
	case e.Status != decision.StatusDone:
		return nil, false, nil
	}
	return items, true, json.Unmarshal(e.Result, &items)
}
