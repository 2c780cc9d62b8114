package monitor

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// kept reports whether a message that died so stays in its stream: the broker itself removes one that is terminated.
func (m *Monitor) kept(c corpse) bool {
	if c.asked != nil {
		return true
	}
	switch c.entry.Path {
	case dlqtriage.PathMaxDeliveries, dlqtriage.PathFilterRejected:
		return true
	}
	return false
}

// remove deletes a message that has an entry from the work queue, where it would be delivered anew once a consumer is created, and counts against
// the limits. A stream with another retention keeps its messages for others, so nothing is removed there.
func (m *Monitor) remove(ctx context.Context, c corpse) (bool, []lifecycle.Event, error) {
	if !m.kept(c) {
		return false, nil, nil
	}
	raw, err := m.inStream(ctx, c)
	if err != nil || raw == nil {
		return false, nil, err
	}
	stream, err := m.cfg.JetStream.Stream(ctx, c.key.Stream.Name)
	if err != nil {
		return false, nil, fmt.Errorf("look at stream %s: %w", c.key.Stream.Name, err)
	}
	if stream.CachedInfo().Config.Retention != jetstream.WorkQueuePolicy {
		return false, nil, nil
	}
	err = m.cfg.Step.Do("delete", func() error { return stream.DeleteMsg(ctx, c.key.Seq) })
	if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) && !gone(err) {
		return false, nil, fmt.Errorf("delete message %s: %w", c.key, err)
	}
	return true, []lifecycle.Event{m.removed(c)}, nil
}

// gone reports whether the broker says that the message was deleted before.
func gone(err error) bool {
	var refused *jetstream.APIError
	return errors.As(err, &refused) && (refused.ErrorCode == codeDeleteFailed || refused.ErrorCode == jetstream.JSErrCodeMessageNotFound)
}

// codeDeleteFailed is what the broker answers where a message is not there any more (NATS.md, "Dead and terminated messages").
const codeDeleteFailed = jetstream.ErrorCode(10057)

// removed says who removed the message.
func (m *Monitor) removed(c corpse) lifecycle.Event {
	at := m.cfg.now()
	e := lifecycle.Event{
		ID: lifecycle.NewEventID("dlq-monitor", "removed", c.key.String(), strconv.FormatInt(int64(at), 10)), At: at, Kind: lifecycle.Vanished,
		Provenance: lifecycle.Broker, Source: Actor, Message: c.key, Agent: c.entry.Agent,
	}
	e.Detail.Removal = lifecycle.RemovedToQueue
	return e
}
