package brokerstate

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/lifecycle"
)

// marksKept bounds the moments that a busy collector may still be behind of. Older ones are forgotten: it has to catch up first.
const marksKept = 128

// drain knows up to when the lines of one capture stream have been stored. While its durable has something to do, the answer is the
// latest moment whose lines the durable has acknowledged since: what is acknowledged was committed before.
type drain struct {
	stream, durable string
	marks           []mark
	upTo            lifecycle.Micros
	exists          bool
}

type mark struct {
	at  lifecycle.Micros
	seq uint64 // Last line of the capture stream at that time.
}

// look asks the broker where the durable stands. A capture stream that does not exist holds nothing back.
func (d *drain) look(ctx context.Context, js jetstream.JetStream, now lifecycle.Micros) error {
	consumer, err := js.Consumer(ctx, d.stream, d.durable)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		d.exists, d.upTo, d.marks = false, now, nil
		return nil
	case errors.Is(err, jetstream.ErrConsumerNotFound): // Nobody has read it yet.
		d.exists = true
		return nil
	case err != nil:
		return fmt.Errorf("read position on %s: %w", d.stream, err)
	}
	d.exists = true
	d.note(consumer.CachedInfo())
	return nil
}

func (d *drain) note(info *jetstream.ConsumerInfo) {
	now := lifecycle.MicrosOf(info.TimeStamp)
	if info.NumPending == 0 && info.NumAckPending == 0 {
		d.upTo, d.marks = max(d.upTo, now), nil
		return
	}
	for len(d.marks) > 0 && d.marks[0].seq <= info.AckFloor.Stream {
		d.upTo, d.marks = max(d.upTo, d.marks[0].at), d.marks[1:]
	}
	if len(d.marks) < marksKept {
		d.marks = append(d.marks, mark{at: now, seq: info.Delivered.Stream + info.NumPending})
	}
}
