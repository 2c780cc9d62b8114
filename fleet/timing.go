package fleet

import (
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Timing is how patient a worker's consumer is.
type Timing struct {
	AckWait    time.Duration   // Silence after which the broker hands a task out again, where Backoff does not say.
	MaxDeliver int             // Attempts in all.
	Backoff    []time.Duration // Overrides AckWait attempt by attempt; no longer than MaxDeliver.
	Heartbeat  time.Duration   // How often a worker says that it is still working.
}

// DefaultTiming is that of SPEC 1. Its backoff overrides its ack wait: the first attempt has 30 seconds.
func DefaultTiming() Timing {
	return Timing{
		AckWait: 5 * time.Minute, MaxDeliver: 3, Backoff: []time.Duration{30 * time.Second, 2 * time.Minute, 5 * time.Minute},
		Heartbeat: 2 * time.Minute,
	}
}

// Worker is the durable consumer of an agent, sampled so that the broker confirms every acknowledgement.
func (c Contract) Worker(agent string, t Timing) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable: WorkerName(agent), FilterSubject: c.TaskSubject(agent, ">"), AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: t.AckWait, MaxDeliver: t.MaxDeliver, BackOff: t.Backoff, MaxAckPending: 1, SampleFrequency: "100",
	}
}

// waitOf is the wait in force for an attempt: backoff overrides the ack wait, and its last step repeats.
func (t Timing) waitOf(attempt int) time.Duration {
	if len(t.Backoff) == 0 {
		return t.AckWait
	}
	return t.Backoff[min(max(attempt, 1), len(t.Backoff))-1]
}
