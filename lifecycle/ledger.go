package lifecycle

import (
	"math"
	"slices"
	"strings"
	"time"
)

// Layer is where a duplicate ended (SPEC 4).
type Layer string

// The layers of the duplicate ledger.
const (
	LayerStream      Layer = "stream"      // Published again, and the stream swallowed it.
	LayerIdempotency Layer = "idempotency" // Delivered again after completion, and the worker did not run it again.
	LayerExecution   Layer = "execution"   // Ran again after completion: the duplicate that costs money.
	LayerUnknown     Layer = "unknown"     // More than one delivery was worked on or answered, and nothing tells whether it ran more than once.
	LayerConflict    Layer = "conflict"    // One idempotency key with different payloads.
	LayerSemantic    Layer = "semantic"    // The same tool with the same input under different step ids: the model asked again.
)

// Layers lists the layers in the order of the ledger.
func Layers() []Layer {
	return []Layer{LayerStream, LayerIdempotency, LayerExecution, LayerUnknown, LayerConflict, LayerSemantic}
}

// Case is one finding of the ledger about one task.
type Case struct {
	Layer   Layer
	At      Micros     // When the duplicate showed; the bucket in which it counts.
	N       int        // How many duplicates it stands for.
	Message MessageKey // The message that was the duplicate; zero where the case is about the task as a whole.
	Attempt int        // Its attempt; zero where it is about no attempt.
	Why     string     // The evidence, in a sentence.

	Other     string // The other task that the finding is about; empty where it is about this one alone.
	Elsewhere bool   // The numbers of the fleet count it with another task.
}

// Ledger finds the duplicates of a task. It is a pure function of joined facts, so late records and lines correct it.
func Ledger(t *TaskFacts) []Case {
	var out []Case
	for _, id := range t.swallowed() {
		p := t.Publishes[id]
		if only := t.onlyReported(id); len(only) > 0 {
			out = append(out, Case{Layer: LayerStream, At: only[0], N: len(only), Why: "Its publisher reports that the stream answered: duplicate."})
		}
		caught := p.Caught()
		if len(caught) == 0 {
			continue
		}
		why := "Published more often than stored under one message id."
		if p.Owner != "" && len(p.Stored) == 0 {
			why = "Published under the message id of another task's message."
		}
		out = append(out, Case{Layer: LayerStream, At: caught[0].At, N: len(caught), Why: why})
	}
	for _, part := range t.believed().byKey() {
		out = append(out, ledgerRepeats(part)...)
	}
	out = t.besideUnknownID(out)
	out = append(out, ledgerShared(t)...)
	out = append(out, ledgerConflicts(t)...)
	for _, s := range t.Steps {
		if len(s.Steps) > 1 && len(t.Copies) > 0 && t.concerns(s.Agent) { // Before a message is known nothing tells whose task it is.
			out = append(out, Case{Layer: LayerSemantic, At: s.Last, N: len(s.Steps) - 1, Why: "One tool was called with one input under several step ids."})
		}
	}
	for i := range out {
		out[i].At = t.NotBefore(out[i].At)
	}
	return out
}

