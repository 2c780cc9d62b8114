package dlqtriage

import (
	"context"
	"fmt"
	"time"

	"fleetglass/lifecycle"
)

// DryRun judges what the request would do, and stores nothing. Unlike [Operations.Start] it needs neither reason nor key. It errors with a
// [*Refusal] where the request is wrong.
func (s *Operations) DryRun(ctx context.Context, r BulkRequest) (Operation, error) {
	now := s.Actions.now()
	o := Operation{Action: r.Action, Actor: r.Actor, CreatedAt: now, UpdatedAt: now, Bulk: true}
	o.OperationBody = OperationBody{Reason: r.Reason, Params: r.Params, Selector: r.Selector.frozen(now), DryRun: true, Rate: r.Rate}
	if err := together(checkAction(r.Action), r.checkSelection(), r.on("").checkParams(s.Actions.Policy(), now)); err != nil {
		return o, err
	}
	return o, s.dryRun(ctx, &o)
}

// dryRun judges every selected entry by its status and by why it died. Whether it was looked at, how often it was tried, and what its task, its payload and the reports
// say, is found out when it is acted on; of the first entries what they themselves say is taken into account.
func (s *Operations) dryRun(ctx context.Context, o *Operation) error {
	now := s.Actions.now()
	o.Status, o.StartedAt, o.EndedAt = ActionSucceeded, now, now
	switch {
	case o.Selector.Operation != "":
		return s.dryUndo(ctx, o)
	case o.Selector.Filter == nil:
		return s.dryIDs(ctx, o)
	}
	first, err := s.Actions.Entries.Entries(ctx, *o.Selector.Filter, EntryPageRequest{Limit: FirstItems})
	if err != nil {
		return fmt.Errorf("list the first entries: %w", err)
	}
	for _, e := range first.Entries {
		o.Items = append(o.Items, o.dryItem(e, s.Actions.Looks, s.Actions.Policy(), now))
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
		item := o.dryItem(e, nil, s.Actions.Policy(), now)
		if item.Status != ItemBlocked && o.byPlan() {
			o.Delays.add(strategyFor(e.Class).delays())
		}
		o.dry(item, g.Count)
	}
	return nil
}

// dryIDs judges entries that are named one by one.
func (s *Operations) dryIDs(ctx context.Context, o *Operation) error {
	for _, id := range o.Selector.IDs {
		item, err := s.dryTarget(ctx, o, target{entry: id})
		if err != nil {
			return err
		}
		o.dryOne(item)
	}
	return nil
}

// dryItem says whether an entry is eligible, by what it says itself.
func (o *Operation) dryItem(e Entry, looks Looks, p *Policy, now lifecycle.Micros) Item {
	blocked := statusObstacles(e, o.Action)
	plan := p.PlanFor(CaseOf(e, looks), now)
	if o.Action.Sends() {
		blocked = append(blocked, retryObstacles(plan, o.Params, o.Params.edits(o.Action))...)
	}
	if blocked = unforced(blocked, o.Params.Force); len(blocked) > 0 {
		return Item{Entry: e.ID, Status: ItemBlocked, Why: blocked[0].Why}
	}
	if o.byPlan() {
		o.Delays.add(plan.Delay, plan.Delay)
	}
	return Item{Entry: e.ID, Status: ItemQueued}
}

// byPlan reports whether each message is sent as its own plan says.
func (o *Operation) byPlan() bool {
	return o.Action.Sends() && (o.Params.As == "" || o.Params.As == AsPlan)
}

// Delays are how long after its turn the message of an entry is sent, from the shortest to the longest. The zero value says that none is sent by a plan.
type Delays struct {
	Known       bool
	Least, Most time.Duration
}

// add takes in the delays of other entries.
func (d *Delays) add(least, most time.Duration) {
	if d.Known {
		least, most = min(least, d.Least), max(most, d.Most)
	}
	*d = Delays{true, least, most}
}

// dryOne counts one entry that was looked at only, and keeps it where it is one of the first.
func (o *Operation) dryOne(i Item) {
	o.dry(i, 1)
	if len(o.Items) < FirstItems {
		o.Items = append(o.Items, i)
	}
}

// dry counts entries such as this one, which were looked at only.
func (o *Operation) dry(i Item, n int64) {
	o.refuse(i, n)
	o.Counts.Selected += n
	if i.Status == ItemBlocked {
		o.Counts.Blocked += n
	} else {
		o.Counts.Eligible += n
	}
}
