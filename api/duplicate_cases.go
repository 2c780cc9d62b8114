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

// CaseTasks are the tasks behind numbers of the ledger, as far as they are kept.
type CaseTasks struct {
	List[CaseTask]
	KeptSince Instant `json:"kept_since" doc:"Tasks of which nothing happened since then may have been deleted by --retention: they are not here, and the table still counts their duplicates. Null where none was deleted."`
}

func (a *API) listCases(ctx context.Context, in *TasksQuery) (*reply[CaseTasks], error) {
	l, wrongPage := a.listRequest(ctx, in.PageQuery)
	filter, wrongFilter := lifecycle.ParseFilter(l.values, l.base.Time())
	var noLayer error
	if len(filter.Layers) == 0 {
		noLayer = httperr.Parameter("layer", "name at least one of stream, idempotency, execution, unknown, conflict and semantic")
	}
	if err := together(wrongFilter, noLayer, wrongPage); err != nil {
		return nil, err
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
	body := CaseTasks{List: List[CaseTask]{Data: rows, Page: pageOf(l, found.TaskList), AsOf: Instant(l.now), Gaps: gaps}, KeptSince: Instant(found.KeptSince)}
	stable := body
	stable.AsOf, stable.Page = 0, Page{}
	return wholeReply(ctx, l, body.Page, body, stable), nil
}

func casesOf(found []lifecycle.Case) []DuplicateCase {
	out := make([]DuplicateCase, len(found))
	for i, c := range found {
		out[i] = caseOf(c)
	}
	return out
}
