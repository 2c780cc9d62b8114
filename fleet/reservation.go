package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fleetglass/lifecycle"
)

// Claim asks for the right to run one version of a task (SPEC 1, reserve-then-confirm).
type Claim struct {
	TaskID         string        // Required.
	IdempotencyKey string        // Optional. Tells the versions of a task apart, as in [RecordKey].
	PayloadHash    string        // Optional; without it the payload is not guarded. See [Fingerprint].
	Owner          string        // Required. Who asks, for people to read. Two claims never share a reservation, whatever their owners.
	Lease          time.Duration // Required. How long the reservation holds unless it is renewed.
}

// Validate errors when the claim lacks what it must have. Implementations of [Reservations] refuse such a claim.
func (c Claim) Validate() error {
	if c.TaskID == "" || c.Owner == "" || c.Lease <= 0 {
		return errors.New("a claim needs a task, an owner and a lease")
	}
	return nil
}

// Reservation is the right to run a task, until it expires and somebody else takes it over.
type Reservation struct {
	Claim     Claim
	Token     uint64           // The fencing token: higher than that of every earlier holder of the key. Pass it on to whatever can check it.
	ExpiresAt lifecycle.Micros // From then on another may take over. Until one has, the holder may still renew or confirm.
	Revision  uint64           // What the store last wrote for this holder; for the store only.
}

// Reservations lets one holder at a time run a task, and remembers what the one that finished recorded. All of them are decided by
// the store in one step, so that of any number that act at once exactly one wins. Implementations are safe for concurrent use; an
// error that is none of those named here means that the store cannot be asked: do not execute.
type Reservations interface {
	// Reserve takes the key of the claim. Where the task completed before nothing is reserved, and the recorded result is returned
	// instead: reply with that. It errors with [*ReservedError] while another holds the key, and with [ErrKeyConflict] when the key
	// stands for another payload, be it completed, held, or held by one that expired.
	Reserve(ctx context.Context, c Claim) (Reservation, *Record, error)
	// Renew makes the reservation hold for another lease from now. It errors with [ErrFenced] when it was taken over.
	Renew(ctx context.Context, r Reservation) (Reservation, error)
	// Confirm records the completion of a task, once, where [Records] finds it, and returns the record as it will read back. It errors
	// with [ErrFenced] when the reservation was taken over, and with [ErrRecorded] when somebody recorded a completion without reserving:
	// the record of the other stays. After any other error, and when it is not known whether it succeeded, it may be called again.
	Confirm(ctx context.Context, r Reservation, completion Record) (Record, error)
	// Release gives the key back, because nothing was done: the next claim gets it at once, whatever its payload. It errors with
	// [ErrFenced] when the reservation was taken over.
	Release(ctx context.Context, r Reservation) error
}

var (
	// ErrReserved is what [*ReservedError] is, for errors.Is.
	ErrReserved = errors.New("task is reserved by another")
	// ErrFenced says that a holder came late: its reservation expired and another has taken over.
	ErrFenced = errors.New("reservation was taken over")
	// ErrKeyConflict says that a key was used before with another payload. It is refused, never merged.
	ErrKeyConflict = errors.New("key stands for another payload")
)

// ReservedError says who holds a key, and until when at least.
type ReservedError struct {
	Owner string
	Until lifecycle.Micros // By the clock that decides, which need not be that of whoever asked.
	Left  time.Duration    // From now until then by that same clock: how long to wait, however wrong one's own clock is.
}

// Error implements error.
func (e *ReservedError) Error() string {
	return fmt.Sprintf("%v: %s until %s", ErrReserved, e.Owner, e.Until.Time().Format(time.RFC3339Nano))
}

// Is makes every ReservedError an [ErrReserved].
func (e *ReservedError) Is(target error) bool { return target == ErrReserved }
