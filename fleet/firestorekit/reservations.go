package firestorekit

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// Reservations keeps reservations in the collection [ReservationCollection], beside the records and not in their place: whoever finds a
// record may rely on it that the task completed. It implements [fleet.Reservations].
//
// Every write demands the version of the reservation that was read, so that Firestore decides who wins; a confirmation writes the record
// and the reservation in one transaction. Time is Firestore's alone: a lease begins with the time of its last write and has ended when a
// read has a time that much later. No clock of an agent is asked, so none can be wrong; agents only need to count the seconds between two
// renewals. The fencing token is the time of the write that reserved, in microseconds: Firestore orders the writes of a document by time,
// also across its deletion.
type Reservations struct{ store }

var _ fleet.Reservations = (*Reservations)(nil)

// NewReservations checks the configuration; it asks Firestore nothing.
func NewReservations(cfg Config) (*Reservations, error) {
	s, err := newStore(cfg)
	if err != nil {
		return nil, err
	}
	return &Reservations{s}, nil
}

// Reserve implements [fleet.Reservations].
func (r *Reservations) Reserve(ctx context.Context, c fleet.Claim) (fleet.Reservation, *fleet.Record, error) {
	if err := c.Validate(); err != nil {
		return fleet.Reservation{}, nil, fmt.Errorf("reserve: %w", err)
	}
	id := newClaimID()
	var mine fleet.Reservation
	var done *fleet.Record
	err := r.decide(ctx, func(ctx context.Context) (err error) {
		mine, done, err = r.take(ctx, c, id)
		return err
	})
	if err != nil {
		return fleet.Reservation{}, nil, fmt.Errorf("reserve: %w", err)
	}
	return mine, done, nil
}

// situation is what is known of a key at one time of Firestore's clock.
type situation struct {
	at     time.Time
	record *fleet.Record // Nil without a completion.
	held   *held         // Nil without a reservation.
}

func (r *Reservations) refs(c fleet.Claim) []*firestore.DocumentRef {
	return []*firestore.DocumentRef{r.record(c.TaskID, c.IdempotencyKey), r.reservation(c.TaskID, c.IdempotencyKey)}
}

// situationOf reads what [Reservations.refs] name.
func situationOf(docs []*firestore.DocumentSnapshot) (s situation, err error) {
	record, reservation := docs[0], docs[1]
	if record.Exists() {
		if s.record, err = completionOf(record); err != nil {
			return situation{}, err
		}
	}
	s.at = reservation.ReadTime
	s.held, err = readHeld(reservation)
	return s, err
}

// take reserves the key, or says why it cannot: the task is done, for something else, or held.
func (r *Reservations) take(ctx context.Context, c fleet.Claim, id string) (fleet.Reservation, *fleet.Record, error) {
	docs, err := r.client.GetAll(ctx, r.refs(c))
	if err != nil {
		return fleet.Reservation{}, nil, err
	}
	now, err := situationOf(docs)
	if err != nil {
		return fleet.Reservation{}, nil, err
	}
	if h := now.held; h != nil && h.claimID == id && h.completion == nil { // Our own write, of which we did not hear.
		return h.reservation(c), nil, nil
	}
	if done, err := r.closed(ctx, now, c); done != nil || err != nil {
		return fleet.Reservation{}, done, err
	}
	written, err := r.write(ctx, now, c, id)
	if refused(err) {
		return fleet.Reservation{}, nil, errMoved
	}
	if err != nil {
		return fleet.Reservation{}, nil, err
	}
	mine := held{token: tokenOf(written), written: written, expiresAt: expiry(written, c.Lease)}
	return mine.reservation(c), nil, nil
}

func (h *held) reservation(c fleet.Claim) fleet.Reservation {
	return fleet.Reservation{Claim: c, Token: h.token, ExpiresAt: h.expiresAt, Revision: revision(h.written)}
}

// closed says why a key cannot be taken. Neither means that it can.
func (r *Reservations) closed(ctx context.Context, now situation, c fleet.Claim) (*fleet.Record, error) {
	if now.record != nil {
		if contradicts(now.record.PayloadHash, c.PayloadHash) {
			return nil, fleet.ErrKeyConflict
		}
		return now.record, nil
	}
	h := now.held
	if h == nil || h.forgotten(now.at) {
		return nil, nil
	}
	at := lifecycle.MicrosOf(now.at.Truncate(time.Millisecond))
	switch {
	case contradicts(h.payloadHash, c.PayloadHash):
		return nil, fleet.ErrKeyConflict
	case h.completion != nil: // Somebody has deleted the record.
		return h.completion, r.complete(ctx, *h.completion)
	case at < h.expiresAt:
		return nil, &fleet.ReservedError{Owner: h.owner, Until: h.expiresAt, Left: h.expiresAt.Sub(at)}
	}
	return nil, nil
}

// write makes the reservation, on the condition that nobody has written it since it was looked at.
func (r *Reservations) write(ctx context.Context, now situation, c fleet.Claim, id string) (time.Time, error) {
	ref := r.reservation(c.TaskID, c.IdempotencyKey)
	f := reservationFields(c, id, r.deleteAt(now.at, c))
	var done *firestore.WriteResult
	var err error
	if now.held == nil {
		done, err = ref.Create(ctx, f)
	} else {
		done, err = ref.Update(ctx, f.replace(fieldKey, fieldHash, fieldToken, fieldCompletion), firestore.LastUpdateTime(now.held.written))
	}
	if err != nil {
		return time.Time{}, err
	}
	return done.UpdateTime, nil
}

// deleteAt is when a reservation that is not touched after a time of Firestore's clock is forgotten.
func (r *Reservations) deleteAt(at time.Time, c fleet.Claim) time.Time {
	return at.Add(max(r.retention, 4*c.Lease))
}

// contradicts reports whether two fingerprints of one key are known and differ.
func contradicts(a, b string) bool { return a != "" && b != "" && a != b }
