package advisories

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"fleetglass/collectors"
	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// New returns the collector of OBS_EVT.
func New(cfg collectors.Config) (*collectors.Collector, error) {
	return collectors.New(cfg, collectors.Source{
		Name: "advisories", Stream: fleet.CaptureEvt, Decode: Decode, AfterPublishes: true, Resolves: true, Consumer: consumerOf, Leaving: leaving,
	})
}

// leaving is the message that a line says has left its stream unanswered.
func leaving(line collectors.Line) (collectors.MessageRef, bool) {
	a, said := answered(line)
	return collectors.MessageRef{Stream: a.Stream, Seq: a.StreamSeq}, said && a.removes()
}

// consumerOf is the consumer that is said to have delivered a message that somebody answered, or that has left.
func consumerOf(line collectors.Line) (collectors.ConsumerRef, bool) {
	a, said := answered(line)
	return collectors.ConsumerRef{Stream: a.Stream, Name: a.Consumer}, said
}

// answered reads a line by which the broker speaks of a removal, or repeats what a worker said.
func answered(line collectors.Line) (a advisory, said bool) {
	speaks := func(of string) bool { return bytes.Contains(line.Body, []byte(of)) }
	if !slices.ContainsFunc(answers, speaks) || json.Unmarshal(line.Body, &a) != nil || !slices.Contains(answers, a.Type) {
		return a, false
	}
	return a, a.StreamSeq > 0 && a.StreamSeq <= collectors.MaxSequence && collectors.CheckConsumer(a.Consumer) == nil && collectors.CheckStream(a.Stream) == nil
}

// removes reports whether the advisory speaks of a removal: a worker's +TERM carries the worker's own words and its attempt.
func (a advisory) removes() bool {
	return a.Type == typeTerminated && (a.Reason == lifecycle.BrokerDeleted || a.Reason == lifecycle.BrokerMissed || a.Deliveries == 0)
}

// Types of the lines that become events.
const (
	typeMaxDeliver = "io.nats.jetstream.advisory.v1.max_deliver"
	typeNak        = "io.nats.jetstream.advisory.v1.nak"
	typeTerminated = "io.nats.jetstream.advisory.v1.terminated"
	typeAckMetric  = "io.nats.jetstream.metric.v1.consumer_ack"
)

// answers are the types of which it matters what the broker says of their consumer.
var answers = []string{typeTerminated, typeAckMetric}

// advisory is the union of the fields of those types.
type advisory struct {
	Type        string    `json:"type"`
	Time        time.Time `json:"timestamp"`
	Domain      string    `json:"domain"`
	Stream      string    `json:"stream"`
	Consumer    string    `json:"consumer"`
	ConsumerSeq uint64    `json:"consumer_seq"`
	StreamSeq   uint64    `json:"stream_seq"`
	Deliveries  uint64    `json:"deliveries"`
	Reason      string    `json:"reason"`
	AckTime     int64     `json:"ack_time"` // Nanoseconds.
}

// maxDeliveries bounds the delivery count that is believed.
const maxDeliveries = 1 << 31

// Decode turns an advisory or ack metric about a message into an event. Types that the broker is known to send but that say nothing
// about a message are ignored; [collectors.Incarnations] reads those about streams by itself. It errors on types that are not known,
// on what is not JSON, and on numbers that cannot be a broker's.
func Decode(line collectors.Line, streams collectors.Streams, into *lifecycle.Batch) error {
	var a advisory
	if err := json.Unmarshal(line.Body, &a); err != nil {
		return fmt.Errorf("decode advisory: %w", err)
	}
	kind, about := kinds[a.Type]
	if !about {
		if ignored[a.Type] {
			return nil
		}
		return fmt.Errorf("type %q is not known", a.Type)
	}
	at := lifecycle.MicrosOf(a.Time)
	if err := a.check(at, line.At); err != nil {
		return err
	}
	key, err := streams.Message(a.Domain, a.Stream, at, a.StreamSeq)
	if err != nil {
		return err
	}
	if last, beyond := streams.Beyond(key); beyond {
		return fmt.Errorf("forged: message %s does not exist: the stream ends at %d", key, last)
	}
	if err := a.contradicted(key, at, streams); err != nil {
		return err
	}
	e := line.Event(kind)
	e.At, e.Message, e.Consumer, e.Agent = at, key, a.Consumer, fleet.AgentOfWorker(a.Consumer)
	e.ConsumerSeq, e.Attempt = a.ConsumerSeq, int(a.Deliveries)
	if a.removes() && a.Deliveries > 1 { // Of a removal the broker names the sequence of the first delivery, and how often it delivered again.
		e.ConsumerSeq = 0
	}
	e.Detail = lifecycle.Detail{Ending: lifecycle.Ending{Reason: a.Reason, AckTime: time.Duration(max(a.AckTime, 0))}, Standing: streams.Shared(key, a.Consumer)}
	if a.Type == typeTerminated && streams.NeverDelivered(key, a.Consumer, at, a.ConsumerSeq) { // The broker repeats whatever is sent to it.
		e.Detail.Unproved, e.Detail.Undelivered = true, true
	}
	e.Detail.Former = a.Type == typeAckMetric && streams.OfFormer(key, a.Consumer, a.ConsumerSeq, at, 0) // When the message was stored it does not say.
	e.Detail.Own = a.Type == typeTerminated && !a.removes() && e.Attempt > 0 && streams.TakesOwn(key, a.Consumer)
	e.Raw = line.Raw()
	into.Events = append(into.Events, e)
	return nil
}

