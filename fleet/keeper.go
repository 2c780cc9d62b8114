package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// keeper keeps a reservation while work goes on. It is not safe for concurrent use; [keeper.during] orders its own.
type keeper struct {
	reservations Reservations
	held         Reservation
}

// during works, and meanwhile renews at every turn, then calls beat (optional). The context of the work ends when the reservation is
// lost, and work that gave up for that reason errors with [ErrFenced]. A renewal that fails otherwise is tried again at the next turn.
// Without turns (every is 0) nothing is renewed.
func (k *keeper) during(ctx context.Context, every time.Duration, beat func(), work func(context.Context) (string, error)) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.turns(ctx, every, beat, cancel)
	}()
	summary, err := work(ctx)
	lost := errors.Is(context.Cause(ctx), ErrFenced)
	cancel(nil)
	<-done // No turn may follow the work.
	if err != nil && lost {
		err = fmt.Errorf("%w: %w", ErrFenced, err)
	}
	return summary, err
}

func (k *keeper) turns(ctx context.Context, every time.Duration, beat func(), cancel context.CancelCauseFunc) {
	if every <= 0 {
		return
	}
	for {
		if pause(ctx, every); ctx.Err() != nil {
			return
		}
		if err := k.renew(ctx); errors.Is(err, ErrFenced) {
			cancel(ErrFenced)
			return
		}
		if beat != nil && ctx.Err() == nil {
			beat()
		}
	}
}

func (k *keeper) renew(ctx context.Context) error {
	held, err := k.reservations.Renew(ctx, k.held)
	if err == nil {
		k.held = held
	}
	return err
}

// release gives the key back; that it is somebody else's by now is no error.
func (k *keeper) release(ctx context.Context) error {
	if err := k.reservations.Release(ctx, k.held); err != nil && !errors.Is(err, ErrFenced) {
		return err
	}
	return nil
}
