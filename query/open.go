package query

import (
	"context"
	"errors"
	"slices"

	"fleetglass/lifecycle"
)

// Bounds of the search for leases. An open message costs about ten microseconds, a task that is read by its id a hundred.
const (
	openChunk = 5000   // Open messages that are read at once.
	openLimit = 60_000 // Open messages that are looked at, the oldest of each stream first.
	heldLimit = 2000   // With more open messages than that: tasks that a worker has, and as many exhausted ones, the newest first.
)

// eachOpen visits the open messages, those of each stream the oldest first. If there are more than openLimit, it finds those of the rest that a worker has by the
// states of their tasks, and says that there are more.
func (s *Service) eachOpen(ctx context.Context, consumers Consumers, visit func(lifecycle.OpenMessage)) (more bool, err error) {
	open, err := s.cfg.Store.OpenMessages(ctx, lifecycle.StreamID{}, 0, openChunk+1)
	if err != nil {
		return false, err
	}
	if len(open) <= openChunk {
		for _, o := range open {
			visit(o)
		}
		return false, nil
	}
	known := map[lifecycle.MessageKey]bool{}
	note := func(o lifecycle.OpenMessage) {
		known[o.Message.Key] = true
		visit(o)
	}
	if more, err = s.eachOpenByStream(ctx, streamsOf(open, consumers), note); err != nil || !more {
		return more, err
	}
	held, err := s.heldBeyond(ctx, known)
	for _, o := range held {
		visit(o)
	}
	return true, err
}

// eachOpenByStream visits open messages in chunks, so that many of them take little memory.
func (s *Service) eachOpenByStream(ctx context.Context, streams []lifecycle.StreamID, visit func(lifecycle.OpenMessage)) (more bool, err error) {
	left := openLimit
	for _, stream := range streams {
		for from := uint64(0); ; {
			if left == 0 {
				return true, nil
			}
			chunk, err := s.cfg.Store.OpenMessages(ctx, stream, from, min(openChunk, left))
			if err != nil {
				return false, err
			}
			for _, o := range chunk {
				visit(o)
				from = o.Message.Key.Seq + 1
			}
			if left -= len(chunk); len(chunk) < openChunk {
				break
			}
		}
	}
	return false, nil
}

// streamsOf are the streams of messages and of consumers, each once, in their order.
func streamsOf(open []lifecycle.OpenMessage, consumers Consumers) (out []lifecycle.StreamID) {
	add := func(id lifecycle.StreamID) {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	for _, o := range open {
		add(o.Message.Key.Stream)
	}
	for _, c := range consumers.All {
		add(c.Stream)
	}
	return out
}

// heldBeyond finds the newest messages of the tasks that a worker has, or had until the deadline, except those already found.
func (s *Service) heldBeyond(ctx context.Context, known map[lifecycle.MessageKey]bool) ([]lifecycle.OpenMessage, error) {
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
