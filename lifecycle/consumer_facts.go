package lifecycle

import (
	"cmp"
	"slices"
	"strings"
)

// A stream that keeps its messages gives each of them to every consumer that takes its subject. Each of several workers' consumers numbers its
// deliveries from one, has leases of its own and answers for itself alone (SITUATIONS, "Streams and consumers"; ADR 53). So what each of them did is
// kept apart, and judged apart. The message has the state of the one that is furthest from done.
// Of a work queue two consumers have a message where its subject was given to another one while the first one's worker had it (ADR 96).

// ConsumerFacts is what is known of what one of the workers' consumers did with a message. The fields mean what those of [MessageFacts] with the
// same names mean.
type ConsumerFacts struct {
	Consumer        string          `json:"consumer"`
	Worker          string          `json:"worker,omitempty"`
	Attempts        []AttemptFacts  `json:"attempts,omitempty"`
	Former          []AttemptFacts  `json:"former,omitempty"`
	Deliveries      []DeliveryFacts `json:"deliveries,omitempty"`
	Claims          []Claim         `json:"claims,omitempty"`
	MaxDeliveriesAt Micros          `json:"max_deliveries,omitempty"`
	MaxDeliveriesN  int             `json:"max_deliveries_n,omitempty"`
	ExhaustedSaid   Micros          `json:"exhausted_said,omitempty"`
	ExhaustedSaidN  int             `json:"exhausted_said_n,omitempty"`
	ExhaustedDenied Micros          `json:"exhausted_denied,omitempty"`
	ExhaustedForged Micros          `json:"exhausted_forged,omitempty"`
	RecreatedAt     Micros          `json:"recreated,omitempty"`

	// Another's worker ended the message for itself while this one was still to deliver or answer it, and it was seen later that it does not take it, or has it no more.
	OwesAt     Micros `json:"owes,omitempty"`      // Latest of the first.
	NotTakenAt Micros `json:"not_taken,omitempty"` // Latest of the second.
}

// owes reports whether an answer of the consumer's worker is waited for, although no delivery to it is known.
func (c ConsumerFacts) owes() bool { return c.OwesAt > c.NotTakenAt }

// maxConsumersKept bounds the consumers of a message: whose names are the least are kept.
const maxConsumersKept = 32

// swap exchanges what the message says of its deliveries with what c says.
func (m *MessageFacts) swap(c *ConsumerFacts) {
	m.Consumer, c.Consumer = c.Consumer, m.Consumer
	m.Worker, c.Worker = c.Worker, m.Worker
	m.Attempts, c.Attempts = c.Attempts, m.Attempts
	m.Former, c.Former = c.Former, m.Former
	m.Deliveries, c.Deliveries = c.Deliveries, m.Deliveries
	m.Claims, c.Claims = c.Claims, m.Claims
	m.MaxDeliveriesAt, c.MaxDeliveriesAt = c.MaxDeliveriesAt, m.MaxDeliveriesAt
	m.MaxDeliveriesN, c.MaxDeliveriesN = c.MaxDeliveriesN, m.MaxDeliveriesN
	m.ExhaustedSaid, c.ExhaustedSaid = c.ExhaustedSaid, m.ExhaustedSaid
	m.ExhaustedSaidN, c.ExhaustedSaidN = c.ExhaustedSaidN, m.ExhaustedSaidN
	m.ExhaustedDenied, c.ExhaustedDenied = c.ExhaustedDenied, m.ExhaustedDenied
	m.ExhaustedForged, c.ExhaustedForged = c.ExhaustedForged, m.ExhaustedForged
	m.RecreatedAt, c.RecreatedAt = c.RecreatedAt, m.RecreatedAt
}

// byAnother reports whether an event of a work queue tells what another consumer did than the one that is known, or one of several.
func (m *MessageFacts) byAnother(e *Event) bool {
	return e.ofConsumer() && e.Consumer != "" && e.Consumer != m.Consumer && (m.Consumer != "" || len(m.Consumers) > 0)
}

