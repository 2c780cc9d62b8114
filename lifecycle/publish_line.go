package lifecycle

import (
	"cmp"
	"slices"
)

// A publish line says what the stream stored under a sequence. Whoever may publish under the subject of the capture can send one too, about
// the message of somebody else. So of several that differ one counts: what was read from the stream itself, else the line that was
// captured first; and that they differ is kept.

// publishLine is the place of a publish line among those of a message; zero for what was read from the stream itself.
func publishLine(e Event) uint64 {
	if e.Kind == Repaired {
		return 0
	}
	return max(e.SourceSeq, 1)
}

func storedFacts(e Event) StoredFacts {
	d := e.Detail
	return StoredFacts{
		At: e.At, MsgID: d.MsgID, Subject: d.Subject, Type: d.Type, Title: d.Title, IdempotencyKey: d.IdempotencyKey,
		PayloadHash: d.PayloadHash, Generation: d.Generation, RetryOf: d.RetryOf, TraceParent: d.TraceParent, Publisher: d.Publisher,
		CreatedAt: d.CreatedAt, Size: d.Size, TTL: d.TTL, Window: d.Window, Schedule: d.Schedule, Target: d.Target, Agent: e.Agent, Line: publishLine(e),
	}
}

// joinStored adds what a publish line says.
func (m *MessageFacts) joinStored(s StoredFacts) {
	old := m.Stored
	if old == nil {
		m.Stored = &s
		return
	}
	m.Forged = m.Forged || !old.sameMessage(s)
	if s.compare(*old) < 0 {
		m.Stored = &s
	}
}

// Unread reports whether the stream should be read for the message: nothing says what it is, or what says so differs and was not compared.
func (m *MessageFacts) Unread() bool { return m.Stored == nil || (m.Forged && !m.Repaired) }

// sameMessage reports whether two lines can speak of one message. A line without a body knows no fingerprint.
func (s *StoredFacts) sameMessage(o StoredFacts) bool {
	hash := s.PayloadHash == o.PayloadHash || s.PayloadHash == "" || o.PayloadHash == ""
	return hash && s.At == o.At && s.Subject == o.Subject && s.MsgID == o.MsgID
}

// compare orders lines: the one that counts comes first.
func (s StoredFacts) compare(o StoredFacts) int {
	return cmp.Or(cmp.Compare(s.Line, o.Line), cmp.Compare(s.At, o.At), cmp.Compare(s.MsgID, o.MsgID), cmp.Compare(s.Subject, o.Subject),
		cmp.Compare(s.PayloadHash, o.PayloadHash), cmp.Compare(s.Generation, o.Generation))
}

// Displaced tells the payloads that belong to the messages as they are known from those that do not, which some other publish line brought.
// Call it after [Fold.Changes].
func (f *Fold) Displaced(all []Payload) (kept []Payload, displaced []QuarantinedLine) {
	if !slices.ContainsFunc(all, f.foreign) {
		return all, nil
	}
	for _, p := range all {
		if !f.foreign(p) {
			kept = append(kept, p)
			continue
		}
		displaced = append(displaced, QuarantinedLine{
			ID: NewEventID("displaced", p.Message.String(), p.Hash), Source: p.Message.Stream.Name, SourceSeq: p.Message.Seq, At: p.At,
			Headers: p.Headers, Body: p.Body, Reason: "forged: another publish line of message " + p.Message.String() + " counts",
		})
	}
	return kept, displaced
}

func (f *Fold) foreign(p Payload) bool {
	m := f.messages[p.Message]
	return m != nil && m.facts.Stored != nil && !m.facts.Stored.brought(p)
}

// brought reports whether the payload came with the line.
func (s *StoredFacts) brought(p Payload) bool {
	return p.Hash == "" || s.PayloadHash == "" || s.PayloadHash == p.Hash && s.At == p.At
}
