package api

import (
	"context"
	"fmt"
	"slices"

	"fleetglass/access"
	"fleetglass/dlqtriage"
	"fleetglass/internal/httperr"
	"fleetglass/query"
)

// OperationItemsQuery narrows the items of an operation.
type OperationItemsQuery struct {
	OperationInput
	Status string `query:"status" doc:"Only items of this status, as they were when they were looked at."`
	PageQuery
}

const itemsDetail = "In the order in which they were acted on; entries that were not begun are not among them. Of a dry run only the first 50 are known. With status a page may be " +
	"short, or empty, and still have a next one."

func (a *API) describeOperationItems() {
	register(a, call{
		id: "list-operation-items", needs: access.Read, path: Base + "/operations/{id}/items", tag: "triage", summary: "The entries of an operation",
		detail: itemsDetail, example: exampleOperationItems(), failures: []httperr.Code{httperr.InvalidCursor, httperr.NotFound},
	}, a.listOperationItems)
	enumerate(a, "/operations/{id}/items", "status", dlqtriage.ItemStatuses())
}

func (a *API) listOperationItems(ctx context.Context, in *OperationItemsQuery) (*reply[List[OperationItem]], error) {
	service, err := a.operator()
	if err != nil {
		return nil, err
	}
	l, wrongPage := a.listRequest(ctx, in.PageQuery)
	q := dlqtriage.ItemQuery{Status: dlqtriage.ItemStatus(in.Status), Limit: l.limit}
	var wrongStatus error
	if in.Status != "" && !slices.Contains(dlqtriage.ItemStatuses(), q.Status) {
		wrongStatus = httperr.Parameter("status", fmt.Sprintf("%q is none of %q", in.Status, dlqtriage.ItemStatuses()))
	}
	if err := together(wrongStatus, wrongPage); err != nil {
		return nil, err
	}
	if l.from != nil {
		if q.From, err = dlqtriage.ParseItemPlace(l.from.Key); err != nil {
			return nil, notOfThisList(err)
		}
	}
	found, err := service.Items(ctx, in.ID, q)
	if err != nil {
		return nil, err
	}
	page := Page{}
	if found.Next != nil {
		page.Next = l.cursor(&query.Cursor{Key: found.Next.String()})
	}
	rows := make([]OperationItem, len(found.Items))
	for i, item := range found.Items {
		rows[i] = itemOf(item)
	}
	return listReply(ctx, l, rows, page, []GapRef{}), nil
}
