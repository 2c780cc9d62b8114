package monitor

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// asked is that somebody asked for the quarantine of a message in flight.
type asked struct {
	effect dlqtriage.HeldEffect
	action string
	at     lifecycle.Micros // When it was due.
}

// quarantine does one effect of [dlqtriage.QueueQuarantine]: copy, then delete. Every step may have been taken before, by somebody who died after it.
func (m *Monitor) quarantine(ctx context.Context, c decision.Claimed) error {
	e, err := dlqtriage.ReadHeldEffect(c.Body)
	if err != nil {
		return m.settleHeld(ctx, c, err.Error(), nil)
	}
	why, events, err := m.takeAway(ctx, e.Message, &asked{effect: e, action: c.Action, at: c.Due})
	if err != nil {
		return m.giveBack(ctx, c, e.Message, err)
	}
	return m.settleHeld(ctx, c, why, events)
}

// takeAway copies a message in flight and takes it from its worker. why says why that was not possible.
func (m *Monitor) takeAway(ctx context.Context, k lifecycle.MessageKey, by *asked) (why string, events []lifecycle.Event, err error) {
	body, err := m.known(ctx, k, by)
	if err != nil {
		return "", nil, err
	}
	if lifecycle.Judge(body.facts, body.task).State == lifecycle.StateCompleted {
		return "It was acknowledged meanwhile.", nil, nil
	}
	raw, err := m.inStream(ctx, body)
	switch {
	case err != nil:
		return "", nil, err
	case raw == nil && !body.entry.Copied():
		return "It left its stream meanwhile: nothing was copied.", nil, nil
	case raw == nil: // It was deleted by whoever had the effect before.
		return "", []lifecycle.Event{m.removed(body)}, nil
	}
	if why, err := m.shared(ctx, k); why != "" || err != nil {
		return why, nil, err
	}
	if !body.entry.Copied() {
		if d, err := m.publish(ctx, body); err != nil || d.Why != "" {
			return d.Why, nil, err
		}
		m.Handled()
	}
	_, events, err = m.remove(ctx, body)
	return "", events, err
}

// shared says why a message cannot be taken from its worker: its stream keeps messages for others too. It is empty where it can.
func (m *Monitor) shared(ctx context.Context, k lifecycle.MessageKey) (string, error) {
	stream, err := m.cfg.JetStream.Stream(ctx, k.Stream.Name)
	if err != nil {
		return "", fmt.Errorf("look at stream %s: %w", k.Stream.Name, err)
	}
	if stream.CachedInfo().Config.Retention != jetstream.WorkQueuePolicy {
		return "Its stream is no work queue: it keeps the message for others, so it is not deleted.", nil
	}
	return "", nil
}

func (m *Monitor) settleHeld(ctx context.Context, c decision.Claimed, why string, events []lifecycle.Event) error {
	s, err := m.cfg.Actions.SettleHeld(ctx, c, why, events...)
	if err != nil {
		return fmt.Errorf("settle quarantine %s: %w", c.ID, err)
	}
	err = m.cfg.Step.Do("settle", func() error { _, err := m.cfg.Store.Settle(ctx, s); return err })
	if err != nil && !errors.Is(err, decision.ErrTakenOver) {
		return fmt.Errorf("settle quarantine %s: %w", c.ID, err)
	}
	return nil
}
