package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fleetglass/lifecycle"
)

// OnceConfig is what [Once] needs.
type OnceConfig struct {
	Reservations Reservations     // Required.
	Agent        string           // Required. Who completes, as told in records.
	Retention    time.Duration    // Optional; default [RecordRetention]. How long a completion is to be remembered.
	Poll         time.Duration    // Optional; default 500 ms. The longest pause between two looks at a key that another holds.
	Now          func() time.Time // Optional; default time.Now.
}

// Once runs an effect once per key, however often and wherever it is asked for. It is for submissions that come by other ways than
// the task stream, where [Worker] does the same. It is safe for concurrent use.
type Once struct{ cfg OnceConfig }

// NewOnce checks the configuration.
func NewOnce(cfg OnceConfig) (*Once, error) {
	if cfg.Reservations == nil || cfg.Agent == "" {
		return nil, errors.New("once: Reservations and Agent are required")
	}
	if cfg.Retention <= 0 {
		cfg.Retention = RecordRetention
	}
	if cfg.Poll <= 0 {
		cfg.Poll = 500 * time.Millisecond
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Once{cfg}, nil
}

// Effect does what is to be done once. What it does outside should carry the fencing token, where the outside can check one.
type Effect func(ctx context.Context, r Reservation) (summary string, err error)

const firstPoll = 10 * time.Millisecond

// Do returns the record of the claim's completion: that of this call, or the very same of an earlier one. While another call holds the
// key it waits. An effect that errors frees the key, and its error is returned; so is [ErrKeyConflict] for a key that stands for
// another payload, and [ErrFenced] when the effect took so long without renewing that another took over. The effect's context ends
// when the reservation is lost.
func (o *Once) Do(ctx context.Context, c Claim, effect Effect) (Record, error) {
	for wait := firstPoll; ; wait = min(2*wait, o.cfg.Poll) {
		held, done, err := o.cfg.Reservations.Reserve(ctx, c)
		switch {
		case errors.Is(err, ErrReserved):
		case err != nil:
			return Record{}, err
		case done != nil:
			return *done, nil
		default:
			return o.run(ctx, held, effect)
		}
		pause(ctx, wait)
		if err := ctx.Err(); err != nil {
			return Record{}, fmt.Errorf("wait for task %q: %w", c.TaskID, err)
		}
	}
}

func (o *Once) run(ctx context.Context, held Reservation, effect Effect) (Record, error) {
	k := &keeper{reservations: o.cfg.Reservations, held: held}
	summary, err := k.during(ctx, held.Claim.Lease/3, nil, func(ctx context.Context) (string, error) { return effect(ctx, held) })
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	if err != nil {
		return Record{}, errors.Join(err, k.release(ctx))
	}
	now := lifecycle.MicrosOf(o.cfg.Now())
	return k.reservations.Confirm(ctx, k.held, Record{
		AgentID: o.cfg.Agent, CompletedAt: now, ResultSummary: summary, ExpiresAt: now.Add(o.cfg.Retention), PayloadHash: held.Claim.PayloadHash,
	})
}
