package collectors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/lifecycle"
)

// pullBytes bounds one pull request, and with it what the client buffers. It lies above the largest message a broker takes (64 MiB):
// a message over the bound would never be delivered.
const pullBytes = 65 << 20

// delivery is one line with what is needed to acknowledge it.
type delivery struct {
	line       Line
	msg        jetstream.Msg
	consumer   uint64 // Consumer sequence.
	deliveries uint64
}

// reader gathers lines into batches.
type reader struct {
	cfg    Config
	stream lifecycle.StreamID
	it     jetstream.MessagesContext
	batch  []delivery
}

func (c *Collector) reader(consumer jetstream.Consumer, stream lifecycle.StreamID) (*reader, error) {
	it, err := consumer.Messages(
		jetstream.PullMaxMessagesWithBytesLimit(c.cfg.BatchLines, pullBytes),
		jetstream.PullExpiry(10*time.Second),
		jetstream.PullHeartbeat(2*time.Second),
	)
	if err != nil {
		return nil, fmt.Errorf("pull from %s: %w", c.src.Stream, err)
	}
	return &reader{cfg: c.cfg, stream: stream, it: it}, nil
}

func (r *reader) stop() { r.it.Stop() }

// drain asks for no more lines. Those on their way are still read, then next errors.
func (r *reader) drain() { r.it.Drain() }

// next blocks for the first line, then gathers more until the batch is full, no line comes for the idle time, or the first one has
// waited long enough. The batch is valid until the following call. It may hold lines even when next errors; it errors when ctx is done
// or no more can be read.
func (r *reader) next(ctx context.Context) ([]delivery, error) {
	clear(r.batch)
	r.batch = r.batch[:0]
	msg, err := r.it.Next(jetstream.NextContext(ctx))
	if err != nil {
		return nil, err
	}
	var deadline time.Time
	for size := 0; ; {
		if err := r.add(msg); err != nil {
			return r.batch, err
		}
		size += len(msg.Data())
		if len(r.batch) >= r.cfg.BatchLines || size >= r.cfg.BatchBytes {
			return r.batch, nil
		}
		wait := r.cfg.Idle
		if now := time.Now(); deadline.IsZero() {
			deadline = now.Add(r.cfg.Linger)
		} else if wait = min(wait, deadline.Sub(now)); wait <= 0 {
			return r.batch, nil
		}
		msg, err = r.it.Next(jetstream.NextMaxWait(wait))
		if errors.Is(err, nats.ErrTimeout) {
			return r.batch, nil
		}
		if err != nil {
			return r.batch, err
		}
	}
}

func (r *reader) add(msg jetstream.Msg) error {
	meta, err := msg.Metadata()
	if err != nil {
		return fmt.Errorf("read metadata of a line: %w", err)
	}
	r.batch = append(r.batch, delivery{
		line: Line{Source: r.stream, Seq: meta.Sequence.Stream, At: lifecycle.MicrosOf(meta.Timestamp), Subject: msg.Subject(),
			Headers: msg.Headers(), Body: msg.Data()},
		msg: msg, consumer: meta.Sequence.Consumer, deliveries: meta.NumDelivered,
	})
	return nil
}
