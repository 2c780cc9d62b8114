package api

import (
	"context"

	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/reconcile"
)

func (a *API) listReconciliations(ctx context.Context, in *PageQuery) (*reply[List[Reconciliation]], error) {
	service, err := a.reconciler()
	if err != nil {
		return nil, err
	}
	l, err := a.listRequest(ctx, *in)
	if err != nil {
		return nil, err
	}
	found, page, err := reconciliationPage(ctx, service, l)
	if err != nil {
		return nil, err
	}
	gaps := []GapRef{}
	rows := make([]Reconciliation, len(found))
	for i, r := range found {
		rows[i] = reconciliationOf(r)
	}
	if n := len(rows); n > 0 {
		if gaps, err = a.gapRefs(ctx, lifecycle.Micros(rows[n-1].Period.From), lifecycle.Micros(rows[0].Period.To)); err != nil {
			return nil, err
		}
	}
	return listReply(ctx, l, rows, page, gaps), nil
}

// reconciliationPage reads the page that a cursor asks for. Ids ascend with time, so a place is an id.
func reconciliationPage(ctx context.Context, service reconcile.Service, l listRequest) ([]reconcile.Run, Page, error) {
	if l.from != nil && l.from.Backward {
		return newerReconciliations(ctx, service, l)
	}
	before := ""
	if l.from != nil {
		before = l.from.Key
	}
	rows, err := service.List(ctx, before, l.limit+1)
	if err != nil || len(rows) == 0 {
		return nil, Page{}, err
	}
	more := len(rows) > l.limit
	rows = rows[:min(len(rows), l.limit)]
	return rows, l.around(rows, l.from != nil, more), nil
}

// newerReconciliations reads from the beginning to the place of the cursor: few are kept.
func newerReconciliations(ctx context.Context, service reconcile.Service, l listRequest) ([]reconcile.Run, Page, error) {
	var rows []reconcile.Run
	for before := ""; ; {
		part, err := service.List(ctx, before, maxLimit)
		if err != nil {
			return nil, Page{}, err
		}
		for _, r := range part {
			if r.ID <= l.from.Key {
				part = nil
				break
			}
			rows = append(rows, r)
		}
		if len(part) < maxLimit {
			break
		}
		before = part[len(part)-1].ID
	}
	if len(rows) == 0 {
		return nil, Page{}, nil
	}
	more := len(rows) > l.limit
	rows = rows[max(0, len(rows)-l.limit):]
	return rows, l.around(rows, more, true), nil
}

// around gives the cursors of a page: newer and older say whether there is something beyond.
func (l listRequest) around(rows []reconcile.Run, newer, older bool) Page {
	var p Page
	if newer {
		p.Prev = l.cursor(&query.Cursor{Key: rows[0].ID, Backward: true})
	}
	if older {
		p.Next = l.cursor(&query.Cursor{Key: rows[len(rows)-1].ID})
	}
	return p
}
