package brokersync

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors"
	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// memory is what the reconciler remembers between polls. It may be lost: it only saves asking twice, and delays what needs two looks.
type memory struct {
	ready     bool
	tasks     jetstream.Stream
	stream    lifecycle.StreamID // The incarnation that the rest is about.
	consumers map[consumerKey]lifecycle.ConsumerState
	acks      drain
	events    drain
	publishes drain

	state    jetstream.StreamState // Of the stream at the last look, with the list of deleted sequences if it was asked for.
	cursor   uint64                // Where the next page of the stream begins.
	sweep    sweep
	missing  map[uint64]lifecycle.Micros // Open messages that are not in the stream, since when.
	settled  map[uint64]lifecycle.Micros // Messages in the stream that the store calls settled, until when not to be asked about again.
	answered map[string]uint64           // By consumer: the delivery of which the time has been looked for.
	looks    []mark                      // Latest looks: time and last sequence.
	compared sequences
	asked    uint64           // The last message asked about, where not all could be.
	unlisted lifecycle.Micros // When unlisted tasks were last asked for.
	earlier  lifecycle.Micros // When earlier incarnations were last asked for.
}

// load prepares the memory once.
func (c *Collector) load(ctx context.Context) error {
	if c.seen.ready {
		return nil
	}
	known, err := c.cfg.Reader.Consumers(ctx)
	if err != nil {
		return fmt.Errorf("read consumers: %w", err)
	}
	m := memory{consumers: map[consumerKey]lifecycle.ConsumerState{}, ready: true}
	for _, k := range known {
		m.consumers[consumerKey{k.Stream, k.Name}] = k
	}
	m.acks = drain{stream: fleet.CaptureAck, durable: collectors.DurableName(c.cfg.Durable, "acks")}
	m.events = drain{stream: fleet.CaptureEvt, durable: collectors.DurableName(c.cfg.Durable, "advisories")}
	m.publishes = drain{stream: fleet.CapturePub, durable: collectors.DurableName(c.cfg.Durable, "publishes")}
	m.forget(lifecycle.StreamID{})
	c.seen = m
	return nil
}

// forget drops what was remembered of another incarnation.
func (m *memory) forget(stream lifecycle.StreamID) {
	m.stream, m.state, m.cursor, m.sweep, m.looks, m.compared = stream, jetstream.StreamState{}, 0, sweep{}, nil, sequences{}
	m.missing, m.settled, m.answered = map[uint64]lifecycle.Micros{}, map[uint64]lifecycle.Micros{}, map[string]uint64{}
}