// joinNamed joins such an event to what is known of its consumer. That a consumer was made anew, or came in the place of another, is noted of the message too.
func (m *MessageFacts) joinNamed(e Event) {
	m.separate()
	m.Worker = leastText(m.Worker, e.Agent)
	if e.Kind == ConsumerRecreated {
		m.RecreatedAt = latest(m.RecreatedAt, e.At)
	}
	e.Agent, e.Detail.Own = "", false // What it says of its agent was judged.
	m.joinApart(e)
}

// separate keeps what is known of the only consumer so far under its name, beside what others did.
func (m *MessageFacts) separate() {
	if len(m.Consumers) > 0 {
		return
	}
	worker, claims, recreated := m.Worker, m.Claims, m.RecreatedAt
	m.Claims = nil
	if m.Consumer != "" {
		m.joinConsumer(m.Consumer, func(c *ConsumerFacts) {
			c.Consumer = ""
			m.swap(c)
			c.Worker = ""
		})
	}
	m.Worker, m.RecreatedAt = worker, recreated
	for _, c := range claims {
		m.keepClaim(c)
	}
}

// joinApart joins an event to what is known of its consumer alone.
func (m *MessageFacts) joinApart(e Event) {
	m.separate()
	for _, beside := range e.Detail.Beside {
		m.joinConsumer(beside, func(c *ConsumerFacts) { c.OwesAt = latest(c.OwesAt, e.At) })
	}
	e.Detail.Apart, e.Detail.Beside = false, nil
	m.joinConsumer(e.Consumer, func(c *ConsumerFacts) {
		if e.Kind == NotTaken {
			c.NotTakenAt = latest(c.NotTakenAt, e.At)
		}
		m.swap(c)
		m.Join(e)
		m.swap(c)
	})
	m.Consumers = m.Consumers[:min(len(m.Consumers), maxConsumersKept)]
	m.nameAgent()
}

// ofConsumer reports whether an event tells what one consumer did with a message.
func (e *Event) ofConsumer() bool {
	switch e.Kind {
	case Delivered, MaxDeliveries, ExhaustionSaid, ExhaustionDenied, ConsumerRecreated, NotTaken:
		return true
	case Stranded, NakConfirmed: // Of a nak the worker's own line tells.
		return false
	}
	return e.Attempt > 0
}

// joinConsumer changes what is known of one consumer, which is told of from then on.
func (m *MessageFacts) joinConsumer(name string, join func(*ConsumerFacts)) {
	i, found := m.findConsumer(name)
	if !found {
		m.Consumers = slices.Insert(slices.Clip(m.Consumers), i, ConsumerFacts{Consumer: name})
	}
	own := m.Consumers[i]
	join(&own)
	m.Consumers[i] = own
}

func (m *MessageFacts) findConsumer(name string) (int, bool) {
	return slices.BinarySearchFunc(m.Consumers, name, func(c ConsumerFacts, name string) int { return cmp.Compare(c.Consumer, name) })
}

// settleApart is [MessageFacts.settleClaims] for each consumer.
func (m *MessageFacts) settleApart() {
	for i := range m.Consumers {
		own := m.Consumers[i]
		m.swap(&own)
		m.settleClaims()
		m.swap(&own)
		m.Consumers[i] = own
	}
}

// WorkerSuffix ends the name of the durable consumer through which an agent takes its tasks, behind the agent's (SPEC 1).
const WorkerSuffix = "-task-worker"

// AgentOfConsumer is the agent that takes its tasks through the consumer with this name; empty where the name does not say it.
func AgentOfConsumer(name string) string {
	agent, ok := strings.CutSuffix(name, WorkerSuffix)
	if !ok {
		return ""
	}
	return agent
}

// nameAgent chooses the agent that the message is for.
func (m *MessageFacts) nameAgent() {
	m.Agent = m.Worker
	for i := range m.Consumers {
		m.Agent = leastText(m.Agent, m.Consumers[i].Worker)
	}
	if m.Stored != nil {
		m.Agent = firstText(m.Stored.Agent, m.Agent)
	}
}

