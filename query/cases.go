package query

import (
	"context"
	"errors"
	"slices"

	"fleetglass/lifecycle"
)

// CaseTask is a task with its findings of some layers of the ledger.
type CaseTask struct {
	TaskRow
	Cases []lifecycle.Case
}

// CaseList is one page of tasks behind a number of the ledger.
type CaseList struct {
	TaskList
	Tasks     []CaseTask
	KeptSince lifecycle.Micros // Tasks that ended before may have been deleted ([Service.KeptSince]), and counts of duplicates still count theirs; zero where none was.
}

// Cases returns the tasks that a filter selects with their findings of the filter's layers. A task that was removed, or judged anew,
// since it was listed has no findings.
func (s *Service) Cases(ctx context.Context, f lifecycle.Filter, p lifecycle.Page) (CaseList, error) {
	list, err := s.Tasks(ctx, f, p)
	if err != nil {
		return CaseList{}, err
	}
	out := CaseList{TaskList: list, Tasks: make([]CaseTask, len(list.Rows))}
	if out.KeptSince, err = s.KeptSince(ctx); err != nil {
		return CaseList{}, err
	}
	for i, row := range list.Rows {
		out.Tasks[i].TaskRow = row
		if out.Tasks[i].Cases, err = s.casesOf(ctx, row.TaskID, f.Layers); err != nil {
			return out, err
		}
	}
	return out, nil
}

func (s *Service) casesOf(ctx context.Context, id string, layers []lifecycle.Layer) ([]lifecycle.Case, error) {
	rec, err := s.cfg.Store.Task(ctx, id)
	if errors.Is(err, lifecycle.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []lifecycle.Case
	for _, c := range lifecycle.Ledger(&rec.Facts) {
		if slices.Contains(layers, c.Layer) {
			out = append(out, c)
		}
	}
	return out, nil
}
