package query

import (
	"cmp"
	"context"
	"slices"
	"time"

	"fleetglass/lifecycle"
)

// neighbourSpan is how far away in time a neighbour may be.
const neighbourSpan = time.Hour

// Neighbours are the tasks of the same agent whose last events lie nearest to that of a task.
type Neighbours struct {
	Filter lifecycle.Filter // Selects all that lie within the span, the task itself included.
	Rows   []TaskRow        // The nearest ones without the task itself, the latest first.
}

// Neighbours returns at most n tasks of the task's agent whose last event is nearest to its own, before or after it, within an hour.
// A task without an agent has none.
func (s *Service) Neighbours(ctx context.Context, t lifecycle.TaskSummary, n int) (Neighbours, error) {
	if t.Agent == "" {
		return Neighbours{}, nil
	}
	out := Neighbours{Filter: lifecycle.Filter{Agents: []string{t.Agent}, From: t.LastEventAt.Add(-neighbourSpan), To: t.LastEventAt.Add(neighbourSpan)}}
	here := out.Filter.Sort.Cursor(t)
	for _, backward := range []bool{true, false} {
		list, err := s.Tasks(ctx, out.Filter, lifecycle.Page{Limit: n, From: here, Backward: backward})
		if err != nil {
			return Neighbours{}, err
		}
		out.Rows = append(out.Rows, list.Rows...)
	}
	out.Rows = nearest(out.Rows, t.LastEventAt, n)
	return out, nil
}

// nearest keeps the n rows whose last event is nearest to an instant, in their order.
func nearest(rows []TaskRow, at lifecycle.Micros, n int) []TaskRow {
	if len(rows) <= n {
		return rows
	}
	far := func(r TaskRow) time.Duration { return r.LastEventAt.Sub(at).Abs() }
	byFar := slices.SortedStableFunc(slices.Values(rows), func(a, b TaskRow) int { return cmp.Compare(far(a), far(b)) })
	keep := map[string]bool{}
	for _, r := range byFar[:n] {
		keep[r.TaskID] = true
	}
	return slices.DeleteFunc(rows, func(r TaskRow) bool { return !keep[r.TaskID] })
}
