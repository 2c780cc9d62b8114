package api

import (
	"context"

	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
)

// CaseTask is a task with its findings of some layers of the ledger.
type CaseTask struct {
	TaskRow
	Cases []DuplicateCase `json:"cases" nullable:"false" doc:"Of the layers asked for; the trace of the task has the others."`
}

func (a *API) listCases(ctx context.Context, in *TasksQuery) (*reply[List[CaseTask]], error) {
	l, err := a.listRequest(ctx, in.PageQuery)
	if err != nil {
		return nil, err
	}
	filter, err := lifecycle.ParseFilter(l.values, l.base.Time())
	if err != nil {
		return nil, err
	}
	if len(filter.Layers) == 0 {
		return nil, httperr.Parameter("layer", "name at least one of stream, idempotency, execution, unknown, conflict and semantic")
	}
	found, err := a.cfg.Query.Cases(ctx, filter, l.from.Page(l.limit))
	if err != nil {
		return nil, err
	}
	gaps, err := a.gapsOfList(ctx, found.TaskList, filter)
	if err != nil {
		return nil, err
	}
	rows := make([]CaseTask, len(found.Tasks))
	for i, t := range found.Tasks {
		rows[i] = CaseTask{TaskRow: rowOf(t.TaskRow), Cases: casesOf(t.Cases)}
	}
	return listReply(ctx, l, rows, pageOf(l, found.TaskList), gaps), nil
}

func casesOf(found []lifecycle.Case) []DuplicateCase {
	out := make([]DuplicateCase, len(found))
	for i, c := range found {
		out[i] = caseOf(c)
	}
	return out
}
