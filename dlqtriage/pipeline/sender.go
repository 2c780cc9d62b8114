package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/fleet"
	"fleetglass/internal/leader"
)

// sender publishes what is due.
type sender struct {
	Config
	retries jetstream.Stream // RETRY.
}

// tryAgain is how long a parked message waits after something went wrong.
const tryAgain = time.Second

// handle does what a parked message says. What it cannot do now is delivered again.
func (s *sender) handle(ctx context.Context, m jetstream.Msg) {
	p, ok := readParked(m.Headers())
	if !ok {
		s.answer(m.Ack) // Somebody else's; it is left where it is.
		return
	}
	if wait := p.due.Sub(s.now()); wait > 0 {
		s.answer(func() error { return m.NakWithDelay(wait) })
		return
	}
	over, err := s.send(ctx, p)
	switch {
	case err != nil && ctx.Err() == nil:
		s.Log.Warn("a retry could not be sent; it is tried again", "action", p.action, "error", err)
		fallthrough
	case !over:
		s.answer(func() error { return m.NakWithDelay(tryAgain) })
	default:
		s.remove(ctx, m)
	}
}

// answer answers a delivery. A lost answer leads to another delivery, which finds out what was done.
func (s *sender) answer(f func() error) {
	if err := s.step.Do("answer", f); err != nil {
		s.Log.Debug("a parked message could not be answered", "error", err)
	}
}

// remove takes a message out of RETRY whose retry is over, so that RETRY holds what waits. Where that is not allowed it ages out. It is answered
// afterwards: one that was answered first would stay where the process dies in between.
func (s *sender) remove(ctx context.Context, m jetstream.Msg) {
	if meta, err := m.Metadata(); err == nil {
		if err := s.step.Do("remove", func() error { return s.retries.DeleteMsg(ctx, meta.Sequence.Stream) }); err != nil {
			s.Log.Debug("a parked message could not be removed", "error", err)
		}
	}
	s.answer(m.Ack)
}

// send takes the effect over and publishes. over says that nothing is left to do for this parked message.
func (s *sender) send(ctx context.Context, p parked) (over bool, err error) {
	c, held, err := s.take(ctx, p)
	if err != nil || !held {
		over, otherErr := s.settled(ctx, p)
		return over, errors.Join(err, otherErr)
	}
	d, err := dlqtriage.ReadDelivery(c.Body)
	if err != nil {
		return true, s.giveUp(ctx, c, err)
	}
	started := s.now()
	ended, err := s.publish(ctx, d, c, p)
	if err != nil {
		back := s.Effects.Return(ctx, decision.Return{Effect: c.ID, Token: c.Token, Due: s.now(), Why: []byte(err.Error())})
		return false, errors.Join(err, back)
	}
	ended.StartedAt = started
	err = s.settle(ctx, c, ended)
	return err == nil, err
}

// take takes the effect over from the relay that parked the message.
func (s *sender) take(ctx context.Context, p parked) (c decision.Claimed, held bool, err error) {
	var claimed []decision.Claimed
	err = s.step.Do("take over", func() (err error) {
		claimed, err = s.Effects.Claim(ctx, decision.ClaimRequest{
			Queue: dlqtriage.QueueRetry, Holder: s.Holder, Now: s.now(), Lease: s.Lease, Limit: 1, Effect: p.effect, After: p.token,
		})
		return err
	})
	if err != nil || len(claimed) == 0 {
		return c, false, err
	}
	return claimed[0], true, nil
}

// settled reports whether the retry is over, or gone with its action.
func (s *sender) settled(ctx context.Context, p parked) (bool, error) {
	effects, err := s.Effects.EffectsOf(ctx, p.action)
	if err != nil {
		return false, err
	}
	for _, e := range effects {
		if e.ID == p.effect {
			return e.Status.Settled(), nil
		}
	}
	return true, nil
}

// publish publishes the message, unless it was published before, or what became known since the decision speaks against it. Before it publishes anew what
// may have been published, beyond the time in which the stream knows a repetition by its id, it proves that it was not.
func (s *sender) publish(ctx context.Context, d dlqtriage.Delivery, c decision.Claimed, p parked) (dlqtriage.Ended, error) {
	tried := p.token > 1 || c.Token > p.token+1 // Somebody else had it before, who may have published.
	if sent, err := s.observed(ctx, d); sent != nil || err != nil {
		return dlqtriage.Ended{Sent: sent}, err
	}
	why, err := s.Actions.Overtaken(ctx, d, c.Action)
	if err != nil {
		return dlqtriage.Ended{}, err
	}
	if tried {
		if ended, err := s.prove(ctx, d, why == ""); ended.Sent != nil || ended.Why != "" || err != nil {
			return ended, err
		}
	}
	if why != "" {
		return dlqtriage.Ended{Why: why}, nil
	}
	m := nats.NewMsg(d.Message.Subject)
	m.Data = d.Message.Payload
	for name, value := range d.Message.Headers {
		m.Header.Set(name, value)
	}
	var ack *jetstream.PubAck
	err = s.step.Do("publish", func() (err error) {
		ctx, cancel := context.WithTimeout(ctx, publishTimeout)
		defer cancel()
		ack, err = s.JetStream.PublishMsg(ctx, m)
		return err
	})
	if err != nil {
		return dlqtriage.Ended{}, fmt.Errorf("publish retry %s: %w", c.ID, err)
	}
	sent := &dlqtriage.Sent{Stream: ack.Stream, Seq: ack.Sequence}
	if !ack.Duplicate {
		return dlqtriage.Ended{Sent: sent}, nil
	}
	return s.duplicate(ctx, d, sent, tried)
}

// duplicate tells whose message the stream has already under the message id: ours of an earlier try, or another one.
func (s *sender) duplicate(ctx context.Context, d dlqtriage.Delivery, sent *dlqtriage.Sent, tried bool) (dlqtriage.Ended, error) {
	stream, err := leader.Find(ctx, s.JetStream, sent.Stream)
	if err != nil {
		return dlqtriage.Ended{}, err
	}
	there, err := stream.GetMsg(ctx, sent.Seq)
	var ours bool
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		ours = tried // It was worked off meanwhile. Who never tried did not publish it.
	case err != nil:
		return dlqtriage.Ended{}, err
	default:
		ours = there.Header.Get(fleet.HeaderTriageAction) == d.Message.Headers[fleet.HeaderTriageAction]
	}
	if !ours {
		return dlqtriage.Ended{Why: "Another message has the id " + d.Message.MessageID() + " already; nothing was published."}, nil
	}
	return dlqtriage.Ended{Sent: sent}, nil
}
