package api

import (
	"context"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/query"
)

// operationPage reads the page that a cursor asks for. The list goes forward only: what is new is read from its beginning.
func operationPage(ctx context.Context, service *dlqtriage.Operations, l listRequest) ([]dlqtriage.Operation, Page, error) {
	var from *decision.ActionPlace
	backward := false
	if l.from != nil {
		backward = l.from.Backward
		from = &decision.ActionPlace{CreatedAt: l.from.At, ID: l.from.Key, Newer: backward}
	}
	found, err := service.List(ctx, from, l.limit+1)
	if err != nil || len(found) == 0 {
		return nil, Page{}, err
	}
	more := len(found) > l.limit
	switch {
	case more && backward:
		found = found[1:]
	case more:
		found = found[:l.limit]
	}
	first, last := found[0], found[len(found)-1]
	return found, l.sides(query.Cursor{At: first.CreatedAt, Key: first.ID}, query.Cursor{At: last.CreatedAt, Key: last.ID}, more), nil
}