// Of is the message as one of its consumers has it: without what others did, but with what those did in whose place it came.
func (m MessageFacts) Of(consumer string) MessageFacts {
	own, all := ConsumerFacts{Consumer: consumer}, m
	if i, found := m.findConsumer(consumer); found {
		own = m.Consumers[i]
	} else if m.Consumer == consumer || m.Consumer == "" {
		m.Consumer, m.Consumers = consumer, nil
		return m
	}
	m.swap(&own)
	m.Consumers = nil
	m.Worker = firstText(m.Worker, all.Worker)
	for _, c := range all.Consumers {
		if c.Consumer != consumer && all.left(&c) {
			m.addFormer(c)
		}
	}
	m.nameAgent()
	return m
}

// left reports whether nothing is expected of a consumer any more: another one came in its place after its last sign, or it was seen not to take the message, which none of
// its workers had ended.
func (m *MessageFacts) left(c *ConsumerFacts) bool {
	last := c.lastSign()
	return last.Known() && (c.NotTakenAt > last && !c.ended() || m.RecreatedAt > max(last, c.RecreatedAt)) && !m.undoubtedOf(c.Claims)
}

// undoubtedOf reports whether an answer counts because nothing says when the message was stored.
func (m *MessageFacts) undoubtedOf(claims []Claim) bool {
	return m.Stored == nil && slices.ContainsFunc(claims, func(c Claim) bool { return c.Taken && c.N > 0 })
}

// ended reports whether an answer, or the last of its attempts, ended the message for the consumer.
func (c *ConsumerFacts) ended() bool {
	return c.MaxDeliveriesAt.Known() || slices.ContainsFunc(slices.Concat(c.Attempts, c.Former), func(a AttemptFacts) bool {
		return a.AckAt.Known() || a.ConfirmedAt.Known() || a.TermAt.Known() || a.TermSaidAt.Known() || a.Dead != nil
	})
}

// lastSign is the latest that is known of the consumer's attempts.
func (c *ConsumerFacts) lastSign() (last Micros) {
	last = c.MaxDeliveriesAt
	for _, a := range slices.Concat(c.Attempts, c.Former) {
		last = latest(last, a.LastAt)
	}
	for _, d := range c.Deliveries {
		last = latest(last, latest(latest(d.At, d.Bound), latest(d.LastAt, d.LastBound)))
	}
	return last
}

// addFormer adds the attempts of a consumer in whose place another one came, and what its workers claim.
func (m *MessageFacts) addFormer(c ConsumerFacts) {
	attempts := m.Attempts
	m.Attempts = cloneAttempts(m.Former) // The facts are shared.
	for _, a := range slices.Concat(c.Attempts, c.Former) {
		m.attempt(a.N).join(a)
	}
	had := MessageFacts{Attempts: c.Attempts, Deliveries: c.Deliveries}
	for _, d := range had.numbered() {
		m.attempt(d.N).join(AttemptFacts{DeliveredAt: d.At, SeenAt: d.Bound, LastAt: d.Bound})
	}
	m.Attempts, m.Former = attempts, m.Attempts
	m.Claims = slices.Clip(m.Claims)
	for _, claim := range c.Claims {
		claim.Former = true
		m.Claims = withClaim(m.Claims, claim)
	}
}

// Parts is the message as each of the workers' consumers has it that took it or is to take it, in the order of their names. It is the message alone where it
// is not one of several. What nobody proves to have happened, such as an answer in the name of a consumer that never had the message, makes no part
// beside what is proved.
func (m MessageFacts) Parts() []MessageFacts {
	if len(m.Consumers) == 0 {
		return []MessageFacts{m}
	}
	var took, others []MessageFacts
	left := false
	for _, c := range m.Consumers {
		switch p := m.Of(c.Consumer); {
		case m.left(&c):
			left = true
		case m.tookOf(c), m.owed(c.Consumer):
			took = append(took, p)
		default:
			others = append(others, p)
		}
	}
	if unnamed := m.Of(""); m.Consumer == "" && m.taken() { // Lines that do not say whose they are.
		took = append([]MessageFacts{unnamed}, took...)
	}
	switch {
	case len(took) > 0:
		return took
	case left:
		return []MessageFacts{m.Of(m.lastToLeave())}
	}
	return others
}