// Bounds of what a broker can say.
const (
	clockLead  = time.Minute          // How far the clock of the server that speaks may be ahead of that of the one that captured the line.
	maxAckTime = 366 * 24 * time.Hour // No answer takes longer.
)

func (a advisory) check(at, captured lifecycle.Micros) error {
	switch {
	case a.Time.IsZero():
		return errors.New("advisory has no time")
	case captured.Known() && at > captured.Add(clockLead):
		return fmt.Errorf("forged: the advisory is dated %s, after its line was captured", a.Time.Format(time.RFC3339))
	case a.AckTime > int64(maxAckTime):
		return fmt.Errorf("forged: an answer is said to have taken %s", time.Duration(a.AckTime))
	case !a.removes() && a.ConsumerSeq > 0 && a.Deliveries > a.ConsumerSeq:
		return fmt.Errorf("forged: delivery %d of a message cannot be the consumer's delivery %d", a.Deliveries, a.ConsumerSeq)
	}
	if a.ConsumerSeq > collectors.MaxSequence {
		return fmt.Errorf("consumer sequence %d is beyond 2^53", a.ConsumerSeq)
	}
	if a.Deliveries > maxDeliveries {
		return fmt.Errorf("delivery count %d is beyond 2^31", a.Deliveries)
	}
	return collectors.CheckConsumer(a.Consumer)
}

// contradicted errors where the broker's state contradicts that a message was removed from a worker's hands: it is in the stream, or its consumer never
// delivered it. So it does where an acknowledgement was measured of a consumer whose answers the broker does not measure. That a consumer never delivered what was
// answered proves nothing: a broker that is killed, or whose disk is full, forgets deliveries.
func (a advisory) contradicted(key lifecycle.MessageKey, at lifecycle.Micros, streams collectors.Streams) error {
	switch {
	case a.Type == typeAckMetric && streams.Unmeasured(key, a.Consumer):
		return fmt.Errorf("forged, or sent before its consumer was changed: the broker does not measure the acknowledgements of consumer %s", a.Consumer)
	case !a.removes():
		return nil
	case streams.Holds(key):
		return fmt.Errorf("forged: message %s is in the stream", key)
	case streams.NeverDelivered(key, a.Consumer, at, a.ConsumerSeq):
		return fmt.Errorf("forged: consumer %s never delivered message %s", a.Consumer, key)
	}
	return nil
}

var kinds = map[string]lifecycle.Kind{
	typeMaxDeliver: lifecycle.ExhaustionSaid,
	typeNak:        lifecycle.NakConfirmed,
	typeTerminated: lifecycle.TermConfirmed,
	typeAckMetric:  lifecycle.AckConfirmed,
}

// ignored are the other types that the broker sends.
var ignored = map[string]bool{
	collectors.TypeStreamAction:                             true,
	"io.nats.jetstream.advisory.v1.api_audit":               true,
	"io.nats.jetstream.advisory.v1.api_limit_reached":       true,
	"io.nats.jetstream.advisory.v1.consumer_action":         true,
	"io.nats.jetstream.advisory.v1.consumer_group_pinned":   true,
	"io.nats.jetstream.advisory.v1.consumer_group_unpinned": true,
	"io.nats.jetstream.advisory.v1.consumer_leader_elected": true,
	"io.nats.jetstream.advisory.v1.consumer_pause":          true,
	"io.nats.jetstream.advisory.v1.consumer_quorum_lost":    true,
	"io.nats.jetstream.advisory.v1.domain_leader_elected":   true,
	"io.nats.jetstream.advisory.v1.meta_rescue":             true,
	"io.nats.jetstream.advisory.v1.restore_complete":        true,
	"io.nats.jetstream.advisory.v1.restore_create":          true,
	"io.nats.jetstream.advisory.v1.server_out_of_space":     true,
	"io.nats.jetstream.advisory.v1.server_removed":          true,
	"io.nats.jetstream.advisory.v1.snapshot_complete":       true,
	"io.nats.jetstream.advisory.v1.snapshot_create":         true,
	"io.nats.jetstream.advisory.v1.stream_batch_abandoned":  true,
	"io.nats.jetstream.advisory.v1.stream_leader_elected":   true,
	"io.nats.jetstream.advisory.v1.stream_quorum_lost":      true,
}
