package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/fleet"
)

// Bounds of what waits in RETRY, which keeps 1,000 messages and drops the oldest beyond.
const (
	mostParked     = 900 // Parked messages altogether.
	mostWaiting    = 500 // Beyond that only those are parked that are due soon: the others wait in the store.
	soon           = 10 * time.Second
	atOnce         = 64
	publishTimeout = 5 * time.Second
)

// relay parks what is to be published.
type relay struct {
	Config
	consumer jetstream.Consumer // Of RETRY, which tells how many wait.
	passed   uint64             // The durable is past everything in RETRY up to this one.
}

// once parks what can be parked now and returns how many effects that were.
func (r *relay) once(ctx context.Context) (int, error) {
	waiting, err := r.waiting(ctx)
	if err != nil || waiting >= mostParked {
		return 0, err
	}
	var claimed []decision.Claimed
	err = r.step.Do("claim to park", func() (err error) {
		claimed, err = r.Effects.Claim(ctx, decision.ClaimRequest{
			Queue: dlqtriage.QueueRetry, Holder: r.Holder, Now: r.now(), Lease: r.Lease, Limit: min(atOnce, mostParked-waiting),
		})
		return err
	})
	if err != nil {
		return 0, err
	}
	var errs []error
	for i, c := range claimed {
		errs = append(errs, r.relay(ctx, c, waiting+i))
	}
	return len(claimed), errors.Join(errs...)
}

// waiting is how many parked messages were not sent yet.
func (r *relay) waiting(ctx context.Context) (int, error) {
	info, err := r.consumer.Info(ctx)
	if err != nil {
		return 0, fmt.Errorf("count what is parked: %w", err)
	}
	r.passed = info.Delivered.Stream
	return int(info.NumPending) + info.NumAckPending, nil
}

// relay parks one retry, and says when it is to be looked at again. An effect whose message is taken over meanwhile is the sender's.
func (r *relay) relay(ctx context.Context, c decision.Claimed, waiting int) error {
	d, err := dlqtriage.ReadDelivery(c.Body)
	if err != nil {
		return r.giveUp(ctx, c, err)
	}
	now := r.now()
	if waiting >= mostWaiting && d.DueAt > now.Add(soon) {
		return r.giveBack(ctx, decision.Return{Effect: c.ID, Token: c.Token, Due: d.DueAt.Add(-soon), Why: []byte("too many wait in " + fleet.StreamRetry)})
	}
	m, err := park(r.Contract, c, d, c.Token > 1 && now > d.DueAt.Add(r.Grace))
	if err != nil {
		return r.giveUp(ctx, c, err)
	}
	var ack *jetstream.PubAck
	err = r.step.Do("park", func() (err error) {
		ctx, cancel := context.WithTimeout(ctx, publishTimeout)
		defer cancel()
		ack, err = r.JetStream.PublishMsg(ctx, m)
		return err
	})
	if err != nil {
		back := r.giveBack(ctx, decision.Return{Effect: c.ID, Token: c.Token, Due: now.Add(r.Every), Why: []byte(err.Error())})
		return errors.Join(fmt.Errorf("park retry %s: %w", c.ID, err), back)
	}
	look := max(d.DueAt, now).Add(r.Grace)
	if !ack.Duplicate && ack.Sequence <= r.passed {
		return errors.Join(errPassed(errors.New("the message that was parked last is among them")), r.giveBack(ctx, decision.Return{Effect: c.ID, Token: c.Token, Due: look, Why: []byte("parked")}))
	}
	if ack.Duplicate { // The one that is parked hands over an older claim, which holds once nobody else has the effect.
		look = max(d.DueAt, now.Add(r.Every))
	}
	return r.giveBack(ctx, decision.Return{Effect: c.ID, Token: c.Token, Due: look, Why: []byte("parked")})
}

func (r *relay) giveBack(ctx context.Context, back decision.Return) error {
	err := r.step.Do("give back", func() error { return r.Effects.Return(ctx, back) })
	if errors.Is(err, decision.ErrTakenOver) {
		return nil // The sender has it.
	}
	return err
}

// giveUp ends what can never be published.
func (c Config) giveUp(ctx context.Context, claimed decision.Claimed, why error) error {
	return c.settle(ctx, claimed, dlqtriage.Ended{Why: why.Error()})
}

// settle ends an effect. One that was taken over is somebody else's.
func (c Config) settle(ctx context.Context, claimed decision.Claimed, e dlqtriage.Ended) error {
	s, err := c.Actions.Settle(ctx, claimed, e)
	if err != nil {
		return fmt.Errorf("settle retry %s: %w", claimed.ID, err)
	}
	err = c.step.Do("settle", func() error { _, err := c.Effects.Settle(ctx, s); return err })
	if errors.Is(err, decision.ErrTakenOver) {
		return nil
	}
	return err
}
