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
//   - An answer that says another time than that of the message is from somebody who was never given it. Whether it ended the message, and who did the
//     work, cannot be known, so that it ends nothing either (ADR 45). While the message's own line was not seen nothing is doubted.
//   - Who reads the stream knows that time too. Where the consumer that a claim names has not delivered the message, and no other of its name lived since it
//     was stored, nobody was given the message: the claim shows nothing at all.
//   - The worker of one agent was never given the message for another. What it answers in the name of a consumer that takes its own tasks alone shows nothing.
//   - Where an earlier consumer of its name made the delivery that is answered, the attempt is that one's ([MessageFacts.Former]).
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
	Taken    bool          `json:"taken,omitempty"` // The broker can have accepted it: it counts once the message is known to have been stored when it says.

	Own         bool `json:"own,omitempty"`         // Its consumer takes the tasks of its agent alone.
	Former      bool `json:"former,omitempty"`      // The consumer of its name that lived before made the delivery that it answers.
	Undelivered bool `json:"undelivered,omitempty"` // The broker's state proves that its consumer did not make the delivery that it answers: it shows no attempt, and is never proved.
}

// maxClaimsKept bounds the claims of a message, so that nobody can grow a row without end.
const maxClaimsKept = 64

func (c Claim) compare(o Claim) int {
	return cmp.Or(cmp.Compare(c.At, o.At), cmp.Compare(c.Kind, o.Kind), cmp.Compare(c.Consumer, o.Consumer), cmp.Compare(c.Worker, o.Worker), cmp.Compare(c.N, o.N),
		cmp.Compare(c.CSeq, o.CSeq), cmp.Compare(c.SaidAt, o.SaidAt), cmp.Compare(c.Delay, o.Delay), cmp.Compare(c.Reason, o.Reason), compareFlag(c.Taken, o.Taken), compareFlag(c.Undelivered, o.Undelivered), compareFlag(c.Own, o.Own), compareFlag(c.Former, o.Former))
}

// Ends reports whether the claim would have ended the message.
func (c Claim) Ends() bool { return c.Kind == Acked || c.Kind == Terminated }

func (m *MessageFacts) joinClaim(e Event) {
	c := Claim{
		At: e.At, Kind: e.Kind, Consumer: e.Consumer, Worker: e.Agent, N: e.Attempt, CSeq: e.ConsumerSeq,
		SaidAt: e.Detail.SaidAt, Delay: e.Detail.Delay, Reason: e.Detail.Reason, Taken: !e.Detail.Unproved, Undelivered: e.Detail.Undelivered, Own: e.Detail.Own, Former: e.Detail.Former,
	}
	if len(m.Consumers) > 0 && c.Consumer != m.Consumer {
		m.keepClaim(c)
	} else {
		m.Claims = withClaim(m.Claims, c)
	}
}

// keepClaim keeps a claim under the name of its consumer, as one of several.
func (m *MessageFacts) keepClaim(c Claim) {
	m.joinConsumer(c.Consumer, func(own *ConsumerFacts) { own.Claims = withClaim(own.Claims, c) })
}

// withClaim are claims, sorted, with one more.
func withClaim(claims []Claim, c Claim) []Claim {
	if i, found := slices.BinarySearchFunc(claims, c, Claim.compare); !found {
		claims = slices.Insert(claims, i, c)
	}
	return claims[:min(len(claims), maxClaimsKept)]
}

// byStranger reports whether an answer is kept as a claim because its sender does not know when the message was stored, or is the worker of another agent than
// the message is for, or because nothing of that is known.
func (m *MessageFacts) byStranger(e Event) bool {
	if e.Detail.Own && (m.Stored == nil || m.forAnother(e.Agent)) {
		return true
	}
	ends := e.Kind == Acked || e.Kind == Terminated
	return ends && e.Detail.SaidAt.Known() && (m.Stored == nil || e.Detail.SaidAt != m.Stored.At)
}

// forAnother reports whether the stored message is for another agent.
func (m *MessageFacts) forAnother(agent string) bool {
	return m.Stored.Agent != "" && m.Stored.Agent != agent
}

// settleClaims joins the answers of those who turn out to know when the message was stored.
func (m *MessageFacts) settleClaims() {
	holds := func(c Claim) bool { return c.Taken && (m.ByHolder(c) || c.Own && !c.Ends() && !m.forAnother(c.Worker)) }
	if !slices.ContainsFunc(m.Claims, holds) {
		return
	}
	claims := m.Claims
	m.Claims = slices.DeleteFunc(slices.Clone(claims), holds)
	for _, c := range claims {
		if holds(c) {
			m.Join(c.event(m.Key))
		}
	}
}

// event is the answer that the claim was made of.
func (c Claim) event(k MessageKey) Event {
	e := Event{Kind: c.Kind, At: c.At, Message: k, Consumer: c.Consumer, Agent: c.Worker, Attempt: c.N, ConsumerSeq: c.CSeq, Provenance: Observed}
	e.Detail.Delay, e.Detail.Reason, e.Detail.Own = c.Delay, c.Reason, c.Own
	return e
}

