package query

import (
	"context"
	"errors"
	"time"

	"fleetglass/lifecycle"
	"fleetglass/restarts"
)

// RestartReader is what the questions about restarts read: that of [restarts.Store].
type RestartReader interface {
	Restart(ctx context.Context, id string) (restarts.Restart, error)
	Restarts(ctx context.Context, open bool, limit int) ([]restarts.Restart, error)
}

const (
	restartsShown = 20 // Restarts of which anything is said, the latest ones.
	restartsAge   = time.Second
)

// Restarts returns the latest times that something went away with messages in hand, the latest first; none where this server does not look for them.
func (s *Service) Restarts(ctx context.Context) ([]restarts.Restart, error) {
	if s.cfg.Restarts == nil {
		return nil, nil
	}
	return ask(ctx, s.cache, "restarts", restartsAge, func(ctx context.Context, _ lifecycle.Micros) ([]restarts.Restart, error) {
		return s.cfg.Restarts.Restarts(ctx, false, restartsShown)
	})
}

// Restart returns one of them, or an error that wraps [lifecycle.ErrNotFound].
func (s *Service) Restart(ctx context.Context, id string) (restarts.Restart, error) {
	if s.cfg.Restarts == nil {
		return restarts.Restart{}, lifecycle.ErrNotFound
	}
	return s.cfg.Restarts.Restart(ctx, id)
}

// restartsOf returns those of the latest ones in which a message of the task was in hand.
func (s *Service) restartsOf(ctx context.Context, task string) (out []restarts.Restart, err error) {
	all, err := s.Restarts(ctx)
	for _, r := range all {
		for _, v := range r.Victims {
			if v.TaskID == task {
				out = append(out, r)
				break
			}
		}
	}
	return out, err
}

// LastRecovered is the latest restart that is over; nil where none is known.
func LastRecovered(all []restarts.Restart) *restarts.Restart {
	for i := range all {
		if all[i].Over() {
			return &all[i]
		}
	}
	return nil
}

// RestartLook is what is in hand now, for who looks for restarts.
func (s *Service) RestartLook(ctx context.Context) (restarts.Look, error) {
	held, err := s.InFlight(ctx)
	return restarts.Look{At: held.AsOf, Leases: held.Leases, Partial: held.Partial}, err
}

// MessageFacts are the facts of one message; found is false where nothing is kept of it.
func (s *Service) MessageFacts(ctx context.Context, k lifecycle.MessageKey) (m lifecycle.MessageFacts, found bool, err error) {
	task, err := s.cfg.Store.TaskOf(ctx, k)
	if errors.Is(err, lifecycle.ErrNotFound) {
		return m, false, nil
	}
	if err != nil {
		return m, false, err
	}
	record, err := s.cfg.Store.Task(ctx, task)
	if errors.Is(err, lifecycle.ErrNotFound) {
		return m, false, nil
	}
	for _, m := range record.Messages {
		if m.Key == k {
			return m, true, err
		}
	}
	return m, false, err
}
