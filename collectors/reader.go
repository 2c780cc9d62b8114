package collectors

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/internal/pull"
	"fleetglass/lifecycle"
)

const (
	// pullBytes bounds one pull, and with it what the client buffers. It lies above the largest message a broker takes (64 MiB): a
	// message over the bound would never be delivered.
	pullBytes = 65 << 20
	// pullWait is how long the broker keeps an unfilled pull. It bounds the time that a graceful stop takes.
	pullWait = 500 * time.Millisecond
	// backlog is the number of waiting lines from which a batch may wait for more of them.
	backlog = 200
)

// delivery is one line with what is needed to acknowledge it.
type delivery struct {
	line       Line
	msg        *nats.Msg
	consumer   uint64 // Consumer sequence.
	deliveries uint64
	behind     uint64 // Lines that waited behind it when it was sent.
}

// reader gathers lines into batches. There is always one pull under way, so that the broker sends the next lines while a batch is
// committed. Pulls of a fixed size are used rather than an endless one because the client gives them room for status messages, and
// drops nothing.
type reader struct {
	cfg      Config
	stream   lifecycle.StreamID
	consumer jetstream.Consumer
	pull     *pull.Pull // Nil before the first.
	left     int        // Lines that the pull may still bring.
	draining bool
	held     []delivery // Read, and put back.
	last     int        // Lines of the batch before.
	pool     *slicePool[delivery]
	sharded  bool // A shard is read: the rank counts.
	inHand   *inHand
}

// putBack gives lines to the following next, before those that come.
func (r *reader) putBack(lines []delivery) {
	if len(lines) > 0 {
		r.held = append(r.pool.take(r.cfg.BatchLines), lines...)
	}
}

// drain starts no more pulls. What the one under way brings is still read, then next returns io.EOF.
func (r *reader) drain() { r.draining = true }

// abandon ends the pull under way and hands back the lines that it still brings and those that were put back, so that they are delivered
// again at once. A line that cannot be handed back comes again when its wait is over.
func (r *reader) abandon() {
	for _, d := range r.held {
		_ = d.msg.Nak()
	}
	r.held = nil
	if r.pull == nil {
		return
	}
	for msg := range r.pull.Messages { // Closed by the client when the pull is filled or over, after pullWait at most.
		_ = msg.Nak()
	}
}

// next blocks for the first line, then gathers more until the batch is full, no line comes for the idle time, or the first one has
// waited long enough. more says that a backlog waits behind it. There may be lines even when next errors; it errors when
// ctx is done or no more can be read.
func (r *reader) next(ctx context.Context) (batch []delivery, more bool, err error) {
	batch, r.held = r.held, nil
	size := 0
	for _, d := range batch {
		size += len(d.line.Body)
		more = d.behind >= backlog
	}
	if batch == nil {
		batch = r.pool.take(r.last)
	}
	defer func() { r.last = len(batch) }()
	began := time.Now() // When the first line was there.
	for len(batch) < r.cfg.BatchLines && size < r.cfg.BatchBytes {
		patience := forever
		switch {
		case more: // Nobody waits for just these lines: a larger batch is cheaper.
			patience = 10 * r.cfg.Linger
		case len(batch) > 0:
			if patience = min(r.cfg.Idle, r.cfg.Linger-time.Since(began)); patience <= 0 {
				return batch, false, nil
			}
		}
		msg, err := r.receive(ctx, patience)
		if err != nil || msg == nil {
			return batch, more, err
		}
		d, err := r.delivery(msg)
		if err != nil {
			return batch, more, err
		}
		if len(batch) == 0 {
			began = time.Now()
		}
		batch = append(batch, d)
		r.inHand.take(d.line.Seq)
		if r.left == 0 && !r.draining { // The next lines come while these are committed.
			if err := r.again(); err != nil {
				return batch, more, err
			}
		}
		size += len(msg.Data)
		more = d.behind >= backlog
	}
	return batch, more, nil
}

// forever is the patience of who has nothing to do meanwhile.
const forever = time.Hour

// receive returns the next line, or nil when none comes for that long. It pulls again as soon as a pull is filled or over.
func (r *reader) receive(ctx context.Context, patience time.Duration) (*nats.Msg, error) {
	if r.pull != nil && r.left > 0 {
		select {
		case msg, open := <-r.pull.Messages:
			if open {
				r.left--
				return msg, nil
			}
		default:
		}
	}
	return r.wait(ctx, patience)
}

// wait is receive where no line is there yet.
func (r *reader) wait(ctx context.Context, patience time.Duration) (*nats.Msg, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		if r.left == 0 {
			if err := r.again(); err != nil {
				return nil, err
			}
		}
		select {
		case msg, open := <-r.pull.Messages:
			if open {
				r.left--
				return msg, nil
			}
			r.left = 0
			if err := r.pull.Err(); err != nil {
				return nil, err
			}
		case <-timer.C:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (r *reader) again() error {
	if r.draining {
		return io.EOF
	}
	request := pull.Request{Expires: pullWait, Batch: r.cfg.BatchLines, MaxBytes: pullBytes}
	if r.sharded {
		request.Group, request.Priority = fleet.ReaderGroup, r.cfg.Rank
	}
	next, err := pull.Start(r.cfg.JetStream, r.consumer, request)
	if err != nil {
		return fmt.Errorf("pull: %w", err)
	}
	r.pull, r.left = next, r.cfg.BatchLines
	return nil
}

func (r *reader) delivery(msg *nats.Msg) (delivery, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return delivery{}, fmt.Errorf("read metadata of a line: %w", err)
	}
	return delivery{
		line: Line{Source: r.stream, Seq: meta.Sequence.Stream, At: lifecycle.MicrosOf(meta.Timestamp), Subject: fleet.OriginalSubject(msg.Subject),
			Headers: msg.Header, Body: msg.Data},
		msg: msg, consumer: meta.Sequence.Consumer, deliveries: meta.NumDelivered, behind: meta.NumPending,
	}, nil
}
