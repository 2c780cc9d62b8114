package brokersync

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/lifecycle"
)

// marksKept bounds the moments that a busy collector may still be behind of. Older ones are forgotten: it has to catch up first.
const marksKept = 128

// lateCount is how long after a line was stored the broker counts it as pending for the durable, at the latest.
const lateCount = time.Second

// drain knows up to when the lines of one capture stream have been stored: the latest moment whose lines the durable has acknowledged
// since, because what is acknowledged was committed before. What the broker calls pending does not serve, for it counts a line some time
// after it was stored.
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

// look asks the broker where the stream ends, and then where the durable stands. A capture stream that does not exist holds nothing back.
func (d *drain) look(ctx context.Context, js jetstream.JetStream, now lifecycle.Micros) error {
	stream, err := js.Stream(ctx, d.stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		d.exists, d.upTo, d.marks = false, now, nil
		return nil
	}
	if err != nil {
		return fmt.Errorf("read end of %s: %w", d.stream, err)
	}
	d.exists = true
	consumer, err := stream.Consumer(ctx, d.durable)
	if errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) { // Nobody has read it yet, or it went just now.
		return nil
	}
	if err != nil {
		return fmt.Errorf("read position on %s: %w", d.stream, err)
	}
	end := stream.CachedInfo()
	d.note(mark{at: lifecycle.MicrosOf(end.TimeStamp), seq: end.State.LastSeq}, consumer.CachedInfo())
	return nil
}

// note adds where the stream ends, and takes away what is stored. Lines that were discarded before they were read are never acknowledged:
// when the durable has nothing to do, whatever has been there for a while is stored or gone.
func (d *drain) note(end mark, info *jetstream.ConsumerInfo) {
	if len(d.marks) < marksKept {
		d.marks = append(d.marks, end)
	}
	idle := info.NumPending == 0 && info.NumAckPending == 0
	for len(d.marks) > 0 && (d.marks[0].seq <= info.AckFloor.Stream || (idle && d.marks[0].at.Add(lateCount) <= end.at)) {
		d.upTo, d.marks = max(d.upTo, d.marks[0].at), d.marks[1:]
	}
}
