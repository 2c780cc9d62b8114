package rowcodec

import (
	"fmt"
	"time"

	"fleetglass/lifecycle"
)

// AppendMessage appends the facts of a message, without its key.
func AppendMessage(b []byte, m *lifecycle.MessageFacts) []byte {
	w := writer(b)
	w.text(1, m.TaskID)
	w.text(2, m.Agent)
	w.text(3, m.Consumer)
	if m.Stored != nil {
		w.group(4, func(w *writer) { writeStored(w, m.Stored) })
	}
	for i := range m.Attempts {
		w.group(5, func(w *writer) { writeAttempt(w, &m.Attempts[i]) })
	}
	for _, d := range m.Deliveries {
		w.group(6, func(w *writer) { w.uint(1, d.CSeq); w.at(2, d.At); w.at(3, d.Bound) })
	}
	w.at(7, m.MaxDeliveriesAt)
	w.at(8, m.RecreatedAt)
	w.at(9, m.RefutedAt)
	w.at(10, m.VanishedAt)
	w.text(11, m.VanishedWhy)
	w.at(12, m.OrphanedAt)
	w.at(13, m.AdoptedAt)
	if d := m.Dead; d != nil {
		w.group(14, func(w *writer) {
			w.at(1, d.At)
			w.text(2, d.Entry)
			w.text(3, d.Category)
			w.text(4, d.Path)
			w.text(5, d.Reason)
		})
	}
	w.bool(15, m.Repaired)
	w.at(16, m.FirstAt)
	w.at(17, m.LastAt)
	if t := m.Triage; t != nil {
		w.group(18, func(w *writer) {
			w.uint(1, t.Revision)
			w.text(2, string(t.Outcome))
			w.text(3, t.Action)
			w.text(4, t.Actor)
			w.text(5, t.Reason)
			w.at(6, t.At)
			w.at(7, t.Until)
		})
	}
	w.text(19, string(m.Removal))
	w.bool(20, m.Undelivered)
	w.bool(21, m.Forged)
	w.text(22, m.Worker)
	return w
}

func writeStored(w *writer, s *lifecycle.StoredFacts) {
	w.at(1, s.At)
	w.text(2, s.MsgID)
	w.text(3, s.Subject)
	w.text(4, s.Type)
	w.text(5, s.Title)
	w.text(6, s.IdempotencyKey)
	w.text(7, s.PayloadHash)
	w.int(8, int64(s.Generation))
	w.text(9, s.RetryOf)
	w.text(10, s.TraceParent)
	w.at(11, s.CreatedAt)
	w.int(12, s.Size)
	w.int(13, int64(s.TTL))
	w.text(14, s.Agent)
	w.uint(15, s.Line)
}

func writeAttempt(w *writer, a *lifecycle.AttemptFacts) {
	w.int(1, int64(a.N))
	for _, c := range a.CSeqs {
		w.member(2, c)
	}
	w.at(3, a.DeliveredAt)
	w.at(4, a.SeenAt)
	w.at(5, a.FirstBeat)
	w.at(6, a.LastBeat)
	w.at(7, a.NakAt)
	w.int(8, a.NakDelay)
	w.at(9, a.TermAt)
	w.text(10, a.TermReason)
	w.at(11, a.AckAt)
	w.at(12, a.LastAckAt)
	w.at(13, a.ConfirmedAt)
	writeExpiry(w, 14, a.Expired)
	writeExpiry(w, 15, a.Dead)
	w.at(16, a.LastNakAt)
	w.at(17, a.LastAt)
}

func writeExpiry(w *writer, field int, x *lifecycle.Expiry) {
	if x != nil {
		w.group(field, func(w *writer) { w.at(1, x.Basis); w.at(2, x.Deadline); w.text(3, x.Reason); w.at(4, x.Judged) })
	}
}

