package web

import (
	"context"
	"net/url"
	"time"

	"fleetglass/dlqtriage"
	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
	"fleetglass/views"
)

// maxTasksSelected is of how many tasks at once the dead letters are looked up. What is more is selected in the DLQ, by a filter.
const maxTasksSelected = 1000

// readTasks reads a selection of tasks: their dead letters that are open, and that were when the reader first asked. One that dies meanwhile was not seen.
func (w *Web) readTasks(ctx context.Context, r *bulkRequest, v url.Values) error {
	filter, err := url.ParseQuery(v.Get("tasks"))
	if err != nil {
		return httperr.Parameter("tasks", "is no list of parameters")
	}
	before := w.now()
	if text := v.Get("before"); text != "" {
		if before, err = lifecycle.ParseInstant(text, w.now().Time()); err != nil {
			return httperr.Parameter("before", err.Error())
		}
	}
	s := views.BulkSelection{OfTasks: true, Filter: v.Get("tasks"), All: v.Get("matching") == "all", Before: before.Time().UTC().Format(time.RFC3339Nano), Href: address("/tasks", filter)}
	tasks := unique(v["id"])
	if s.All {
		if tasks, err = w.tasksMatching(ctx, filter); err != nil {
			return err
		}
	} else {
		s.IDs = tasks
	}
	switch {
	case len(tasks) == 0:
		return httperr.Parameter("id", "tick rows of the list, or select all that match")
	case len(tasks) > maxTasksSelected:
		return httperr.Parameter("id", "more than "+views.Count(maxTasksSelected)+" tasks are selected: narrow the list, or select their dead letters in the DLQ")
	}
	without, err := w.openOf(ctx, r, tasks, before)
	if err != nil {
		return err
	}
	s.Words = taskSelectionWords(len(r.Selector.IDs), len(tasks), without, s.All)
	r.selection = s
	if len(r.Selector.IDs) == 0 && r.wrong == "" {
		r.wrong = "There is nothing to act on. A dead letter that was retried, deferred or discarded is decided about: it is not open."
	}
	return nil
}

// tasksMatching are the ids of the tasks that a filter selects, at most one more than may be selected.
func (w *Web) tasksMatching(ctx context.Context, v url.Values) ([]string, error) {
	f, err := lifecycle.ParseFilter(v, w.now().Time())
	if err != nil {
		return nil, err
	}
	list, err := w.cfg.Query.Tasks(ctx, f, lifecycle.Page{Limit: maxTasksSelected + 1})
	out := make([]string, len(list.Rows))
	for i, t := range list.Rows {
		out[i] = t.TaskID
	}
	return out, err
}

// openOf selects the open dead letters of tasks. without is how many of the tasks have none.
func (w *Web) openOf(ctx context.Context, r *bulkRequest, tasks []string, before lifecycle.Micros) (without int, err error) {
	for _, id := range tasks {
		entries, err := w.cfg.Query.EntriesOf(ctx, id)
		if err != nil {
			return 0, err
		}
		n := len(r.Selector.IDs)
		for _, e := range entries {
			if e.Status == dlqtriage.StatusOpen && e.FailedAt < before {
				r.Selector.IDs = append(r.Selector.IDs, e.ID)
			}
		}
		if len(r.Selector.IDs) == n {
			without++
		}
	}
	return without, nil
}

// taskSelectionWords say what is selected where tasks were, and how many of them have nothing to act on.
func taskSelectionWords(letters, tasks, without int, all bool) string {
	how := "that you ticked"
	if all {
		how = "that match"
	}
	of := counted(int64(tasks), "task", "tasks") + " " + how
	switch {
	case letters == 0 && tasks == 1:
		return "The task " + how + " has no open dead letter."
	case letters == 0:
		return "None of the " + of + " has an open dead letter."
	}
	words := counted(int64(letters), "open dead letter", "open dead letters") + " of the " + of + "."
	if without > 0 {
		words += " " + counted(int64(without), "task has", "tasks have") + " none."
	}
	return words
}
