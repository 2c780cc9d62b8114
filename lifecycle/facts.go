package lifecycle

import (
	"cmp"
	"slices"
	"time"
)

// MessageFacts is what a set of events proves about one stored message. Joining is commutative, associative and idempotent:
// minima, maxima and sets only.
type MessageFacts struct {
	Key      MessageKey     `json:"-"`
	TaskID   string         `json:"task,omitempty"`     // Empty until a line says it; then never changed.
	Agent    string         `json:"agent,omitempty"`    // From the subject, else from the consumer's name.
	Worker   string         `json:"worker,omitempty"`   // As the lines of its deliveries say: who is concerned while no subject is known.
	Consumer string         `json:"consumer,omitempty"` // The durable that delivers it.
	Stored   *StoredFacts   `json:"stored,omitempty"`   // Nil while the publish line was not seen.
	Attempts []AttemptFacts `json:"attempts,omitempty"` // Sorted by number.
	Former   []AttemptFacts `json:"former,omitempty"`   // Attempts that a former incarnation of the consumer made, as answers tell that came while the living one was there; sorted by number.

	Deliveries []DeliveryFacts `json:"deliveries,omitempty"` // Sorted by consumer sequence; from broker state, numbers not known.

	Claims   []Claim   `json:"claims,omitempty"`   // Answers without proof of their effect, sorted by time.
	Watchers []Watcher `json:"watchers,omitempty"` // Consumers that only watch, by name.

	Consumers []ConsumerFacts `json:"consumers,omitempty"` // Workers' consumers each of which gets the message, by name. What they did is not in the fields above.

	MaxDeliveriesAt Micros       `json:"max_deliveries,omitempty"`   // Latest time that attempts were used up.
	MaxDeliveriesN  int          `json:"max_deliveries_n,omitempty"` // The last of the attempts that were used up then.
	ExhaustedSaid   Micros       `json:"exhausted_said,omitempty"`   // Latest advisory that says so, whoever sent it.
	ExhaustedSaidN  int          `json:"exhausted_said_n,omitempty"` // The deliveries that it speaks of.
	ExhaustedDenied Micros       `json:"exhausted_denied,omitempty"` // Advisories up to then do not count: the broker's state says otherwise.
	ExhaustedForged Micros       `json:"exhausted_forged,omitempty"` // The latest of them that the state of the same incarnation contradicts.
	RecreatedAt     Micros       `json:"recreated,omitempty"`        // Latest re-creation of the consumer while the message was open.
	RefutedAt       Micros       `json:"refuted,omitempty"`          // Latest time the message was seen in the stream after an ack.
	VanishedAt      Micros       `json:"vanished,omitempty"`
	VanishedWhy     string       `json:"vanished_why,omitempty"`
	Removal         Removal      `json:"removal,omitempty"`     // What took it out of the stream unanswered; empty while it has not vanished.
	Undelivered     bool         `json:"undelivered,omitempty"` // The sequence that its consumer delivered last proves that no worker had it.
	OrphanedAt      Micros       `json:"orphaned,omitempty"`
	AdoptedAt       Micros       `json:"adopted,omitempty"`
	StrandedAt      Micros       `json:"stranded,omitempty"`   // Latest time since which its consumer is past it and awaits no answer to it.
	StrandedN       int          `json:"stranded_n,omitempty"` // The last attempt that was known then; zero where none was.
	Entries         []DeadFacts  `json:"entries,omitempty"`    // Dead-letter entries that name this message, sorted by time.
	Dead            *DeadFacts   `json:"dead,omitempty"`       // The earliest of them that speaks of what the stream stored; nil when none does.
	Triage          *TriageFacts `json:"triage,omitempty"`     // The latest decision about the dead message that took effect, or was taken back; nil when there was none.
	Handled         *TriageFacts `json:"handled,omitempty"`    // The latest action on what a worker had that has ended, a quarantine that was done left out; nil when there was none.
	Asked           *TriageFacts `json:"asked,omitempty"`      // The latest action that somebody asked for; nil when nobody did.
	Classified      *ClassFacts  `json:"class,omitempty"`      // Why it died, by the latest word of a person, else of the rules; nil when nobody said.
	Repaired        bool         `json:"repaired,omitempty"`   // The publish line was lost; the message was read from the stream.
	Forged          bool         `json:"forged,omitempty"`     // Publish lines differ: the stream sent one of them at most.

	FirstAt  Micros `json:"first,omitempty"`     // Earliest event.
	LastAt   Micros `json:"last,omitempty"`      // Latest event.
	LastKind Kind   `json:"last_kind,omitempty"` // What it is.
}