// Message reads what AppendMessage wrote.
func Message(key lifecycle.MessageKey, b []byte) (lifecycle.MessageFacts, error) {
	m := lifecycle.MessageFacts{Key: key}
	r := reader{rest: b}
	for field := r.next(); field != 0; field = r.next() {
		switch field {
		case 1:
			m.TaskID = r.text()
		case 2:
			m.Agent = r.text()
		case 3:
			m.Consumer = r.text()
		case 4:
			m.Stored = &lifecycle.StoredFacts{}
			r.group(func(r *reader) { readStored(r, m.Stored) })
		case 5:
			m.Attempts = append(m.Attempts, lifecycle.AttemptFacts{})
			r.group(func(r *reader) { readAttempt(r, &m.Attempts[len(m.Attempts)-1]) })
		case 6:
			m.Deliveries = append(m.Deliveries, lifecycle.DeliveryFacts{})
			r.group(func(r *reader) { readDelivery(r, &m.Deliveries[len(m.Deliveries)-1]) })
		case 7:
			m.MaxDeliveriesAt = r.at()
		case 8:
			m.RecreatedAt = r.at()
		case 9:
			m.RefutedAt = r.at()
		case 10:
			m.VanishedAt = r.at()
		case 11:
			m.VanishedWhy = r.text()
		case 12:
			m.OrphanedAt = r.at()
		case 13:
			m.AdoptedAt = r.at()
		case 14:
			m.Dead = &lifecycle.DeadFacts{}
			r.group(func(r *reader) { readDead(r, m.Dead) })
		case 15:
			m.Repaired = r.bool()
		case 16:
			m.FirstAt = r.at()
		case 17:
			m.LastAt = r.at()
		case 18:
			m.Triage = &lifecycle.TriageFacts{}
			r.group(func(r *reader) { readTriage(r, m.Triage) })
		case 19:
			m.Removal = lifecycle.Removal(r.text())
		case 20:
			m.Undelivered = r.bool()
		case 21:
			m.Forged = r.bool()
		case 22:
			m.Worker = r.text()
		}
	}
	if r.err != nil {
		return lifecycle.MessageFacts{}, fmt.Errorf("read facts of %v: %w", key, r.err)
	}
	return m, nil
}

func readStored(r *reader, s *lifecycle.StoredFacts) {
	for field := r.next(); field != 0; field = r.next() {
		switch field {
		case 1:
			s.At = r.at()
		case 2:
			s.MsgID = r.text()
		case 3:
			s.Subject = r.text()
		case 4:
			s.Type = r.text()
		case 5:
			s.Title = r.text()
		case 6:
			s.IdempotencyKey = r.text()
		case 7:
			s.PayloadHash = r.text()
		case 8:
			s.Generation = int(r.int())
		case 9:
			s.RetryOf = r.text()
		case 10:
			s.TraceParent = r.text()
		case 11:
			s.CreatedAt = r.at()
		case 12:
			s.Size = r.int()
		case 13:
			s.TTL = time.Duration(r.int())
		case 14:
			s.Agent = r.text()
		case 15:
			s.Line = r.uint()
		}
	}
}

func readAttempt(r *reader, a *lifecycle.AttemptFacts) {
	for field := r.next(); field != 0; field = r.next() {
		switch field {
		case 1:
			a.N = int(r.int())
		case 2:
			a.CSeqs = append(a.CSeqs, r.uint())
		case 3:
			a.DeliveredAt = r.at()
		case 4:
			a.SeenAt = r.at()
		case 5:
			a.FirstBeat = r.at()
		case 6:
			a.LastBeat = r.at()
		case 7:
			a.NakAt = r.at()
		case 8:
			a.NakDelay = r.int()
		case 9:
			a.TermAt = r.at()
		case 10:
			a.TermReason = r.text()
		case 11:
			a.AckAt = r.at()
		case 12:
			a.LastAckAt = r.at()
		case 13:
			a.ConfirmedAt = r.at()
		case 14:
			a.Expired = readExpiry(r)
		case 15:
			a.Dead = readExpiry(r)
		case 16:
			a.LastNakAt = r.at()
		case 17:
			a.LastAt = r.at()
		}
	}
}

func readExpiry(r *reader) *lifecycle.Expiry {
	x := &lifecycle.Expiry{}
	r.group(func(r *reader) {
		for field := r.next(); field != 0; field = r.next() {
			switch field {
			case 1:
				x.Basis = r.at()
			case 2:
				x.Deadline = r.at()
			case 3:
				x.Reason = r.text()
			case 4:
				x.Judged = r.at()
			}
		}
	})
	return x
}

func readDelivery(r *reader, d *lifecycle.DeliveryFacts) {
	for field := r.next(); field != 0; field = r.next() {
		switch field {
		case 1:
			d.CSeq = r.uint()
		case 2:
			d.At = r.at()
		case 3:
			d.Bound = r.at()
		}
	}
}

func readDead(r *reader, d *lifecycle.DeadFacts) {
	for field := r.next(); field != 0; field = r.next() {
		switch field {
		case 1:
			d.At = r.at()
		case 2:
			d.Entry = r.text()
		case 3:
			d.Category = r.text()
		case 4:
			d.Path = r.text()
		case 5:
			d.Reason = r.text()
		}
	}
}

func readTriage(r *reader, t *lifecycle.TriageFacts) {
	for field := r.next(); field != 0; field = r.next() {
		switch field {
		case 1:
			t.Revision = r.uint()
		case 2:
			t.Outcome = lifecycle.Outcome(r.text())
		case 3:
			t.Action = r.text()
		case 4:
			t.Actor = r.text()
		case 5:
			t.Reason = r.text()
		case 6:
			t.At = r.at()
		case 7:
			t.Until = r.at()
		}
	}
}
