package api

import (
	"context"
	"errors"
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
	Layer string `query:"layer" doc:"Where the duplicates ended. Required."`
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
	found, f, gaps, err := a.taskPage(ctx, l, filter)
	if err != nil {
		return nil, err
	}
	rows := make([]CaseTask, 0, len(found.Tasks))
	for _, s := range found.Tasks {
		cases, err := a.casesOf(ctx, s.TaskID, layer)
		if err != nil {
			return nil, err
		}
		rows = append(rows, CaseTask{TaskRow: rowOf(s, f), Cases: cases})
	}
	return listReply(ctx, l, rows, pageOf(l, found), gaps), nil
}

// casesFilter narrows the filter of the request to the tasks of a layer.
func casesFilter(l listRequest, layer lifecycle.Layer) (lifecycle.Filter, error) {
	if !slices.Contains(lifecycle.Layers(), layer) {
		return lifecycle.Filter{}, httperr.Parameter("layer", "must be one of stream, idempotency, execution, unknown, conflict and semantic")
	}
	filter, err := lifecycle.ParseFilter(l.query, l.base.Time())
	if err != nil {
		return filter, err
	}
	cases := lifecycle.CasesFilter(layer)
	if len(cases.Anomalies) > 0 && len(filter.Anomalies) > 0 {
		return filter, httperr.Parameter("anomaly", "cannot narrow this layer, which is found by an anomaly itself")
	}
	filter.Anomalies = append(filter.Anomalies, cases.Anomalies...)
	filter.Duplicates = filter.Duplicates || cases.Duplicates
	return filter, nil
}

// casesOf finds the cases of a task. It has none when it was removed, or judged anew, since it was listed.
func (a *API) casesOf(ctx context.Context, id string, layer lifecycle.Layer) ([]DuplicateCase, error) {
	out := []DuplicateCase{}
	rec, err := a.cfg.Store.Task(ctx, id)
	if errors.Is(err, lifecycle.ErrNotFound) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	for _, c := range lifecycle.Ledger(rec.Facts) {
		if c.Layer == layer {
			out = append(out, caseOf(c))
		}
	}
	return out, nil
}