// NeverExpires is the time to live of a message that asked its stream to keep it whatever its age ("Nats-TTL: never").
const NeverExpires time.Duration = -1

// StoredFacts is what the publish line of a message says.
type StoredFacts struct {
	At             Micros        `json:"at"`
	MsgID          string        `json:"msg_id,omitempty"`
	Subject        string        `json:"subject,omitempty"`
	Type           string        `json:"type,omitempty"`
	Title          string        `json:"title,omitempty"`
	IdempotencyKey string        `json:"key,omitempty"`
	PayloadHash    string        `json:"hash,omitempty"`
	Generation     int           `json:"gen,omitempty"`
	RetryOf        string        `json:"retry_of,omitempty"`
	TraceParent    string        `json:"traceparent,omitempty"`
	Publisher      string        `json:"publisher,omitempty"` // As the message says; empty where it says nothing.
	CreatedAt      Micros        `json:"created,omitempty"`
	Size           int64         `json:"size,omitempty"`
	TTL            time.Duration `json:"ttl,omitempty"`      // Its Nats-TTL; zero for none, [NeverExpires].
	Window         time.Duration `json:"window,omitempty"`   // The stream's duplicate window at that time; zero when it is not known.
	Schedule       string        `json:"schedule,omitempty"` // As in [Publication].
	Target         string        `json:"target,omitempty"`
	Agent          string        `json:"agent,omitempty"` // As the subject says.
	Line           uint64        `json:"line,omitempty"`  // Sequence of the captured line; zero when it was read from the stream itself.
}

// AttemptFacts is what is known of one attempt, that is of delivery number N.
type AttemptFacts struct {
	N           int      `json:"n"`
	CSeqs       []uint64 `json:"cseqs,omitempty"`   // Consumer sequences seen with this number: more than one means a re-created consumer.
	CSeqAt      []Micros `json:"cseq_at,omitempty"` // When each of them was seen last, in their order.
	DeliveredAt Micros   `json:"delivered,omitempty"`
	SeenAt      Micros   `json:"seen,omitempty"` // It was delivered no later than this: its earliest line, or what the ack metric counts from.
	LastAt      Micros   `json:"last,omitempty"` // The latest of what is known of it.
	FirstBeat   Micros   `json:"beat1,omitempty"`
	LastBeat    Micros   `json:"beat,omitempty"`
	Beats       []Micros `json:"beats,omitempty"`     // All heartbeats, sorted; nil where the first and the last are all.
	NakAt       Micros   `json:"nak,omitempty"`       // First -NAK.
	LastNakAt   Micros   `json:"nak_last,omitempty"`  // Latest -NAK.
	NakDelay    int64    `json:"nak_delay,omitempty"` // Nanoseconds that the latest one asked for.
	TermAt      Micros   `json:"term,omitempty"`      // First +TERM of its worker.
	TermSaidAt  Micros   `json:"term_said,omitempty"` // First advisory of one, which counts beside the worker's line, or when the message has gone and nothing says how.
	TermReason  string   `json:"term_why,omitempty"`
	AckAt       Micros   `json:"ack,omitempty"`      // First +ACK.
	LastAckAt   Micros   `json:"ack_last,omitempty"` // Latest +ACK.
	ConfirmedAt Micros   `json:"ack_ok,omitempty"`   // The broker's ack metric, which counts beside the worker's line, or when the message has gone and nothing says how.
	Expired     *Expiry  `json:"expired,omitempty"`
	Dead        *Expiry  `json:"dead,omitempty"` // Presumed dead: no attempt is left.

	BeatsApart time.Duration `json:"beats_apart,omitempty"` // Of the heartbeats in each such span the first and the last are kept; zero where all are.
}

