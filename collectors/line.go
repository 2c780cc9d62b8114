package collectors

import (
	"fmt"

	"fleetglass/lifecycle"
)

// MaxSequence is the largest stream or consumer sequence that is believed: beyond 2^53 numbers are not exact in JSON readers, and no
// stream gets there.
const MaxSequence = 1 << 53

// Limits of what is kept of a line that is not a task's body.
const (
	maxRawBytes        = 64 << 10 // Of [lifecycle.Event.Raw].
	maxQuarantineBytes = 1 << 20  // Of the body of a quarantined line.
)

// Line is one message of a capture stream.
type Line struct {
	Source  lifecycle.StreamID  // The capture stream; Epoch is its creation time, so that a re-created one gives other event ids.
	Seq     uint64              // Sequence in the capture stream.
	At      lifecycle.Micros    // When the capture stream stored it, by the broker's clock.
	Subject string              //
	Headers map[string][]string // Names as they crossed the wire. Shared with the client: not to be changed.
	Body    []byte              // Shared with the client: not to be changed.
}

// ID is the id of the event that the line gives. A line that gives several must tell them apart itself.
func (l Line) ID() lifecycle.EventID { return lifecycle.StreamEventID(l.Source, l.Seq) }

// SourceName is the capture stream without its epoch, as shown to people and as gaps name it.
func (l Line) SourceName() string {
	s := l.Source
	s.Epoch = 0
	return s.String()
}

// Event begins the event that the line gives: id, source, time and provenance are set.
func (l Line) Event(kind lifecycle.Kind) lifecycle.Event {
	return lifecycle.Event{ID: l.ID(), At: l.At, Kind: kind, Provenance: kind.Row().Provenance, Source: l.SourceName(), SourceSeq: l.Seq}
}

// Raw is the line as it crossed the wire: subject, newline, body; at most 64 KiB of it.
func (l Line) Raw() []byte {
	n := min(len(l.Subject)+1+len(l.Body), maxRawBytes)
	raw := make([]byte, 0, n)
	raw = append(raw, l.Subject[:min(len(l.Subject), n)]...)
	if len(raw) < n {
		raw = append(raw, '\n')
	}
	return append(raw, l.Body[:n-len(raw)]...)
}

// Quarantined keeps the line with the reason why it could not be decoded. Bodies over 1 MiB are cut, and the reason says so.
func (l Line) Quarantined(reason string) lifecycle.QuarantinedLine {
	body := l.Body
	if len(body) > maxQuarantineBytes {
		reason = fmt.Sprintf("%s (first %d of %d bytes kept)", reason, maxQuarantineBytes, len(body))
		body = body[:maxQuarantineBytes]
	}
	return lifecycle.QuarantinedLine{
		ID: l.ID(), Source: l.SourceName(), SourceSeq: l.Seq, At: l.At, Subject: storable(l.Subject, maxText),
		Headers: storableHeaders(l.Headers), Body: body, Reason: storable(reason, maxText),
	}
}

// Decoder adds what a line says to a batch. It must be pure: the same line and streams always add the same. When it errors or panics
// the line is quarantined and whatever it added is taken back. A line that adds nothing is counted as ignored.
type Decoder func(line Line, streams Streams, into *lifecycle.Batch) error
