package query

import (
	"context"
	"errors"

	"fleetglass/lifecycle"
)

// Events returns events of a task ordered by time and id, at most limit, those strictly after the given position.
func (s *Service) Events(ctx context.Context, taskID string, after lifecycle.EventPosition, limit int) ([]lifecycle.Event, error) {
	return s.cfg.Store.Events(ctx, taskID, after, limit)
}

// Event returns one event of a task, or an error that wraps [lifecycle.ErrNotFound].
func (s *Service) Event(ctx context.Context, taskID string, id lifecycle.EventID) (lifecycle.Event, error) {
	return s.cfg.Store.Event(ctx, taskID, id)
}

// Task returns what is known of a task with the gaps that concern it, as [Service.Trace] finds them, or an error that wraps
// [lifecycle.ErrNotFound].
func (s *Service) Task(ctx context.Context, id string) (lifecycle.TaskRecord, []lifecycle.Gap, error) {
	record, err := s.task(ctx, id)
	if err != nil {
		return record, nil, err
	}
	gaps, err := s.gapsOf(ctx, record, s.now())
	return record, gaps, err
}

// task reads a task by its id, else by the name that its publisher gave it: a name that is too long or has control characters is kept in another
// form, which the summary has.
func (s *Service) task(ctx context.Context, id string) (lifecycle.TaskRecord, error) {
	record, err := s.cfg.Store.Task(ctx, id)
	if s.cfg.TaskName == nil || !errors.Is(err, lifecycle.ErrNotFound) {
		return record, err
	}
	if kept := s.cfg.TaskName(id); kept != id && kept != "" {
		return s.cfg.Store.Task(ctx, kept)
	}
	return record, err
}

// TaskOf returns the id of the task that a message is shown under, or an error that wraps [lifecycle.ErrNotFound].
func (s *Service) TaskOf(ctx context.Context, k lifecycle.MessageKey) (string, error) {
	return s.cfg.Store.TaskOf(ctx, k)
}

// Payload returns the body of a stored message, or an error that wraps [lifecycle.ErrNotFound].
func (s *Service) Payload(ctx context.Context, k lifecycle.MessageKey) (lifecycle.Payload, error) {
	return s.cfg.Store.Payload(ctx, k)
}
