package tasktraces

import (
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"fleetglass/lifecycle"
)

// events adds events to a span, at times that are known.
type events struct {
	span  trace.Span
	added int
}

func (e *events) add(name string, at lifecycle.Micros, attributes ...attribute.KeyValue) {
	if at.Known() && e.added < mostEvents {
		e.added++
		e.span.AddEvent(name, trace.WithTimestamp(at.Time()), trace.WithAttributes(attributes...))
	}
}

// ofAttempt adds what crossed the broker.
func (e *events) ofAttempt(a *lifecycle.Attempt) {
	if a.BeganExact {
		e.add("delivered", a.BeganAt, attribute.Int64("fleetglass.consumer_seq", int64(a.ConsumerSeq)))
	}
	e.add("heartbeat", a.FirstBeat)
	if a.LastBeat != a.FirstBeat {
		e.add("heartbeat", a.LastBeat)
	}
	e.add("acknowledged", a.AckAt, attribute.Bool("fleetglass.confirmed", a.Confirmed))
	switch a.End {
	case lifecycle.EndNacked, lifecycle.EndTerminated, lifecycle.EndTimedOut, lifecycle.EndRemoved:
		e.add(string(a.End), a.EndedAt)
	}
}

// reports adds what agents said, of the reports that are wanted.
func (e events) reports(all []lifecycle.ReportFacts, wanted func(lifecycle.ReportFacts) bool) {
	for _, r := range all {
		if !wanted(r) {
			continue
		}
		by := attribute.String("fleetglass.reported_by", text(r.Agent))
		e.add("reported claimed", r.ClaimedAt, by)
		e.add("reported accepted", r.AcceptedAt, by)
		e.add("reported checkpoint", r.CheckpointAt, by)
		e.add("reported outbound sent", r.SentAt, by)
		e.add("reported duplicate caught", r.DuplicateAt, by)
		e.add("reported completed", r.CompletedAt, by)
		e.add("reported failed", r.FailedAt, by, attribute.String("fleetglass.reason", text(r.FailedWhy)))
	}
}

// stored is what is known of a message as it was stored.
type stored struct{ *lifecycle.MessageTrace }

// first is the first message of the task; the zero value where none is known.
func (t *telling) first() stored {
	if len(t.task.Messages) == 0 {
		return stored{}
	}
	return stored{&t.task.Messages[0]}
}

func (s stored) at() lifecycle.Micros {
	if s.MessageTrace == nil || s.Facts.Stored == nil {
		return 0
	}
	return s.Facts.Stored.At
}

func (s stored) attributes() []attribute.KeyValue {
	if s.MessageTrace == nil {
		return nil
	}
	out := []attribute.KeyValue{
		attribute.String("messaging.system", "nats"), attribute.String("fleetglass.stream", text(s.Facts.Key.Stream.Name)),
		attribute.Int64("fleetglass.seq", int64(s.Facts.Key.Seq)), attribute.Int("fleetglass.generation", s.Facts.Generation()),
	}
	if m := s.Facts.Stored; m != nil {
		out = append(out, attribute.String("messaging.destination.name", text(m.Subject)), attribute.String("messaging.message.id", text(m.MsgID)))
	}
	return out
}

func anomalies(s lifecycle.TaskSummary) []string {
	out := []string{}
	for _, a := range s.Anomalies {
		out = append(out, string(a))
	}
	return out
}

func openGaps(all []lifecycle.Gap) (n int) {
	for _, g := range all {
		if !g.Repaired {
			n++
		}
	}
	return n
}

// firstKnown is the first of the times that is known; zero where none is.
func firstKnown(times ...lifecycle.Micros) lifecycle.Micros {
	for _, at := range times {
		if at.Known() {
			return at
		}
	}
	return 0
}

// text makes a text of the fleet safe to send: valid UTF-8, which the protocol needs, and bounded.
func text(s string) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	if len(s) <= mostText {
		return s
	}
	return strings.ToValidUTF8(s[:mostText], "") + "…"
}