// compareFlag orders false before true.
func compareFlag(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// ByHolder reports whether the sender of a claim was given the message: it knows when the message was stored, to the microsecond, and nothing proves that
// its consumer had not delivered it. What a broker says that was killed and has forgotten a delivery proves nothing: one is known from before. Nor does what it says of a
// consumer that was reset since.
func (m *MessageFacts) ByHolder(c Claim) bool {
	proves := c.Undelivered && !m.AnswersFormer(c) && !m.deliveredBefore(c)
	return m.Stored != nil && c.SaidAt == m.Stored.At && (!c.Own || !m.forAnother(c.Worker)) && !proves
}

// Contested reports whether somebody who knows when the message was stored answered it, although its consumer had not delivered it by the broker's word.
// Either the answer is forged, or the broker was killed and has forgotten the delivery: which of them it is cannot be known.
func (m *MessageFacts) Contested() bool {
	return m.contested(func(Claim) bool { return true }).Known()
}

// ContestedBy is when somebody first answered so, as one consumer's worker; zero where nobody did.
func (m *MessageFacts) ContestedBy(consumer string) Micros {
	return m.contested(func(c Claim) bool { return c.Consumer == consumer })
}

func (m *MessageFacts) contested(by func(Claim) bool) (first Micros) {
	for _, c := range m.Claims {
		if m.Stored != nil && c.Undelivered && c.SaidAt == m.Stored.At && by(c) {
			first = earliest(first, c.At)
		}
	}
	return first
}

// deliveredBefore reports whether a line or the broker's state told of a delivery before a claim, which the claim's own can have followed: somebody who
// has a message may still write any number.
func (m *MessageFacts) deliveredBefore(c Claim) bool {
	return slices.ContainsFunc(m.Attempts, func(a AttemptFacts) bool {
		return a.SeenAt.Known() && a.SeenAt < c.At && c.N <= a.N+1+maxSilentBetween
	})
}

// AnswersFormer reports whether a claim is about a delivery from before its consumer began anew: that one lived before, or it was reset and has not made the delivery
// since.
func (m *MessageFacts) AnswersFormer(c Claim) bool {
	return c.Former || c.Undelivered && m.RecreatedAt.Known() && c.At >= m.RecreatedAt
}

// OpenClaim is the latest claim to have ended the message that is neither proved nor refuted; not ok when there is none.
func (m *MessageFacts) OpenClaim() (last Claim, ok bool) {
	for _, c := range m.Claims {
		a := m.attemptFacts(c.N)
		if m.AnswersFormer(c) {
			a = numberedFacts(m.Former, c.N)
		}
		if proved := a.ConfirmedAt >= c.At || a.TermAt > m.RefutedAt; c.Ends() && c.At > m.RefutedAt && !proved {
			last, ok = c, true
		}
	}
	return last, ok
}

// Believed is what is known of the message with what the claims of those that were given it show: that an attempt took place, and signs of
// work in it.
func (m MessageFacts) Believed() MessageFacts {
	if m.Stored == nil {
		return m.undoubted()
	}
	if !slices.ContainsFunc(m.Claims, m.ByHolder) {
		return m
	}
	m = m.Clone()
	for _, c := range m.Claims {
		if m.ByHolder(c) {
			m.believe(c)
		}
	}
	m.nameAgent()
	return m
}

// undoubted is what is known of a message of which nothing says when it was stored, with every answer that the broker can have accepted.
func (m MessageFacts) undoubted() MessageFacts {
	taken := func(c Claim) bool { return c.Taken }
	if !slices.ContainsFunc(m.Claims, taken) {
		return m
	}
	m = m.Clone()
	claims := m.Claims
	m.Claims = slices.DeleteFunc(slices.Clone(claims), taken)
	for _, c := range claims {
		if c.Taken {
			e := c.event(m.Key)
			e.Detail.Own = false // For whom the message is is not known.
			if len(m.Consumers) == 0 {
				e.Consumer = firstText(m.Consumer, e.Consumer) // Nor is who takes it.
			}
			m.Join(e)
		}
	}
	return m
}

func (m *MessageFacts) believe(c Claim) {
	m.Consumer, m.Worker = leastText(m.Consumer, c.Consumer), leastText(m.Worker, c.Worker)
	e := Event{Kind: c.Kind, At: c.At, Attempt: c.N, ConsumerSeq: c.CSeq, Provenance: Observed, Detail: Detail{Standing: Standing{Former: m.AnswersFormer(c)}}}
	denied := c.Undelivered && !e.Detail.Former
	if denied {
		e.ConsumerSeq = 0 // Its consumer never made that delivery,
	}
	if e.Detail.Delay = c.Delay; c.Ends() || denied && c.Kind == Nacked { // and the broker takes no notice of who hands it back.
		e.Kind = Delivered // Of its end only the broker's state tells.
	}
	m.joinAttempt(e)
}