// Expiry is a passed deadline and the signal that it counted from. It holds only while no later signal is known.
type Expiry struct {
	Basis    Micros `json:"basis"`
	Deadline Micros `json:"deadline"`
	Reason   string `json:"why,omitempty"`
	Judged   Micros `json:"judged,omitempty"` // When it was concluded, by the broker's clock.
	AtLatest bool   `json:"latest,omitempty"` // The lease may have run out before the deadline.
}

// DeliveryFacts is one delivery that broker state showed.
type DeliveryFacts struct {
	CSeq  uint64 `json:"cseq"`
	At    Micros `json:"at,omitempty"` // The broker's own time of it; zero when only its existence is proved.
	Bound Micros `json:"by,omitempty"` // It happened no later than this.

	// A consumer that is created anew numbers its deliveries from one, so that two of one number are kept together. Zero where there is one alone.
	LastAt    Micros `json:"last,omitempty"`
	LastBound Micros `json:"last_by,omitempty"`
}

// maxDeliveriesKept bounds Deliveries, so that a consumer in a redelivery loop cannot grow a row without end.
const maxDeliveriesKept = 1000

// Join adds what e proves. Joining an event twice, or in another order, gives the same facts.
func (m *MessageFacts) Join(e Event) {
	m.Key = e.Message
	m.FirstAt = earliest(m.FirstAt, e.At)
	m.LastAt, m.LastKind = latestEvent(m.LastAt, m.LastKind, e.At, e.Kind)
	switch {
	case e.Detail.Watches:
		m.joinWatcher(e)
		return
	case e.Detail.Apart:
		m.joinApart(e)
		return
	case e.Detail.Unproved, m.byStranger(e):
		m.joinClaim(e)
		return
	case m.byAnother(&e):
		m.joinNamed(e)
		return
	}
	if e.Kind != Published && e.Kind != Repaired {
		m.Worker = leastText(m.Worker, e.Agent)
	}
	if e.ofConsumer() {
		m.Consumer = leastText(m.Consumer, e.Consumer)
	}
	if e.Attempt > 0 && e.Kind != ExhaustionSaid && e.Kind != ExhaustionDenied && e.Kind != Stranded {
		m.joinAttempt(e)
	}
	switch e.Kind {
	case ExhaustionSaid:
		m.ExhaustedSaid, m.ExhaustedSaidN = latestUsedUp(m.ExhaustedSaid, m.ExhaustedSaidN, e)
	case ExhaustionDenied:
		m.ExhaustedDenied = latest(m.ExhaustedDenied, e.At)
		if !e.Detail.Former {
			m.ExhaustedForged = latest(m.ExhaustedForged, e.At)
		}
	case Published, Repaired:
		m.joinStored(storedFacts(e))
		m.Repaired = m.Repaired || e.Kind == Repaired
		m.settleClaims()
		m.settleApart()
	case Delivered:
		m.joinDelivery(e)
	case MaxDeliveries:
		m.MaxDeliveriesAt, m.MaxDeliveriesN = latestUsedUp(m.MaxDeliveriesAt, m.MaxDeliveriesN, e)
	case ConsumerRecreated:
		m.RecreatedAt = latest(m.RecreatedAt, e.At)
	case AckRefuted:
		m.RefutedAt = latest(m.RefutedAt, e.At)
	case Orphaned:
		m.OrphanedAt = latest(m.OrphanedAt, e.At)
	case Adopted:
		m.AdoptedAt = latest(m.AdoptedAt, e.At)
	case Stranded:
		m.StrandedAt, m.StrandedN = latest(m.StrandedAt, e.At), max(m.StrandedN, e.Attempt)
	case DeadLettered:
		m.joinEntry(deadFacts(e))
	case Decided, Triaged, Reopened, Released, Resolved:
		m.joinTriage(e)
	case Classified:
		m.joinClass(e)
	}
	if r, removed := removalOf(e); removed {
		m.joinRemoval(e, r)
	}
	m.nameAgent()
	m.chooseEntry()
}

