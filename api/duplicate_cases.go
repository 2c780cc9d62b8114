package api

import (
	"context"
	"slices"

	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
)

// CaseTask is a task with its findings of one layer of the ledger.
type CaseTask struct {
	TaskRow
	Cases []DuplicateCase `json:"cases" nullable:"false" doc:"Of the layer asked for; the trace of the task has the others."`
}

// CasesQuery is the query of the tasks behind a number of the ledger.
type CasesQuery struct {
	TasksQuery
	Layer string `query:"layer" doc:"Where the duplicates ended."`
}

func (a *API) listCases(ctx context.Context, in *CasesQuery) (*reply[List[CaseTask]], error) {
	l, err := a.listRequest(ctx, in.PageQuery)
	if err != nil {
		return nil, err
	}
	layer := lifecycle.Layer(in.Layer)
	filter, err := casesFilter(l, layer)
	if err != nil {
		return nil, err
	}
	found, err := a.cfg.Query.Cases(ctx, layer, filter, l.from.Page(l.limit))
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

// casesFilter narrows the filter of the request to the tasks of a layer.
func casesFilter(l listRequest, layer lifecycle.Layer) (lifecycle.Filter, error) {
	if !slices.Contains(lifecycle.Layers(), layer) {
		return lifecycle.Filter{}, httperr.Parameter("layer", "must be one of stream, idempotency, execution, unknown, conflict and semantic")
	}
	filter, err := lifecycle.ParseFilter(l.values, l.base.Time())
	if err != nil {
		return filter, err
	}
	cases := lifecycle.CasesFilter(layer)
	if len(cases.Anomalies) > 0 && len(filter.Anomalies) > 0 {
		return filter, httperr.Parameter("anomaly", "cannot be given with this layer, which is found by an anomaly of its own")
	}
	filter.Anomalies = append(filter.Anomalies, cases.Anomalies...)
	filter.Duplicates = filter.Duplicates || cases.Duplicates
	return filter, nil
}
