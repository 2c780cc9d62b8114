package lifecycle

import "fmt"

// lastReceipt is the latest durable evidence: what would survive if every process died now.
func lastReceipt(t Trace, m MessageTrace) Answer {
	best := Answer{Headline: "None was observed", Text: "The publish line was not captured.", Provenance: Inferred}
	consider := func(at Micros, p Provenance, headline, text string) {
		if at = m.Facts.notBefore(at); at.Known() && at >= best.At {
			best = Answer{Headline: headline, Text: text, At: at, Provenance: p}
		}
	}
	if s := m.Facts.Stored; s != nil {
		consider(s.At, Observed, "The stream stored it", fmt.Sprintf("Stored as %s; nothing later is durable.", m.Facts.Key))
	}
	for _, r := range m.bound.reports {
		consider(r.CheckpointAt, Reported, "A checkpoint", r.speaker()+" reports that work up to it can be resumed.")
		consider(r.ReceiptAt, Reported, "A step receipt", r.speaker()+" reports that the effect is confirmed.")
		consider(r.completed(&m.Facts), Reported, "A reported completion", r.speaker()+" reports a recoverable result.")
		consider(r.SentAt, Reported, "Reported as sent", r.speaker()+" reports that the outside accepted the outgoing message.")
	}
	consider(m.bound.recordedAt, Recorded, "A completion record", "The idempotency store has a completion record of this message.")
	owner := m.lastOwner()
	for _, a := range m.Attempts {
		switch {
		case owner.End == EndAcked && a.EndedAt > owner.EndedAt: // An acknowledgement had ended the message before.
		case a.End == EndAcked && a.AckAt.Known():
			consider(a.AckAt, Observed, "The acknowledgement", acknowledgedText(a, m.named(a)))
		case a.End == EndAcked:
			consider(a.EndedAt, Broker, "The acknowledgement", "The broker accepted the acknowledgement of "+m.named(a)+".")
		}
	}
	for _, p := range m.Others {
		if a := p.lastOwner(); a.End == EndAcked {
			consider(a.AckAt, Observed, "Another consumer's acknowledgement", acknowledgedText(a, p.Facts.Consumer))
		}
	}
	if d := m.Facts.Dead; d != nil && m.Verdict.HasEntry() {
		consider(d.At, Recorded, "The dead-letter entry", "The dead-letter queue stored an entry of this message.")
	}
	return best
}

func acknowledgedText(a Attempt, name string) string {
	text := "The acknowledgement of " + name
	if a.Confirmed {
		text += ", confirmed by the broker"
	}
	return text + "."
}
