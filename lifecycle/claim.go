package lifecycle

import (
	"cmp"
	"slices"
	"time"
)

// An acknowledgement is a line that anybody may send. It counts at once where the broker's state proves that it can have had effect; otherwise it is
// kept as a claim (SITUATIONS, "Completion"; ADR 22):
//
//   - A claim whose sender knows when the message was stored shows that a worker was given the message: the attempt counts, its end does not.
//   - A claim ends nothing until the broker's state proves it ([AckConfirmed], [TermConfirmed]) or refutes it ([AckRefuted]).

// Claim is an answer of which the broker's state did not prove the effect when its line was read.
type Claim struct {
	At       Micros        `json:"at"`
	Kind     Kind          `json:"kind"`
	Consumer string        `json:"consumer,omitempty"`
	Worker   string        `json:"worker,omitempty"` // The agent whose consumer it names.
	N        int           `json:"n,omitempty"`
	CSeq     uint64        `json:"cseq,omitempty"`
	SaidAt   Micros        `json:"said,omitempty"` // When the message was stored, as the line says.
	Delay    time.Duration `json:"delay,omitempty"`
	Reason   string        `json:"why,omitempty"`
}

// maxClaimsKept bounds the claims of a message, so that nobody can grow a row without end.
const maxClaimsKept = 64

func (c Claim) compare(o Claim) int {
	return cmp.Or(cmp.Compare(c.At, o.At), cmp.Compare(c.Kind, o.Kind), cmp.Compare(c.Consumer, o.Consumer), cmp.Compare(c.Worker, o.Worker), cmp.Compare(c.N, o.N),
		cmp.Compare(c.CSeq, o.CSeq), cmp.Compare(c.SaidAt, o.SaidAt), cmp.Compare(c.Delay, o.Delay), cmp.Compare(c.Reason, o.Reason))
}

// Ends reports whether the claim would have ended the message.
func (c Claim) Ends() bool { return c.Kind == Acked || c.Kind == Terminated }

func (m *MessageFacts) joinClaim(e Event) {
	c := Claim{
		At: e.At, Kind: e.Kind, Consumer: e.Consumer, Worker: e.Agent, N: e.Attempt, CSeq: e.ConsumerSeq,
		SaidAt: e.Detail.SaidAt, Delay: e.Detail.Delay, Reason: e.Detail.Reason,
	}
	if i, found := slices.BinarySearchFunc(m.Claims, c, Claim.compare); !found {
		m.Claims = slices.Insert(m.Claims, i, c)
		m.Claims = m.Claims[:min(len(m.Claims), maxClaimsKept)]
	}
}

// ByHolder reports whether the sender of a claim was given the message: it knows when the message was stored, to the microsecond.
func (m *MessageFacts) ByHolder(c Claim) bool {
	return m.Stored != nil && c.SaidAt == m.Stored.At
}

// OpenClaim is the latest claim to have ended the message that is neither proved nor refuted; not ok when there is none.
func (m *MessageFacts) OpenClaim() (last Claim, ok bool) {
	for _, c := range m.Claims {
		a := m.attemptFacts(c.N)
		if proved := a.ConfirmedAt >= c.At || a.TermAt > m.RefutedAt; c.Ends() && c.At > m.RefutedAt && !proved {
			last, ok = c, true
		}
	}
	return last, ok
}

// Believed is what is known of the message with what the claims of those that were given it show: that an attempt took place, and signs of
// work in it.
func (m MessageFacts) Believed() MessageFacts {
	if !slices.ContainsFunc(m.Claims, m.ByHolder) {
		return m
	}
	m = m.Clone()
	for _, c := range m.Claims {
		if m.ByHolder(c) {
			m.believe(c)
		}
	}
	m.Agent = firstText(m.Stored.Agent, m.Worker)
	return m
}

func (m *MessageFacts) believe(c Claim) {
	m.Consumer, m.Worker = leastText(m.Consumer, c.Consumer), leastText(m.Worker, c.Worker)
	e := Event{Kind: c.Kind, At: c.At, Attempt: c.N, ConsumerSeq: c.CSeq, Provenance: Observed}
	if e.Detail.Delay = c.Delay; c.Ends() {
		e.Kind = Delivered // Of its end only the broker's state tells.
	}
	m.joinAttempt(e)
}
