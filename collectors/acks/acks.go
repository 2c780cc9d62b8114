package acks

import (
	"fmt"

	"fleetglass/collectors"
	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// New returns the collector of OBS_ACK.
func New(cfg collectors.Config) (*collectors.Collector, error) {
	return collectors.New(cfg, collectors.Source{
		Name: "acks", Stream: fleet.CaptureAck, Decode: Decode, AfterPublishes: true, Resolves: true, Answers: true, Consumer: consumerOf, Stored: storedAt,
	})
}

// consumerOf is the consumer that an acknowledgement names.
func consumerOf(line collectors.Line) (collectors.ConsumerRef, bool) {
	s, err := ParseSubject(line.Subject)
	return collectors.ConsumerRef{Stream: s.Stream, Name: s.Consumer}, err == nil
}

// storedAt is when the message was stored that an acknowledgement answers, as the line says.
func storedAt(line collectors.Line) (lifecycle.Micros, bool) {
	s, err := ParseSubject(line.Subject)
	return s.PublishedAt, err == nil
}

// Decode turns a captured acknowledgement into an Acked, Nacked, Terminated or Heartbeat event. An event that the broker's state does not prove to
// have had effect says so ([lifecycle.Standing]). It errors where the line cannot have had
// an effect: an odd subject, a body that the broker ignores, or a message that the stream does not have yet. It errors too where the line names another domain:
// whoever answers writes that name, and nobody looks at that domain's streams.
func Decode(line collectors.Line, streams collectors.Streams, into *lifecycle.Batch) error {
	s, err := ParseSubject(line.Subject)
	if err != nil {
		return err
	}
	if fleet.IsReader(s.Consumer) { // Fleetglass took an entry over: no worker's answer.
		return nil
	}
	b, ok := ParseBody(line.Body)
	if !ok {
		return fmt.Errorf("the broker ignores the body %q", clip(string(line.Body)))
	}
	key, err := streams.Answered(s.Domain, s.Stream, s.PublishedAt, s.Seq, line.At)
	if err != nil {
		return err
	}
	if streams.Elsewhere(key) {
		return fmt.Errorf("message %s is of a domain that is not observed", key)
	}
	if last, beyond := streams.Beyond(key); beyond {
		return fmt.Errorf("message %s does not exist: the stream ends at %d", key, last)
	}
	e := line.Event(b.Kind)
	e.Message, e.Consumer, e.Agent = key, s.Consumer, fleet.AgentOfWorker(s.Consumer)
	e.ConsumerSeq, e.Attempt = s.ConsumerSeq, s.Deliveries
	ends := b.Kind == lifecycle.Acked || b.Kind == lifecycle.Terminated
	e.Detail = lifecycle.Detail{Ending: lifecycle.Ending{Delay: b.Delay, Reason: b.Reason}, Standing: streams.Standing(key, s.Consumer, s.ConsumerSeq, line.At, s.PublishedAt, ends)}
	if ends {
		e.Detail.SaidAt = s.PublishedAt
	}
	e.Detail.Undelivered = e.Detail.Unproved && streams.NeverDelivered(key, s.Consumer, s.PublishedAt, s.ConsumerSeq)
	if by := line.Headers[fleet.HeaderTriageAction]; len(by) > 0 && b.Kind == lifecycle.Nacked {
		e.Detail.Action, e.Detail.ActionID = lifecycle.ActionRelease, clip(by[0]) // The line says so; who else sends it speaks for a worker too.
		e.ConsumerSeq = 0                                                         // It names any delivery that the broker takes an answer to, where that of the attempt was not known.
	}
	e.Raw = line.Raw()
	into.Events = append(into.Events, e)
	return nil
}