// swallowed lists the message ids of which the stream swallowed publishes, sorted.
func (t *TaskFacts) swallowed() []string {
	var out []string
	for id, p := range t.Publishes {
		if len(p.Caught()) > 0 || len(t.onlyReported(id)) > 0 {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// byKey splits what the ledger needs of a task by idempotency key: versions of a task are each to run once. What names no key belongs to
// the first. A record of a key that no message has is about none of them, unless one of them names no key.
func (t *TaskFacts) byKey() []*TaskFacts {
	keys := map[string]bool{}
	for _, c := range t.Copies {
		keys[c.IdemKey] = true
	}
	foreign := func(c Completed) bool {
		key, known := c.key(t.Copies)
		return !known || !keys[key] && !keys[""]
	}
	switch {
	case len(keys) == 0 || len(keys) == 1 && !slices.ContainsFunc(t.Completed, foreign):
		return []*TaskFacts{t}
	case len(keys) == 1:
		only := *t
		only.Completed = slices.DeleteFunc(slices.Clone(t.Completed), foreign)
		return []*TaskFacts{&only}
	}
	names := sortedKeys(keys)
	keyOf := func(c Completed) string {
		if key, _ := c.key(t.Copies); keys[key] {
			return key
		}
		return names[0]
	}
	parts := make([]*TaskFacts, len(names))
	for i, name := range names {
		parts[i] = &TaskFacts{Completion: t.Completion, Erased: t.Erased, UnboundSince: t.UnboundSince}
		for _, c := range t.Copies {
			if c.IdemKey == name {
				parts[i].Copies = append(parts[i].Copies, c)
			}
		}
		for _, c := range t.Completed {
			if keyOf(c) == name && !foreign(c) {
				parts[i].Completed = append(parts[i].Completed, c)
			}
		}
		parts[i].Intents = slices.DeleteFunc(slices.Clone(t.Intents), func(x IntentFacts) bool {
			return x.MsgID != "" && !t.unknownID(x.MsgID) && parts[i].unknownID(x.MsgID)
		})
		for j := range t.Reports {
			if r, speaks := t.about(&t.Reports[j], t.Copies, func(c DeliveryCopy) bool { return c.IdemKey == name }); speaks {
				parts[i].Reports = append(parts[i].Reports, r)
			}
		}
	}
	return parts
}

// ledgerRepeats judges the deliveries of one idempotency key after its completion.
func ledgerRepeats(t *TaskFacts) []Case {
	ran, out, unclear := t.executions()
	leaked := len(out) > 0
	acked := 0
	for _, c := range t.Copies {
		if !c.AckedAt.Known() {
			continue
		}
		acked++
		if t.saidCaught(c) {
			continue // Counted with the reports below.
		}
		if found, ok := t.repeat(c, leaked); ok {
			out = append(out, found)
			leaked = leaked || found.Layer == LayerExecution
		}
	}
	out = t.reportedCaught(out)
	explained := 0
	for _, c := range out {
		if c.Attempt > 0 || c.Layer == LayerIdempotency {
			explained++
		}
	}
	if n := acked - max(ran, 1) - explained; n > 0 {
		out = append(out, Case{Layer: LayerUnknown, At: t.lastAck(), N: n, Why: "More deliveries of one key were acknowledged than completions are known, and nothing tells what became of the others."})
	}
	return t.withUnclear(t.withAtOnce(out), unclear)
}

// withAtOnce adds what was at work beside an attempt that acknowledged, where nothing else is found about that.
func (t *TaskFacts) withAtOnce(cases []Case) []Case {
	beside := Case{Layer: LayerUnknown, Why: "Two attempts were at work at once, and nothing tells whether both did the work."}
	told, left := map[MessageKey]bool{}, t.delivered()-1
	for _, c := range cases {
		told[c.Message] = true
		left -= c.N
	}
	for _, c := range t.Copies {
		if c.Beside && !told[c.Key] && beside.N < left {
			beside.At, beside.N = latest(beside.At, c.AckedAt), beside.N+1
			beside.Message, beside.Attempt = c.Key, c.Attempt
		}
	}
	if beside.N > 0 {
		cases = append(cases, beside)
	}
	return cases
}

// withUnclear adds what records leave in doubt. There are no more doubts than deliveries beyond the first: one of which another finding says that it is not
// known counts once.
func (t *TaskFacts) withUnclear(cases []Case, unclear Case) []Case {
	unclear.N = min(unclear.N, t.delivered()-1)
	for _, c := range cases {
		if c.Layer == LayerUnknown {
			unclear.N -= c.N
		}
	}
	if unclear.N > 0 {
		cases = append(cases, unclear)
	}
	return cases
}

// repeat judges an acknowledged message: whether it was delivered again after completion, and what came of it. leaked says that the
// leak is counted already.
func (t *TaskFacts) repeat(c DeliveryCopy, leaked bool) (Case, bool) {
	found := func(l Layer, why string) (Case, bool) {
		return Case{Layer: l, At: c.AckedAt, N: 1, Message: c.Key, Attempt: c.Attempt, Why: why}, true
	}
	records := t.surelyBegun(c)
	surely := t.completedSurelyBefore(c, records)
	switch {
	case c.Attempt == 1 && t.firstCopy(c): // Nothing came before it: a record that seems older tells of a clock that is off.
	case c.Silent && !t.completedBefore(c, c.After) && t.completedBefore(c, c.By):
		return found(LayerUnknown, "An earlier attempt went silent, and nothing tells which of them completed.")
	case !t.completedBefore(c, c.After) && !leaked && t.toldMeanwhile(c):
		return found(LayerUnknown, "Another attempt was reported or recorded as completed, and whether this one began before that or after is not known.")
	case !t.completedBefore(c, c.After) && !leaked && t.unreadErased(c.IdemKey, 0, math.MaxInt64).Known():
		return found(LayerUnknown, "A record of its key was deleted, or had expired, and no completion was read from it: whether the work was done before is not known.")
	case !t.completedBefore(c, c.After):
	case c.several():
		return found(LayerUnknown, "Completion was known before this attempt began, and several consumers take the message: which of them had it done is not known.")
	case surely && t.ranIn(c):
		if !leaked {
			return found(LayerExecution, "The agent reports work in an attempt that began after completion.")
		}
	case t.completedWithin(c):
		if !leaked {
			return found(LayerUnknown, "Completion was known before this attempt began, and recorded in it: whether it did the work again is not known.")
		}
	case !surely:
		return found(LayerUnknown, "Whether completion was recorded before this attempt began, or by it, cannot be told.")
	case c.Worked:
		return found(LayerUnknown, "Completion was recorded before this attempt began, yet the attempt sent heartbeats.")
	case t.mayHaveRunIn(c):
		return found(LayerUnknown, "Completion was recorded before this attempt began, yet its agent reports signs of work while it had it.")
	case !t.atOnce(c):
		return found(LayerUnknown, "Completion was recorded before this attempt began, yet it lasted long enough to have done the work again.")
	case !t.foundBefore(c, records):
		return found(LayerUnknown, "Completion was recorded before this attempt began, and that record was deleted, or had expired, before it was acknowledged.")
	default:
		return found(LayerIdempotency, "Completion was recorded before this attempt began; it was acknowledged without a sign of work.")
	}
	return Case{}, false
}

// completedBefore reports whether a completion is known strictly before at, by others than the acknowledged attempt.
func (t *TaskFacts) completedBefore(c DeliveryCopy, at Micros) bool {
	return t.recordedBefore(at) || t.reportedBefore(c, at)
}

// recordedBefore reports whether a record of a completion came before at.
func (t *TaskFacts) recordedBefore(at Micros) bool {
	return slices.ContainsFunc(t.Completed, func(d Completed) bool { return d.At < at })
}

// reportedBefore reports whether a report of a completion came before at, of another attempt than the acknowledged one: what an agent says of the time may be wrong.
func (t *TaskFacts) reportedBefore(c DeliveryCopy, at Micros) bool {
	return slices.ContainsFunc(t.Reports, func(r ReportFacts) bool {
		own := r.MsgID == c.MsgID && max(r.Attempt, 1) == c.Attempt && !t.idAgain(c)
		return r.CompletedAt.Known() && r.completedBy() < at && !own
	})
}

// toldMeanwhile reports whether a report or a record of a completion, of another attempt or message that it names, came while the acknowledged attempt may have begun.
func (t *TaskFacts) toldMeanwhile(c DeliveryCopy) bool {
	meanwhile := func(at Micros) bool { return at.Known() && c.After <= at && at < c.By }
	return slices.ContainsFunc(t.Reports, func(r ReportFacts) bool {
		other := r.MsgID != "" && (r.MsgID != c.MsgID || max(r.Attempt, 1) != c.Attempt) && !t.idAgain(c)
		return other && r.CompletedAt.Known() && meanwhile(r.completedBy())
	}) || slices.ContainsFunc(t.Completed, func(d Completed) bool { return d.Seq != 0 && d.Seq != c.Key.Seq && meanwhile(d.At) })
}

// surelyBegun is by when a record must have come that came surely before the acknowledged attempt began.
func (t *TaskFacts) surelyBegun(c DeliveryCopy) Micros {
	return c.Surely.Add(-t.recordSlack())
}

// recordSlack is how far the clock by which records are dated may be from the broker's: that of a document's store may be, that of a bucket is the broker's own.
func (t *TaskFacts) recordSlack() time.Duration {
	if t.Completion != nil && strings.Contains(t.Completion.Source, "/") {
		return bindingSlack
	}
	return 0
}

// completedSurelyBefore reports whether a completion came surely before the acknowledged attempt began.
func (t *TaskFacts) completedSurelyBefore(c DeliveryCopy, records Micros) bool {
	return t.recordedBefore(records) || t.reportedBefore(c, c.Surely)
}

// completedWithin reports whether a completion was recorded while the acknowledged attempt ran.
func (t *TaskFacts) completedWithin(c DeliveryCopy) bool {
	return slices.ContainsFunc(t.Completed, func(d Completed) bool { return d.At >= c.After && d.At <= c.AckedAt })
}

// ranIn reports whether the agent said that it worked in the acknowledged attempt, or announced an effect in it.
func (t *TaskFacts) ranIn(c DeliveryCopy) bool {
	own := func(r ReportFacts) bool { return r.MsgID == c.MsgID && max(r.Attempt, 1) == c.Attempt }
	if slices.ContainsFunc(t.Reports, func(r ReportFacts) bool { return own(r) && t.tells(c, r.DuplicateAt) }) {
		return false
	}
	worked := func(r ReportFacts) bool {
		return own(r) && t.tells(c, r.AcceptedAt, r.LastAcceptedAt, r.ReceiptAt, r.CheckpointAt, r.SentAt, r.CompletedAt, r.LastCompletedAt)
	}
	return slices.ContainsFunc(t.Reports, worked) || t.announcedBy(func(i IntentFacts, said LastReport) bool {
		return i.MsgID == c.MsgID && max(said.N, 1) == c.Attempt && t.tells(c, said.At)
	})
}

// announcedBy reports whether an effect was announced by a report that is one of those.
func (t *TaskFacts) announcedBy(which func(IntentFacts, LastReport) bool) bool {
	return slices.ContainsFunc(t.Intents, func(i IntentFacts) bool {
		return slices.ContainsFunc(reportsOf(i.Intent, i.Intents), func(said LastReport) bool { return which(i, said) })
	})
}

// mayHaveRunIn reports whether an agent said something at a time at which a worker had the acknowledged attempt that shows work, and that may be about it: that names no
// message, or no attempt, or shows only that its worker went on.
func (t *TaskFacts) mayHaveRunIn(c DeliveryCopy) bool {
	may := func(msgID string, n int) bool { return (msgID == "" || msgID == c.MsgID) && (n == 0 || n == c.Attempt) }
	then := func(at Micros) bool { return at.Known() && c.After <= at && at <= c.AckedAt.Add(bindingSlack) }
	worked := func(r ReportFacts) bool {
		signs := []Micros{r.BeatAt, r.AcceptedAt, r.LastAcceptedAt, r.ReceiptAt, r.CheckpointAt, r.SentAt, r.CompletedAt, r.LastCompletedAt}
		return may(r.MsgID, r.Attempt) && slices.ContainsFunc(signs, then)
	}
	return slices.ContainsFunc(t.Reports, worked) || t.announcedBy(func(i IntentFacts, said LastReport) bool { return may(i.MsgID, said.N) && then(said.At) })
}

// tells reports whether one of the times that reports about the acknowledged attempt state is known. Where another message has the same id it must be a time
// at which that attempt ran.
func (t *TaskFacts) tells(c DeliveryCopy, times ...Micros) bool {
	again := t.idAgain(c)
	return slices.ContainsFunc(times, func(at Micros) bool {
		return at.Known() && (!again || (c.After <= at && at <= c.AckedAt.Add(bindingSlack)))
	})
}

// idAgain reports whether another message has the same id.
func (t *TaskFacts) idAgain(c DeliveryCopy) bool {
	return slices.ContainsFunc(t.Copies, func(o DeliveryCopy) bool { return o.Key != c.Key && o.MsgID == c.MsgID })
}

// firstCopy reports whether no other message of the task was stored before c.
func (t *TaskFacts) firstCopy(c DeliveryCopy) bool {
	return !slices.ContainsFunc(t.Copies, func(o DeliveryCopy) bool { return o.Key != c.Key && (o.At < c.At || !o.At.Known()) })
}

func (t *TaskFacts) lastAck() Micros {
	var at Micros
	for _, c := range t.Copies {
		at = latest(at, c.AckedAt)
	}
	return at
}

// keyOf finds the message of a message id; the zero key when it is not known.
func (t *TaskFacts) keyOf(msgID string) MessageKey {
	for _, c := range t.Copies {
		if c.MsgID == msgID && msgID != "" {
			return c.Key
		}
	}
	return MessageKey{}
}

// ledgerConflicts finds idempotency keys that stand for more than one payload.
func ledgerConflicts(t *TaskFacts) []Case {
	if len(t.Copies) < 2 && t.Completion == nil {
		return nil
	}
	hashes := map[string][]string{}
	at := map[string]Micros{}
	note := func(key, hash string, when Micros) {
		if key == "" || hash == "" || slices.Contains(hashes[key], hash) {
			return
		}
		hashes[key] = append(hashes[key], hash)
		at[key] = latest(at[key], when)
	}
	for _, c := range t.Copies {
		note(c.IdemKey, c.Hash, c.At)
	}
	if c := t.Completion; c != nil {
		note(c.Key, shortHash(c.PayloadHash), c.At)
	}
	var out []Case
	for _, key := range sortedKeys(hashes) {
		if n := len(hashes[key]) - 1; n > 0 {
			out = append(out, Case{Layer: LayerConflict, At: at[key], N: n, Why: "One idempotency key stands for different payloads."})
		}
	}
	return out
}

// shortHash is as much of a fingerprint as tells payloads of one key apart.
func shortHash(hash string) string { return hash[:min(len(hash), 16)] }

// copiesOf is what a task needs of a message: once for each attempt that acknowledged it, else once. v is its verdict by the wire.
func copiesOf(m *MessageFacts, v Verdict) []DeliveryCopy {
	if len(m.Consumers) > 0 {
		return m.copiesApart(v)
	}
	if m.Stored == nil && len(m.Claims) > 0 {
		believed := m.Believed()
		m = &believed
	}
	c := DeliveryCopy{Key: m.Key, Agent: m.Agent, Attempts: m.CurrentAttempt(), Runs: m.runs(), Never: v.State == StateRemoved, Gone: m.goneBy(), InHand: v.State.InFlight()}
	if v.State != "" && !v.State.Open() {
		c.To, c.Lost = v.Since, c.Attempts > 0 && v.State != StateCompleted && v.State != StateTerminated
	}
	if worker := AgentOfConsumer(m.Consumer); worker != "" && worker != m.Agent {
		c.Workers = []string{worker}
	}
	if s := m.Stored; s != nil {
		c.IdemKey, c.Hash, c.MsgID, c.At, c.Publisher = s.IdempotencyKey, shortHash(s.PayloadHash), s.MsgID, s.At, s.Publisher
	}
	var out []DeliveryCopy
	for a := range m.everyAttempt() {
		if at := a.ackAfter(m); at.Known() {
			c.AckedAt, c.Attempt, c.Worked = at, a.N, a.LastBeat.Known()
			c.After, c.By, c.Silent = m.beginOf(a)
			c.Surely = m.notBegunBefore(a)
			c.Beside = m.workedBeside(a, c.By)
			out = append(out, c)
		}
	}
	if out == nil {
		out = append(out, c)
	}
	return out
}

// workedBeside reports whether another attempt, which did not acknowledge, sent heartbeats while an attempt was in hand that began no later than by and
// acknowledged. Attempts of several incarnations of a consumer are not compared: their numbers say nothing of their order.
func (m *MessageFacts) workedBeside(a AttemptFacts, by Micros) bool {
	if m.RecreatedAt.Known() || len(m.Former) > 0 {
		return false
	}
	until := a.ackAfter(m)
	return slices.ContainsFunc(m.Attempts, func(o AttemptFacts) bool {
		if o.N == a.N || o.ackAfter(m).Known() {
			return false
		}
		return slices.ContainsFunc(o.beats(), func(beat Micros) bool { return beat <= until && (o.N > a.N || (by.Known() && beat > by)) })
	})
}

// beginOf bounds the begin of an attempt from both sides. silent says that the end of an earlier attempt is not known, so that it may
// have lasted up to the begin of this one. A heartbeat ends no attempt: a worker that lost its lease may go on with them. An answer is
// dated when it was captured, which can be late: where the bounds contradict each other, only the time of storing is left.
func (m *MessageFacts) beginOf(a AttemptFacts) (after, by Micros, silent bool) {
	d := deliveryIn(m.numbered(), a.N)
	if exact := earliest(a.DeliveredAt, d.At); exact.Known() {
		return exact, exact, false
	}
	if m.Stored != nil {
		after = m.Stored.At
	}
	for n := max(1, a.N-maxAttemptsTold); n < a.N; n++ {
		p := m.attemptFacts(n)
		end := p.NakAt
		if p.Expired != nil {
			end = latest(end, p.Expired.Deadline)
		}
		silent = silent || !end.Known()
		after = latest(after, end)
	}
	by = earliest(a.SeenAt, d.Bound)
	if by.Known() && after > by && m.Stored != nil {
		after = m.Stored.At
	}
	return after, by, silent
}

// firstStored is when the first message of the task was stored; zero when no publish line was seen.
func (t *TaskFacts) firstStored() Micros {
	var at Micros
	for _, c := range t.Copies {
		at = earliest(at, c.At)
	}
	return at
}

// NotBefore is a time, but no time before the first message of the task was stored, whatever the clock of a reporter says.
func (t *TaskFacts) NotBefore(at Micros) Micros {
	if !at.Known() || slices.ContainsFunc(t.Copies, func(c DeliveryCopy) bool { return !c.At.Known() }) {
		return at
	}
	return latest(at, t.firstStored())
}