func (m *MessageFacts) joinAttempt(e Event) {
	if e.Kind == NakConfirmed { // Anybody may have sent it. It follows the worker's own line, and alone it proves no delivery.
		return
	}
	if e.Detail.Former {
		e.Detail.Former = false
		m.Attempts, m.Former = m.Former, m.Attempts
		m.joinAttempt(e)
		m.Attempts, m.Former = m.Former, m.Attempts
		return
	}
	a := m.attempt(e.Attempt)
	if e.ConsumerSeq != 0 {
		a.joinCSeq(e.ConsumerSeq, e.At)
	}
	a.LastAt = latest(a.LastAt, e.At)
	if e.Provenance != Inferred && e.Kind != MaxDeliveries {
		a.SeenAt = earliest(a.SeenAt, e.At)
	}
	switch e.Kind {
	case Delivered:
		if e.Detail.Exact {
			a.DeliveredAt = earliest(a.DeliveredAt, e.At)
		}
	case Heartbeat:
		a.joinBeat(e.At)
	case Nacked:
		a.joinNak(e.At, int64(e.Detail.Delay))
	case Terminated, TermConfirmed:
		if _, removed := removalOf(e); !removed {
			a.TermReason = leastText(a.TermReason, e.Detail.Reason)
			if e.Kind == Terminated || e.Provenance == Inferred {
				a.TermAt = earliest(a.TermAt, e.At)
			} else {
				a.TermSaidAt = earliest(a.TermSaidAt, e.At)
			}
		}
	case Acked:
		a.AckAt, a.LastAckAt = earliest(a.AckAt, e.At), latest(a.LastAckAt, e.At)
	case AckConfirmed:
		a.ConfirmedAt = latest(a.ConfirmedAt, e.At)
		if e.Provenance == Inferred { // The broker's state proves a claim: it counts like the answer that it is.
			a.AckAt, a.LastAckAt = earliest(a.AckAt, e.At), latest(a.LastAckAt, e.At)
		}
		if e.Detail.AckTime > 0 {
			a.SeenAt = earliest(a.SeenAt, e.At.Add(-e.Detail.AckTime))
		}
	case LeaseExpired:
		a.Expired = joinExpiry(a.Expired, e)
	case PresumedDead:
		a.Dead = joinExpiry(a.Dead, e)
	}
}

// latestUsedUp is which attempts were used up, by the latest word on it: an earlier one may be about a consumer that lived before.
func latestUsedUp(at Micros, n int, e Event) (Micros, int) {
	switch {
	case e.At > at:
		return e.At, e.Attempt
	case e.At == at:
		return at, max(n, e.Attempt)
	}
	return at, n
}

// joinNak adds a -NAK. The latest one says when the message is due.
func (a *AttemptFacts) joinNak(at Micros, delay int64) {
	switch {
	case at > a.LastNakAt:
		a.NakDelay = delay
	case at == a.LastNakAt:
		a.NakDelay = max(a.NakDelay, delay)
	}
	a.NakAt, a.LastNakAt = earliest(a.NakAt, at), latest(a.LastNakAt, at)
}

// joinCSeq adds a consumer sequence that was seen with the number of the attempt.
func (a *AttemptFacts) joinCSeq(cseq uint64, at Micros) {
	i, found := slices.BinarySearch(a.CSeqs, cseq)
	if found {
		a.CSeqAt[i] = latest(a.CSeqAt[i], at)
		return
	}
	a.CSeqs, a.CSeqAt = slices.Insert(a.CSeqs, i, cseq), slices.Insert(a.CSeqAt, i, at)
}

