package dlqtriage

import (
	"context"
	"errors"
	"fmt"

	"fleetglass/lifecycle"
)

// dryRun judges every selected entry by its status and by why it died. How often it was tried, and what its task, its payload and the reports
// say, is found out when it is acted on; of the first entries what they themselves say is taken into account.
func (s *Operations) dryRun(ctx context.Context, o *Operation) error {
	now := s.Actions.now()
	o.Status, o.StartedAt, o.EndedAt = ActionSucceeded, now, now
	if o.Selector.Filter == nil {
		return s.dryIDs(ctx, o)
	}
	first, err := s.Actions.Entries.Entries(ctx, *o.Selector.Filter, EntryPageRequest{Limit: FirstItems})
	if err != nil {
		return fmt.Errorf("list the first entries: %w", err)
	}
	for _, e := range first.Entries {
		o.Items = append(o.Items, o.dryItem(e, s.Actions.Policy(), now))
	}
	return s.dryGroups(ctx, o, now)
}

// maxClasses bounds the groups of entries that have the same status and class: there are a few dozen.
const maxClasses = 10_000

// dryGroups counts the selected entries by what they have in common, so that it takes no longer for many.
func (s *Operations) dryGroups(ctx context.Context, o *Operation, now lifecycle.Micros) error {
	by := []GroupField{ByStatus, ByCategory, ByDetail, ByKind}
	groups, err := s.Actions.Entries.EntryGroups(ctx, *o.Selector.Filter, by, now, maxClasses)
	if err != nil {
		return fmt.Errorf("count entries by class: %w", err)
	}
	for _, g := range groups {
		e := Entry{Status: Status(g.Values[0]), Class: Class{Category: Category(g.Values[1]), Detail: g.Values[2], Kind: Kind(g.Values[3])}}
		o.dry(o.dryItem(e, s.Actions.Policy(), now).Status, g.Count)
	}
	return nil
}

// dryIDs judges entries that are named one by one.
func (s *Operations) dryIDs(ctx context.Context, o *Operation) error {
	for _, id := range o.Selector.IDs {
		e, err := s.Actions.Entries.Entry(ctx, id)
		item := Item{Entry: id, Status: ItemBlocked, Why: "There is no such entry."}
		switch {
		case err == nil:
			item = o.dryItem(e, s.Actions.Policy(), s.Actions.now())
		case !errors.Is(err, lifecycle.ErrNotFound):
			return fmt.Errorf("read entry: %w", err)
		}
		o.dry(item.Status, 1)
		if len(o.Items) < FirstItems {
			o.Items = append(o.Items, item)
		}
	}
	return nil
}

// dryItem says whether an entry is eligible, by what it says itself.
func (o *Operation) dryItem(e Entry, p *Policy, now lifecycle.Micros) Item {
	blocked := statusObstacles(e, o.Action)
	if o.Action.Sends() {
		blocked = append(blocked, retryObstacles(p.PlanFor(CaseOf(e), now), o.Action, o.Params)...)
	}
	if blocked = unforced(blocked, o.Params.Force); len(blocked) > 0 {
		return Item{Entry: e.ID, Status: ItemBlocked, Why: blocked[0].Why}
	}
	return Item{Entry: e.ID, Status: ItemQueued}
}

// dry counts entries that were looked at only.
func (o *Operation) dry(s ItemStatus, n int64) {
	o.Counts.Selected += n
	if s == ItemBlocked {
		o.Counts.Blocked += n
	} else {
		o.Counts.Eligible += n
	}
}
