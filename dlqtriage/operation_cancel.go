package dlqtriage

import (
	"context"
	"errors"

	"fleetglass/decision"
)

// Cancel ends an operation: what was not begun is not done. An operation that has ended stays as it is. It errors with lifecycle.ErrNotFound
// where there is no such operation, and with a [*Refusal] for an action on one entry that no longer waits.
func (s *Operations) Cancel(ctx context.Context, id string, by decision.Actor, reason string) (Operation, error) {
	for n := 1; ; n++ {
		o, err := s.cancel(ctx, id, by, reason)
		if !errors.Is(err, decision.ErrConflict) || n == attempts {
			return o, err
		}
	}
}

func (s *Operations) cancel(ctx context.Context, id string, by decision.Actor, reason string) (Operation, error) {
	revision, err := s.Store.Revision(ctx, aboutOperation(id))
	if err != nil {
		return Operation{}, err
	}
	o, err := s.Get(ctx, id)
	if err != nil || o.Status.Ended() {
		return o, err
	}
	if !o.Bulk {
		return s.cancelOne(ctx, id, by, reason)
	}
	at := s.Actions.now()
	o.Status, o.EndedAt, o.UpdatedAt = ActionCancelled, at, at
	d := decision.Decision{ID: id + "/cancel", Subject: aboutOperation(id), Expected: revision, At: at}
	record := by.Record(d.ID, at, "cancel", decision.Allowed)
	record.Target, record.Reason = "operation "+id, reason
	d.Audit = []decision.AuditRecord{record}
	if d.Action, err = o.stored(); err != nil {
		return o, err
	}
	s.stop(id, true)
	if _, err := s.Store.Decide(ctx, d); err != nil {
		s.stop(id, false)
		return o, err
	}
	s.Changed(o)
	return o, nil
}

// cancelOne cancels the retry of one entry.
func (s *Operations) cancelOne(ctx context.Context, id string, by decision.Actor, reason string) (Operation, error) {
	a, err := s.Actions.Action(ctx, id)
	if err != nil {
		return Operation{}, err
	}
	if err := s.Actions.cancel(ctx, a, cancellation{by: by, reason: reason}); err != nil {
		return Operation{}, err
	}
	o, err := s.Get(ctx, id)
	if err == nil {
		s.Changed(o)
	}
	return o, err
}

// stop lets slices of this process end at once, or go on where the operation could not be cancelled.
func (s *Operations) stop(id string, now bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now {
		s.cancelled[id] = true
	} else {
		delete(s.cancelled, id)
	}
}

func (s *Operations) stopped(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cancelled[id]
}
