package query

import (
	"context"

	"fleetglass/lifecycle"
)

// TaskRow is a task of a list.
type TaskRow struct {
	lifecycle.TaskSummary
	MaxDeliver int // Of the newest message ([Consumers.Allowed]).
}

// TaskList is one page of tasks.
type TaskList struct {
	Rows []TaskRow
	Next *lifecycle.Cursor // Where the following page begins; nil at the end.
	Prev *lifecycle.Cursor // Where the page before begins, read backward; nil at the beginning.
}

// Tasks returns the tasks that a filter selects, in the order of its sort.
func (s *Service) Tasks(ctx context.Context, f lifecycle.Filter, p lifecycle.Page) (TaskList, error) {
	page, err := s.cfg.Store.ListTasks(ctx, f, p)
	if err != nil {
		return TaskList{}, err
	}
	consumers, err := s.Consumers(ctx)
	if err != nil {
		return TaskList{}, err
	}
	out := TaskList{Rows: make([]TaskRow, len(page.Tasks)), Next: page.Next, Prev: page.Prev}
	for i, t := range page.Tasks {
		out.Rows[i] = TaskRow{TaskSummary: t, MaxDeliver: consumers.Allowed(t)}
	}
	return out, nil
}

// Span is the time that the rows of a list cover: from the earliest publish or last event among them, within the span of the filter.
func (l TaskList) Span(f lifecycle.Filter) (from, to lifecycle.Micros) {
	from, to = f.From, f.To
	for _, t := range l.Rows {
		for _, at := range []lifecycle.Micros{t.PublishedAt, t.LastEventAt} {
			if at.Known() && (!from.Known() || at < from) {
				from = at
			}
		}
	}
	return from, to
}
