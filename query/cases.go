package query

import (
	"context"
	"errors"

	"fleetglass/lifecycle"
)

// CaseTask is a task with its findings of one layer of the ledger.
type CaseTask struct {
	TaskRow
	Cases []lifecycle.Case
}

// CaseList is one page of tasks behind a number of the ledger.
type CaseList struct {
	TaskList
	Tasks []CaseTask
}

// Cases returns the tasks that a filter selects with their findings of a layer. The filter is that of [lifecycle.CasesFilter], narrowed
// or not. A task that was removed, or judged anew, since it was listed has no findings.
func (s *Service) Cases(ctx context.Context, layer lifecycle.Layer, f lifecycle.Filter, p lifecycle.Page) (CaseList, error) {
	list, err := s.Tasks(ctx, f, p)
	if err != nil {
		return CaseList{}, err
	}
	out := CaseList{TaskList: list, Tasks: make([]CaseTask, len(list.Rows))}
	for i, row := range list.Rows {
		out.Tasks[i].TaskRow = row
		if out.Tasks[i].Cases, err = s.casesOf(ctx, row.TaskID, layer); err != nil {
			return out, err
		}
	}
	return out, nil
}

func (s *Service) casesOf(ctx context.Context, id string, layer lifecycle.Layer) ([]lifecycle.Case, error) {
	rec, err := s.cfg.Store.Task(ctx, id)
	if errors.Is(err, lifecycle.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []lifecycle.Case
	for _, c := range lifecycle.Ledger(&rec.Facts) {
		if c.Layer == layer {
			out = append(out, c)
		}
	}
	return out, nil
}
