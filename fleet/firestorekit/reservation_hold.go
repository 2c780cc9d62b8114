package firestorekit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fleetglass/fleet"
)

// Renew implements [fleet.Reservations].
func (r *Reservations) Renew(ctx context.Context, mine fleet.Reservation) (fleet.Reservation, error) {
	next := mine
	err := r.hold(ctx, &next, func(ctx context.Context, ref *firestore.DocumentRef) error {
		deleteAt := r.deleteAt(time.Unix(0, int64(next.Revision)), mine.Claim)
		done, err := ref.Update(ctx, []firestore.Update{
			{Path: fieldToken, Value: int64(mine.Token)}, {Path: "renewedAt", Value: firestore.ServerTimestamp}, {Path: fieldDeleteAt, Value: deleteAt},
		}, version(next.Revision))
		if err == nil {
			next.Revision, next.ExpiresAt = revision(done.UpdateTime), expiry(done.UpdateTime, mine.Claim.Lease)
		}
		return err
	})
	if err != nil {
		return mine, fmt.Errorf("renew reservation: %w", err)
	}
	return next, nil
}

// Release implements [fleet.Reservations].
func (r *Reservations) Release(ctx context.Context, mine fleet.Reservation) error {
	err := r.hold(ctx, &mine, func(ctx context.Context, ref *firestore.DocumentRef) error {
		_, err := ref.Delete(ctx, version(mine.Revision))
		return err
	})
	if err != nil && !errors.Is(err, errGone) { // What is gone is given back.
		return fmt.Errorf("release reservation: %w", err)
	}
	return nil
}

// errGone says that the reservation does not exist: it was released, or deleted after its retention.
var errGone = fmt.Errorf("%w: it is gone", fleet.ErrFenced)

// hold makes a change to a reservation that is still the holder's. A change of the holder's own, of which it never heard whether it was
// made, is no obstacle: mine learns its revision.
func (r *Reservations) hold(ctx context.Context, mine *fleet.Reservation, change func(context.Context, *firestore.DocumentRef) error) error {
	ref := r.reservation(mine.Claim.TaskID, mine.Claim.IdempotencyKey)
	return r.decide(ctx, func(ctx context.Context) error {
		err := change(ctx, ref)
		if !refused(err) {
			return err
		}
		doc, err := ref.Get(ctx)
		if status.Code(err) == codes.NotFound {
			return errGone
		}
		if err != nil {
			return err
		}
		found, err := readHeld(doc)
		if err != nil {
			return err
		}
		if found.token != mine.Token || found.completion != nil {
			return fleet.ErrFenced
		}
		mine.Revision = revision(found.written)
		return errMoved
	})
}

// Confirm implements [fleet.Reservations]. The record and the end of the reservation are written together or not at all.
func (r *Reservations) Confirm(ctx context.Context, mine fleet.Reservation, completion fleet.Record) (fleet.Record, error) {
	completion.TaskID, completion.IdempotencyKey = mine.Claim.TaskID, mine.Claim.IdempotencyKey
	completion, err := asRead(completion)
	if err != nil {
		return fleet.Record{}, fmt.Errorf("confirm: %w", err)
	}
	asked := false
	err = r.decide(ctx, func(ctx context.Context) (err error) {
		completion, err = r.confirm(ctx, mine, completion)
		if status.Code(err) == codes.InvalidArgument && !asked {
			// The client repeats a commit whose answer was lost, and is told that the transaction has ended: look what became of it.
			asked, err = true, errors.Join(errMoved, err)
		}
		return err
	})
	if err != nil {
		return fleet.Record{}, fmt.Errorf("confirm: %w", err)
	}
	return completion, nil
}

// confirm returns the record that stands: the one given, or the one with which this very holder confirmed before.
func (r *Reservations) confirm(ctx context.Context, mine fleet.Reservation, completion fleet.Record) (fleet.Record, error) {
	var stands fleet.Record
	err := r.client.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
		stands = completion
		refs := r.refs(mine.Claim)
		docs, err := tx.GetAll(refs)
		if err != nil {
			return err
		}
		now, err := situationOf(docs)
		switch {
		case err != nil:
			return err
		case now.held == nil:
			return errGone
		case now.held.token != mine.Token:
			return fleet.ErrFenced
		case now.held.completion != nil:
			stands = *now.held.completion
		}
		if now.record != nil {
			if *now.record == stands {
				return errStands
			}
			return fleet.ErrRecorded
		}
		stated := recordFields(stands)
		return errors.Join(tx.Set(refs[0], stated), tx.Update(refs[1], r.confirmed(now, stands, stated)))
	})
	if err != nil && !errors.Is(err, errStands) {
		return completion, err
	}
	return stands, nil
}

// errStands ends a transaction that finds nothing left to write.
var errStands = errors.New("confirmed before")

// confirmed is what a confirmation changes about the reservation. It is kept as long as the record, so that a claim that looked before the
// record was there cannot take the key after it.
func (r *Reservations) confirmed(now situation, completion fleet.Record, stated fields) []firestore.Update {
	deleteAt := now.at.Add(r.retention)
	if until := completion.ExpiresAt.Time(); until.After(deleteAt) {
		deleteAt = until
	}
	return []firestore.Update{
		{Path: fieldToken, Value: int64(now.held.token)}, {Path: fieldCompletion, Value: map[string]any(stated)}, {Path: fieldDeleteAt, Value: deleteAt},
	}
}
