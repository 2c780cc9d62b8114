package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fleetglass/lifecycle"

	"github.com/nats-io/nats.go/jetstream"
)

// KVReservationsConfig is what [NewKVReservations] needs.
type KVReservationsConfig struct {
	JetStream jetstream.JetStream // Required. The bucket [BucketIdempotency] must exist.
	// Retention is how long a reservation that nobody renews, confirms or takes over is remembered, and with it the payload that its key
	// stands for. The broker raises it to the time that the bucket keeps markers (1 h); a lease is shorter and is in the value. Optional;
	// default [RecordRetention].
	Retention time.Duration
	Now       func() time.Time // Optional; default time.Now. Clocks of workers may differ by less than two thirds of a lease.
}

// KVReservations keeps reservations in the bucket of the records, beside them. The revision of the bucket decides who wins, and is the
// fencing token, since it only rises.
type KVReservations struct {
	kv      jetstream.KeyValue
	records *KVRecords
	create  []jetstream.KVCreateOpt
	now     func() time.Time
}

// NewKVReservations opens the bucket. It errors when the bucket is missing.
func NewKVReservations(ctx context.Context, cfg KVReservationsConfig) (*KVReservations, error) {
	if cfg.JetStream == nil {
		return nil, errors.New("reservations: JetStream is required")
	}
	records, err := NewKVRecords(ctx, cfg.JetStream)
	if err != nil {
		return nil, err
	}
	status, err := records.kv.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", BucketIdempotency, err)
	}
	if cfg.Retention <= 0 {
		cfg.Retention = RecordRetention
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	k := &KVReservations{kv: records.kv, records: records, now: cfg.Now}
	if status.LimitMarkerTTL() > 0 { // A bucket without it has no times to live by key; its own age ends what is left over.
		k.create = []jetstream.KVCreateOpt{jetstream.KeyTTL(cfg.Retention)}
	}
	return k, nil
}

// errMoved says that the key changed between reading and writing.
var errMoved = errors.New("reservation changed meanwhile")

// Reserve implements [Reservations].
func (k *KVReservations) Reserve(ctx context.Context, c Claim) (Reservation, *Record, error) {
	if err := c.Validate(); err != nil {
		return Reservation{}, nil, fmt.Errorf("reserve: %w", err)
	}
	done, err := k.records.Find(ctx, c.TaskID, c.IdempotencyKey)
	if err != nil {
		return Reservation{}, nil, fmt.Errorf("reserve: %w", err)
	}
	if done != nil {
		return replay(c, *done)
	}
	var held Reservation
	err = k.again(ctx, func() (err error) {
		held, done, err = k.take(ctx, c)
		return err
	})
	if err != nil {
		return Reservation{}, nil, fmt.Errorf("reserve: %w", err)
	}
	return held, done, nil
}

// replay returns the recorded result to a claim, unless the claim is for something else.
func replay(c Claim, done Record) (Reservation, *Record, error) {
	if contradicts(done.PayloadHash, c.PayloadHash) {
		return Reservation{}, nil, fmt.Errorf("reserve: %w", ErrKeyConflict)
	}
	return Reservation{}, &done, nil
}

func (k *KVReservations) take(ctx context.Context, c Claim) (Reservation, *Record, error) {
	held := Reservation{Claim: c, ExpiresAt: k.until(c)}
	body, err := held.value(nil)
	if err != nil {
		return Reservation{}, nil, err
	}
	key := ReservationKey(c.TaskID, c.IdempotencyKey)
	revision, err := k.kv.Create(ctx, key, body, k.create...)
	if lostRace(err) {
		var found storedReservation
		if found, err = k.read(ctx, key); err != nil {
			return Reservation{}, nil, err
		}
		if done, err := k.closed(ctx, found, c); done != nil || err != nil {
			return Reservation{}, done, err
		}
		if revision, err = k.kv.Update(ctx, key, body, found.Revision); lostRace(err) {
			return Reservation{}, nil, errMoved
		}
	}
	if err != nil {
		return Reservation{}, nil, err
	}
	held.Token, held.Revision = revision, revision
	return held, nil, nil
}

// closed says why a key that exists cannot be taken: the task is done, for something else, or held. Neither means that it expired.
func (k *KVReservations) closed(ctx context.Context, found storedReservation, c Claim) (*Record, error) {
	now := lifecycle.MicrosOf(k.now())
	switch {
	case contradicts(found.Claim.PayloadHash, c.PayloadHash):
		return nil, ErrKeyConflict
	case found.completion != nil: // Whoever confirmed may have died before it could write the record.
		if err := k.records.ensure(ctx, *found.completion); err != nil {
			return nil, err
		}
		return found.completion, nil
	case now < found.ExpiresAt:
		return nil, &ReservedError{Owner: found.Claim.Owner, Until: found.ExpiresAt, Left: found.ExpiresAt.Sub(now)}
	}
	return nil, nil
}

func (k *KVReservations) until(c Claim) lifecycle.Micros {
	return lifecycle.MicrosOf(k.now().Add(c.Lease))
}

func (k *KVReservations) read(ctx context.Context, key string) (storedReservation, error) {
	entry, err := k.kv.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return storedReservation{}, errMoved
	}
	if err != nil {
		return storedReservation{}, err
	}
	return readReservation(entry.Value(), entry.Revision())
}

// lostRace reports whether a conditional write found another revision than expected.
func lostRace(err error) bool {
	return errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch)
}

// Replicas may answer reads with what was true a moment ago; then the same is tried again.
const (
	moveTries = 20
	movePause = 5 * time.Millisecond
)

func (k *KVReservations) again(ctx context.Context, try func() error) error {
	for i := 0; ; i++ {
		err := try()
		if !errors.Is(err, errMoved) || i == moveTries || ctx.Err() != nil {
			return err
		}
		pause(ctx, movePause)
	}
}
