package brokersync

import (
	"context"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors"
	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// read reads the messages that the stream holds in a range.
func (a *answerer) read(ctx context.Context, r ReadRange) (Reading, error) {
	out := Reading{Reached: r.To}
	for at := r.From; at <= r.To; at++ {
		if len(out.Messages) == r.Limit {
			out.Reached = at - 1
			break
		}
		m, err := a.next(ctx, at)
		if err != nil {
			return out, err
		}
		if m == nil || m.Sequence > r.To {
			break
		}
		out.Messages = append(out.Messages, ReadMessage{Seq: m.Sequence, At: lifecycle.MicrosOf(m.Time), Hidden: fleet.EscapesCapture(m.Header), Batch: a.decode(m)})
		at = m.Sequence
	}
	return out, nil
}

// next is the first message at or after a sequence; nil when there is none. What the observation says to be gone is not asked for.
func (a *answerer) next(ctx context.Context, at uint64) (*jetstream.RawStreamMsg, error) {
	p := a.seen.Present
	if at < p.First {
		at = p.First
	}
	if at >= p.From && at <= p.To {
		found := uint64(0)
		p.Between(at, p.To, func(seq uint64) bool { found = seq; return false })
		switch {
		case found > 0:
			at = found
		case p.To == p.Last:
			return nil, nil
		default:
			at = p.To + 1
		}
	}
	return messageFrom(ctx, a.stream, at)
}

// decode reads a message as its publish line would have been read: with the headers of a republished one.
func (a *answerer) decode(m *jetstream.RawStreamMsg) lifecycle.Batch {
	headers := map[string][]string{}
	for name, values := range m.Header {
		headers[name] = values[:len(values):len(values)]
	}
	for name, value := range map[string]string{
		fleet.HeaderNatsStream: a.seen.Stream.Name, fleet.HeaderNatsSubject: m.Subject,
		fleet.HeaderNatsSequence: strconv.FormatUint(m.Sequence, 10), fleet.HeaderNatsTimeStamp: m.Time.UTC().Format(time.RFC3339Nano),
	} {
		headers[name] = append(headers[name], value)
	}
	line := collectors.Line{Source: a.seen.Stream, Seq: m.Sequence, At: lifecycle.MicrosOf(m.Time), Subject: m.Subject, Headers: headers, Body: m.Data}
	var read lifecycle.Batch
	if err := a.cfg.Stored(line, a.streams.Within(a.seen.Stream), &read); err != nil {
		return lifecycle.Batch{Quarantined: []lifecycle.QuarantinedLine{line.Quarantined(err.Error())}}
	}
	for i := range read.Events {
		e := &read.Events[i]
		e.ID = lifecycle.NewEventID(Name, string(lifecycle.Repaired), e.Message.String())
		e.Kind, e.Provenance, e.Source, e.SourceSeq = lifecycle.Repaired, lifecycle.Broker, Name, 0
	}
	return read
}
