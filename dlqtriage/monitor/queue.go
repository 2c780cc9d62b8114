package monitor

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// errNoQueue says that no stream takes the entry.
var errNoQueue = errors.New("no stream takes dead letters")

// queue is a stream of entries of which everything up to a sequence is known.
type queue struct {
	name string
	last uint64 // The last sequence that there was.
}

// queueOf finds the stream that takes an entry on this subject, and makes sure that all that it holds is in the store: only then "there is no
// entry" is known, and can be the condition of a publish.
func (m *Monitor) queueOf(ctx context.Context, subject string) (queue, error) {
	js := m.cfg.JetStream
	name, err := js.StreamNameBySubject(ctx, subject)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return queue{}, &later{pause: whileFailing, why: fmt.Errorf("%w on %s; fleetglass provision --apply makes one, where --dlq-per-agent is used for the agents that it names", errNoQueue, subject)}
	}
	if err != nil {
		return queue{}, fmt.Errorf("find the stream of %s: %w", subject, err)
	}
	stream, err := js.Stream(ctx, name) // Before the reader is asked: what it has read then reaches beyond.
	if err != nil {
		return queue{}, fmt.Errorf("look at stream %s: %w", name, err)
	}
	reader, err := js.Consumer(ctx, name, m.cfg.Reader)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return queue{}, &later{pause: whileReading, quiet: true, why: fmt.Errorf("stream %s is not read yet", name)}
	}
	if err != nil {
		return queue{}, fmt.Errorf("look at the reader of %s: %w", name, err)
	}
	if info := reader.CachedInfo(); info.NumPending > 0 || info.NumAckPending > 0 {
		return queue{}, &later{pause: whileReading, quiet: true, why: fmt.Errorf("stream %s is not read to its end", name)}
	}
	return queue{name: name, last: stream.CachedInfo().State.LastSeq}, nil
}

// publish writes the entry, without its body where that makes it too large for the queue. What is in flight is not copied then: its Why says so.
func (m *Monitor) publish(ctx context.Context, c corpse) (done, error) {
	class := m.classify(c)
	q, err := m.queueOf(ctx, m.subject(c, class))
	if err != nil {
		return done{}, err
	}
	c, err = m.known(ctx, c.key, c.asked) // Again: what was read meanwhile may be its entry.
	switch {
	case err != nil:
		return done{}, err
	case !c.died:
		return done{}, &later{pause: whileReading, quiet: true, why: errors.New("it does not count as dead any more")}
	case c.entry.Copied():
		return done{Entry: c.entryAt()}, nil
	}
	found, err := m.original(ctx, c)
	if err != nil {
		return done{}, err
	}
	if class.Rule != "" {
		if err := m.say(ctx, verdictEvent(c, class)); err != nil {
			return done{}, err
		}
	}
	ack, err := m.write(ctx, m.message(c, found, class), q)
	if tooLarge(err) {
		if c.asked != nil {
			return done{Why: "The dead-letter queue takes no message that large: nothing was copied."}, nil
		}
		found = found.withoutBody()
		ack, err = m.write(ctx, m.message(c, found, class), q)
	}
	if refused := (*jetstream.APIError)(nil); errors.As(err, &refused) && refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence {
		return done{}, &later{pause: whileReading, quiet: true, why: errors.New("the queue grew meanwhile")}
	}
	if err != nil {
		return done{}, fmt.Errorf("publish the entry: %w", err)
	}
	return done{Entry: ack.Stream + ":" + strconv.FormatUint(ack.Sequence, 10), Body: found.from, bodyless: found.missing != ""}, nil
}

// write publishes an entry, on the condition that nothing was added to the queue since it was known to have none.
func (m *Monitor) write(ctx context.Context, entry *nats.Msg, q queue) (ack *jetstream.PubAck, err error) {
	err = m.cfg.Step.Do("publish", func() error {
		ack, err = m.cfg.JetStream.PublishMsg(ctx, entry, jetstream.WithExpectStream(q.name), jetstream.WithExpectLastSequence(q.last))
		return err
	})
	return ack, err
}

// What the broker answers where a message is larger than a stream takes (max_msg_size), or than it can keep.
const (
	codeOverStreamsLimit = jetstream.ErrorCode(10054)
	codeNotStored        = jetstream.ErrorCode(10077)
)

// tooLarge reports whether an entry was refused for its size: with what is said of the death it is larger than the message was.
func tooLarge(err error) bool {
	var refused *jetstream.APIError
	if !errors.As(err, &refused) {
		return errors.Is(err, nats.ErrMaxPayload)
	}
	return refused.ErrorCode == codeOverStreamsLimit || refused.ErrorCode == codeNotStored && refused.Description == "message too large"
}