// lastToLeave is the consumer whose last sign is the latest.
func (m *MessageFacts) lastToLeave() string {
	return slices.MaxFunc(m.Consumers, func(a, b ConsumerFacts) int { return cmp.Compare(a.lastSign(), b.lastSign()) }).Consumer
}

// taken reports whether the consumer has, or had in any of its lives, a delivery of the message.
func (m *MessageFacts) taken() bool {
	return m.undoubtedOf(m.Claims) || len(m.Attempts) > 0 || len(m.Former) > 0 || len(m.Deliveries) > 0 || m.MaxDeliveriesAt.Known()
}

// tookOf reports the same of one of several consumers by itself, or that it came last in the place of others.
func (m *MessageFacts) tookOf(c ConsumerFacts) bool {
	own := MessageFacts{Stored: m.Stored}
	own.swap(&c)
	return own.taken() || m.RecreatedAt.Known() && own.RecreatedAt == m.RecreatedAt
}

// owed reports whether an answer of a consumer's worker is waited for, although no delivery to it is known. Nobody is given what has left the stream.
func (m *MessageFacts) owed(consumer string) bool {
	i, found := m.findConsumer(consumer)
	return found && m.Consumers[i].owes() && !m.VanishedAt.Known()
}

// Awaits reports whether a consumer is known to have had the message, or an answer of its worker is waited for.
func (m MessageFacts) Awaits(consumer string) bool {
	part := m.Of(consumer)
	return part.taken() || m.owed(consumer)
}

// NotOwed are the consumers whose answer is waited for although no delivery to them is known, and that a look at the broker's consumers at a time shows not to
// take the message.
func (m MessageFacts) NotOwed(takes func(consumer string) bool, at Micros) (out []string) {
	for _, c := range m.Consumers {
		part := m.Of(c.Consumer)
		if m.owed(c.Consumer) && !part.taken() && at > c.OwesAt && !takes(c.Consumer) {
			out = append(out, c.Consumer)
		}
	}
	return out
}

// NotHeld are the consumers that are known to have had the message, of which nothing ended it, and that a look at the broker's consumers at a time shows neither to take it nor to
// await an answer to it.
func (m MessageFacts) NotHeld(holds func(consumer string) bool, at Micros) (out []string) {
	for _, c := range m.Consumers {
		if last := c.lastSign(); last.Known() && last < at && !c.ended() && !m.left(&c) && !holds(c.Consumer) {
			out = append(out, c.Consumer)
		}
	}
	return out
}

// AnsweredBeside reports whether an answer to one of several consumers would have ended the message.
func (m MessageFacts) AnsweredBeside() bool {
	return slices.ContainsFunc(m.Consumers, func(c ConsumerFacts) bool {
		return slices.ContainsFunc(c.Attempts, func(a AttemptFacts) bool { return a.AckAt.Known() || a.TermAt.Known() })
	})
}

// undecidedBeside reports whether an advisory says of one of several consumers that its attempts are used up, and the broker's state was not compared with it
// yet. Until that is done the message is looked at, although another consumer's worker acknowledged it, or it has left the stream.
func (m *MessageFacts) undecidedBeside() bool {
	return slices.ContainsFunc(m.Consumers, func(c ConsumerFacts) bool { return c.ExhaustedSaid > max(c.MaxDeliveriesAt, c.ExhaustedDenied) })
}

// Judged is the message as the consumer has it that decides about its state.
func (m MessageFacts) Judged(t TaskFacts) MessageFacts {
	if len(m.Consumers) == 0 {
		return m
	}
	parts := m.Parts()
	return parts[deciding(evidenceOfParts(parts, &t))]
}