// attempt returns attempt n, inserting it where it is missing. The pointer is valid until the next insertion.
func (m *MessageFacts) attempt(n int) *AttemptFacts {
	i, found := slices.BinarySearchFunc(m.Attempts, n, func(a AttemptFacts, n int) int { return cmp.Compare(a.N, n) })
	if !found {
		m.Attempts = slices.Insert(m.Attempts, i, AttemptFacts{N: n})
	}
	return &m.Attempts[i]
}

func (m *MessageFacts) joinDelivery(e Event) {
	if e.ConsumerSeq == 0 {
		return
	}
	d := DeliveryFacts{CSeq: e.ConsumerSeq, Bound: e.At}
	if e.Detail.Exact {
		d.At = e.At
	}
	i, found := slices.BinarySearchFunc(m.Deliveries, d.CSeq, func(x DeliveryFacts, c uint64) int { return cmp.Compare(x.CSeq, c) })
	if found {
		old := &m.Deliveries[i]
		old.LastAt, old.LastBound = latest(latest(old.At, old.LastAt), d.At), latest(latest(old.Bound, old.LastBound), d.Bound)
		old.At, old.Bound = earliest(old.At, d.At), earliest(old.Bound, d.Bound)
		old.single()
		return
	}
	m.Deliveries = slices.Insert(m.Deliveries, i, d)
	if len(m.Deliveries) > maxDeliveriesKept {
		m.Deliveries = m.Deliveries[:maxDeliveriesKept]
	}
}

// single leaves last times out that are the first ones.
func (d *DeliveryFacts) single() {
	if d.LastAt == d.At {
		d.LastAt = 0
	}
	if d.LastBound == d.Bound {
		d.LastBound = 0
	}
}

func joinExpiry(old *Expiry, e Event) *Expiry {
	x := Expiry{Basis: e.Detail.Basis, Deadline: e.Detail.Deadline, Reason: e.Detail.Reason, Judged: e.Detail.Judged, AtLatest: e.Detail.AtLatest}
	if old == nil || cmp.Or(cmp.Compare(x.Basis, old.Basis), cmp.Compare(x.Judged, old.Judged), cmp.Compare(x.Deadline, old.Deadline), cmp.Compare(x.Reason, old.Reason), compareFlag(x.AtLatest, old.AtLatest)) > 0 {
		return &x
	}
	return old
}

// Clone returns a copy that shares nothing.
func (m MessageFacts) Clone() MessageFacts {
	m.Attempts, m.Former = cloneAttempts(m.Attempts), cloneAttempts(m.Former)
	m.Consumers = slices.Clone(m.Consumers)
	for i := range m.Consumers {
		c := &m.Consumers[i]
		c.Attempts, c.Former, c.Deliveries, c.Claims = cloneAttempts(c.Attempts), cloneAttempts(c.Former), slices.Clone(c.Deliveries), slices.Clone(c.Claims)
	}
	m.Deliveries, m.Entries, m.Claims = slices.Clone(m.Deliveries), slices.Clone(m.Entries), slices.Clone(m.Claims)
	m.Watchers = slices.Clone(m.Watchers)
	return m
}

func cloneAttempts(attempts []AttemptFacts) []AttemptFacts {
	out := slices.Clone(attempts)
	for i := range out {
		a := &out[i]
		a.CSeqs, a.CSeqAt, a.Beats = slices.Clone(a.CSeqs), slices.Clone(a.CSeqAt), slices.Clone(a.Beats)
	}
	return out
}

// latestEvent is the join of two latest events. Of two at one instant it is the one that comes later in its turn.
func latestEvent(at Micros, kind Kind, otherAt Micros, other Kind) (Micros, Kind) {
	if at != otherAt {
		if at > otherAt {
			return at, kind
		}
		return otherAt, other
	}
	if kind == other || cmp.Or(cmp.Compare(kind.Row().Phase, other.Row().Phase), cmp.Compare(kind, other)) > 0 {
		return at, kind
	}
	return at, other
}

// leastText is the join of texts that should agree: the empty text is neutral, else the least wins.
func leastText(a, b string) string {
	if a == "" || (b != "" && b < a) {
		return b
	}
	return a
}
