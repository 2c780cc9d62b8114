package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// Renew implements [Reservations].
func (k *KVReservations) Renew(ctx context.Context, r Reservation) (Reservation, error) {
	next := r
	next.ExpiresAt = k.until(r.Claim)
	if err := k.write(ctx, &next, nil); err != nil {
		return r, fmt.Errorf("renew reservation: %w", err)
	}
	return next, nil
}

// Confirm implements [Reservations]. The completion is written into the reservation first, which decides; then as the record, which
// whoever asks next makes up for when this process dies in between.
func (k *KVReservations) Confirm(ctx context.Context, r Reservation, completion Record) (Record, error) {
	completion.TaskID, completion.IdempotencyKey = r.Claim.TaskID, r.Claim.IdempotencyKey
	completion, err := asRead(completion)
	if err != nil {
		return Record{}, fmt.Errorf("confirm: %w", err)
	}
	var before *confirmedError
	switch err := k.write(ctx, &r, &completion); {
	case errors.As(err, &before): // This very holder did, and never heard of it.
		completion = before.Record
	case err != nil:
		return Record{}, fmt.Errorf("confirm: %w", err)
	}
	if err := k.records.ensure(ctx, completion); err != nil {
		return Record{}, fmt.Errorf("confirm: %w", err)
	}
	return completion, nil
}

// Release implements [Reservations].
func (k *KVReservations) Release(ctx context.Context, r Reservation) error {
	key := ReservationKey(r.Claim.TaskID, r.Claim.IdempotencyKey)
	err := k.hold(ctx, &r, func() error { return k.kv.Delete(ctx, key, jetstream.LastRevision(r.Revision)) })
	if err != nil {
		return fmt.Errorf("release reservation: %w", err)
	}
	return nil
}

// write replaces the reservation while it is still the holder's. The revision in r becomes the one written.
func (k *KVReservations) write(ctx context.Context, r *Reservation, completion *Record) error {
	body, err := r.value(completion)
	if err != nil {
		return err
	}
	key := ReservationKey(r.Claim.TaskID, r.Claim.IdempotencyKey)
	return k.hold(ctx, r, func() error {
		revision, err := k.kv.Update(ctx, key, body, r.Revision)
		if err == nil {
			r.Revision = revision
		}
		return err
	})
}

// hold makes a change that depends on r.Revision. A change of the holder's own, of which it never heard whether it was made, is no
// obstacle.
func (k *KVReservations) hold(ctx context.Context, r *Reservation, change func() error) error {
	key := ReservationKey(r.Claim.TaskID, r.Claim.IdempotencyKey)
	return k.again(ctx, func() error {
		err := change()
		if !lostRace(err) {
			return err
		}
		entry, err := k.kv.Get(ctx, key)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return errGone
		}
		if err != nil {
			return err
		}
		if entry.Revision() < r.Revision { // Read from a replica that has not heard of us yet.
			return errMoved
		}
		found, err := readReservation(entry.Value(), entry.Revision())
		if err != nil {
			return err
		}
		if found.Token != r.Token {
			return ErrFenced
		}
		if found.completion != nil {
			return &confirmedError{*found.completion}
		}
		r.Revision = found.Revision
		return errMoved
	})
}

// errGone says that the reservation does not exist: it ended, or the replica that was read does not have it yet.
var errGone = fmt.Errorf("%w: %w", ErrFenced, errMoved)

// confirmedError says that the holder has confirmed before, so that the key is no longer its to change.
type confirmedError struct{ Record }

func (e *confirmedError) Error() string { return "reservation was confirmed before" }

// Is makes it an [ErrFenced].
func (e *confirmedError) Is(target error) bool { return target == ErrFenced }