// evidenceOfParts is the evidence about a message as each of its consumers has it.
func evidenceOfParts(parts []MessageFacts, t *TaskFacts) []evidence {
	out := make([]evidence, len(parts))
	for i := range parts {
		m := parts[i].withClaims()
		b := t.boundTo(m)
		if len(parts) > 1 {
			b.reports = reportsOfPart(b.reports, parts, i)
		}
		out[i] = evidenceAlone(m, b)
	}
	given := slices.ContainsFunc(out, func(ev evidence) bool { return ev.n > 0 })
	for i := range out {
		out[i].given = given
	}
	return out
}

// OfPart is an open message as the i-th of its consumers has it, with those of the reports that speak of what that one did.
func (o OpenMessage) OfPart(parts []MessageFacts, i int) OpenMessage {
	o.Message = parts[i]
	if len(parts) > 1 {
		o.Task.Reports = reportsOfPart(o.Task.Reports, parts, i)
	}
	return o
}

// reportsOfPart are those of a message's reports that speak of what one of its consumers did: its worker made them. Which consumer another agent means cannot be told. A worker may
// report under its agent's name what it has through another consumer: nothing is said of a consumer by reports alone where another one is known to have had the message.
func reportsOfPart(reports []ReportFacts, parts []MessageFacts, i int) (out []ReportFacts) {
	taken := func(p MessageFacts) bool { return p.taken() }
	if !parts[i].taken() && slices.ContainsFunc(parts, taken) {
		return nil
	}
	for _, r := range reports {
		same := func(p MessageFacts) bool { return r.Agent != "" && p.taker() == r.Agent }
		if same(parts[i]) && slices.IndexFunc(parts, same) == i {
			out = append(out, r)
		}
	}
	return out
}

// taker is the agent whose workers take the message through the consumer of a part: the one that the consumer is named after, else the one that its lines name.
// What the synchronizer concludes of a consumer names the agent that the message is for.
func (m *MessageFacts) taker() string { return firstText(AgentOfConsumer(m.Consumer), m.Worker) }

// furthestFromDone lists the states in the order in which one consumer's counts more than another's: what a worker has, what will be delivered, what
// died, what nobody can tell, what is done.
var furthestFromDone = []State{
	StateRedelivered, StateProcessing, StateDelivered, StateCompleting, StateFailed, StatePublished, StateExhausted, StateTerminated, StateDeadLettered,
	StateOutcomeUnknown, StateRemoved, StateCompleted,
}

// deciding is the index of the consumer that decides about the state of the message: the one that is furthest from done, of equal ones the one with
// the highest attempt, of those the one with the least name.
func deciding(parts []evidence) int {
	best, least := 0, 0
	for i := range parts {
		v := parts[i].judge()
		if v.State == StateTriaged {
			v.State = v.Death.State
		}
		switch far := slices.Index(furthestFromDone, v.State); {
		case i == 0, far < least, far == least && parts[i].n > parts[best].n:
			best, least = i, far
		}
	}
	return best
}

// copiesApart is what a task needs of a message that several consumers take: that each of them has it is no repetition, so it is told as the one has it
// that acknowledged it most often. The agents of all may speak of it.
func (m *MessageFacts) copiesApart(v Verdict) []DeliveryCopy {
	var most []DeliveryCopy
	var workers []string
	for _, p := range m.Parts() {
		own := copiesOf(&p, v)
		if len(own) > len(most) || (len(own) == len(most) && own[0].Attempts > most[0].Attempts) {
			most = own
		}
		if of := p.taker(); p.Worker != "" && !slices.Contains(workers, of) { // One that is still to be given it made nothing yet.
			workers = append(workers, of)
		}
	}
	for i := range most {
		if most[i].Agent = m.Agent; len(workers) > 1 {
			most[i].Workers = workers
		}
	}
	return most
}
