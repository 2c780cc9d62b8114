package query

import (
	"context"
	"errors"

	"fleetglass/lifecycle"
)

// Bounds of the search for leases. An open message costs about ten microseconds, a task that is read by its id a hundred.
const (
	openLimit = 5000 // Open messages, oldest first.
	heldLimit = 2000 // With more open messages than that: tasks that a worker has, and as many exhausted ones, the newest first.
)

// openMessages reads the open messages, the oldest first. If there are more than openLimit, it finds those of the rest that a worker has
// by the states of their tasks.
func (s *Service) openMessages(ctx context.Context) (open []lifecycle.OpenMessage, more bool, err error) {
	open, err = s.cfg.Store.OpenMessages(ctx, lifecycle.StreamID{}, 0, openLimit+1)
	if err != nil || len(open) <= openLimit {
		return open, false, err
	}
	held, err := s.heldBeyond(ctx, open)
	return append(open, held...), true, err
}

// heldBeyond finds the newest messages of the tasks that a worker has, or had until the deadline, except those already found.
func (s *Service) heldBeyond(ctx context.Context, found []lifecycle.OpenMessage) ([]lifecycle.OpenMessage, error) {
	known := make(map[lifecycle.MessageKey]bool, len(found))
	for _, o := range found {
		known[o.Message.Key] = true
	}
	tasks, err := s.tasksHeld(ctx)
	if err != nil {
		return nil, err
	}
	var out []lifecycle.OpenMessage
	for _, t := range tasks {
		if known[t.Message] {
			continue
		}
		rec, err := s.cfg.Store.Task(ctx, t.TaskID)
		if errors.Is(err, lifecycle.ErrNotFound) {
			continue // Removed meanwhile.
		}
		if err != nil {
			return nil, err
		}
		out = append(out, newest(rec)...)
	}
	return out, nil
}

// tasksHeld lists tasks whose newest message somebody may have.
func (s *Service) tasksHeld(ctx context.Context) ([]lifecycle.TaskSummary, error) {
	var out []lifecycle.TaskSummary
	inHand := append(lifecycle.StatesThat(lifecycle.State.InFlight), lifecycle.StateFailed)
	for _, states := range [][]lifecycle.State{inHand, {lifecycle.StateExhausted}} {
		page, err := s.cfg.Store.ListTasks(ctx, lifecycle.Filter{States: states}, lifecycle.Page{Limit: heldLimit})
		if err != nil {
			return nil, err
		}
		for _, t := range page.Tasks {
			if t.MayBeHeld() {
				out = append(out, t)
			}
		}
	}
	return out, nil
}

// newest is the newest message of a task.
func newest(rec lifecycle.TaskRecord) []lifecycle.OpenMessage {
	for _, m := range rec.Messages {
		if m.Key == rec.Summary.Message {
			return []lifecycle.OpenMessage{{Message: m, Task: rec.Facts}}
		}
	}
	return nil
}
