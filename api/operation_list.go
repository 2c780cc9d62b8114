package api

import (
	"context"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/query"
)

// operationPage reads the page that a cursor asks for. The list goes forward only: what is new is read from its beginning.
func operationPage(ctx context.Context, service *dlqtriage.Operations, l listRequest) ([]dlqtriage.Operation, Page, error) {
	var before *decision.ActionPlace
	if l.from != nil {
		before = &decision.ActionPlace{CreatedAt: l.from.At, ID: l.from.Key}
	}
	found, err := service.List(ctx, before, l.limit+1)
	if err != nil || len(found) <= l.limit {
		return found, Page{}, err
	}
	found = found[:l.limit]
	last := found[l.limit-1]
	return found, Page{Next: l.cursor(&query.Cursor{At: last.CreatedAt, Key: last.ID})}, nil
}
