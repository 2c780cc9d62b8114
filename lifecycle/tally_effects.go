package lifecycle

import (
	"cmp"
	"slices"
)

// What SPEC 7 counts of leases, keys and effects. All of it is a pure function of joined facts, so what becomes known late corrects it. What
// nobody reports is in none of these numbers: they are lower bounds, and of a fleet that reports no effects there is none.

// RenewalFailure says how an attempt lost a lease that it had renewed.
type RenewalFailure string

// The failures of renewals.
const (
	RenewalStopped RenewalFailure = "stopped" // Its heartbeats stopped, and the deadline passed or the message was handed out again.
	RenewalLate    RenewalFailure = "late"    // A heartbeat came after that.
)

// renewalFailure says how the attempt lost a lease that it had renewed by heartbeats on the wire. It is empty where the attempt did not, and where
// it never renewed: nothing tells then whether it tried to. Whose consumer was created anew did not fail to renew.
func (a Attempt) renewalFailure(recreated Micros) RenewalFailure {
	switch {
	case a.End != EndTimedOut || !a.LastBeat.Known() || (a.Former && a.EndedAt == recreated):
		return ""
	case a.EndedAt.Known() && a.LastBeat > a.EndedAt:
		return RenewalLate
	}
	return RenewalStopped
}

// KeyReuse says what a later message of an idempotency key holds, against the first.
type KeyReuse string

// The reuses of keys.
const (
	ReuseSame    KeyReuse = "same_payload"  // The same: the task is sent again.
	ReuseOther   KeyReuse = "other_payload" // Something else: a conflict.
	ReuseUnknown KeyReuse = "unknown"       // The fingerprint of one of them is not known.
)

func keyReuse(first, later *DeliveryCopy) KeyReuse {
	switch {
	case first.Hash == "" || later.Hash == "":
		return ReuseUnknown
	case first.Hash == later.Hash:
		return ReuseSame
	}
	return ReuseOther
}

// Missed says what somebody outside waits for in vain.
type Missed string

// What can be missed.
const (
	MissedAccepted Missed = "accepted_died"      // A task that was acknowledged at the ingress and ended without completing.
	MissedUnknown  Missed = "accepted_unknown"   // A task that was acknowledged at the ingress, and what became of it is not known.
	MissedUnsent   Missed = "announced_not_sent" // An outgoing message of a task that ended without completing, and nobody says that it was sent.
)

// countEffects adds what a task contributes to the numbers of keys and effects. s is its judgement.
func (t Tally) countEffects(f *TaskFacts, s *TaskSummary, times int64) {
	t.countKeys(f, s.Agent, times)
	for open := range f.unreceipted() {
		t.count(MetricNoReceipt, f.recoveredAt(open.MsgID, open.N), s.Agent, open.Class, times)
	}
	for _, at := range f.sentAgain() {
		t.count(MetricSentAgain, at, s.Agent, "", times)
	}
	t.countMissed(f, s, times)
}

// countKeys adds the stored messages that carry an idempotency key of an earlier one of the task.
func (t Tally) countKeys(f *TaskFacts, agent string, times int64) {
	first := map[string]*DeliveryCopy{}
	var last MessageKey
	for i := range f.Copies {
		c := &f.Copies[i]
		if c.IdemKey == "" || c.Key == last {
			continue
		}
		last = c.Key
		if before, found := first[c.IdemKey]; found {
			t.count(MetricKeysReused, c.At, agent, string(keyReuse(before, c)), times)
		} else {
			first[c.IdemKey] = c
		}
	}
}

func (t Tally) countMissed(f *TaskFacts, s *TaskSummary, times int64) {
	if !s.Listed || s.State.Open() || s.State == StateCompleted {
		return
	}
	at := firstKnown(s.EndedAt, s.StateSince)
	if f.IngressAt.Known() {
		missed := MissedAccepted
		if s.ended() == StateOutcomeUnknown {
			missed = MissedUnknown
		}
		t.count(MetricMissed, at, s.Agent, string(missed), times)
	}
	t.count(MetricMissed, at, s.Agent, string(MissedUnsent), times*int64(f.unsent()))
}

// openEffect is an attempt, as reports name it, that announced an effect of a class of which it reported no receipt.
type openEffect struct {
	MsgID string
	N     int
	Class string
}

// unreceipted are the attempts that announced an effect of which they reported no receipt and the side-effect log has none, once for each class
// of such effects. Announcements that name no attempt are left out: nothing tells what came after them. So are those of agents that never had the message.
func (t *TaskFacts) unreceipted() map[openEffect]bool {
	out := map[openEffect]bool{}
	for _, i := range t.ReportedEffects() {
		for _, said := range reportsOf(i.Intent, i.Intents) {
			if !i.Stranger && said.N > 0 && !i.receiptAfter(said) && !t.logged(i.Key) {
				out[openEffect{i.MsgID, said.N, i.countedClass()}] = true
			}
		}
	}
	return out
}

// countedClass is the class of the effect as one of a few words: those of SPEC 3, unsafe for every other one, outbound for an outgoing message and
// unknown for a step of which nobody said it.
func (i IntentFacts) countedClass() string {
	_, known := classDanger[i.Class]
	switch {
	case i.Class == "" && i.Outbound:
		return "outbound"
	case i.Class == "":
		return "unknown"
	case !known:
		return "unsafe"
	}
	return i.Class
}

// receiptAfter reports whether the attempt that announced the effect reported its receipt, or a receipt does not say of which attempt it is. Steps that have no name of
// their own are kept together: each time that the attempt announced one from then on needs a receipt.
func (i IntentFacts) receiptAfter(said LastReport) bool {
	receipts, intents := 0, 0
	for _, r := range reportsOf(i.Receipt, i.Receipts) {
		if (r.N == said.N || r.N == 0) && r.At >= said.At {
			receipts++
		}
	}
	for _, o := range reportsOf(i.Intent, i.Intents) {
		if o.N == said.N && o.At >= said.At {
			intents++
		}
	}
	return receipts >= intents || receipts > 0 && i.named()
}

// logged reports whether the side-effect log says that the effect with that idempotency key took place.
func (t *TaskFacts) logged(key string) bool {
	return key != "" && slices.ContainsFunc(t.Effects, func(l LoggedEffect) bool { return l.Key == key })
}

// recoveredAt is when the work of the task began again after attempt n of a message: the earliest time of what proves a later attempt of it, or a
// delivery of a later message. It is zero where nothing proves either.
func (t *TaskFacts) recoveredAt(msgID string, n int) Micros {
	var at Micros
	for r := range t.Credible() {
		if r.MsgID == msgID && r.Attempt > n {
			at = earliest(at, r.beganAt())
		}
	}
	order := t.MessageOrder(msgID)
	for i, c := range t.Copies {
		switch {
		case order < 0 || i < order:
		case c.MsgID == msgID && c.Attempts > n:
			at = earliest(at, firstKnown(c.began(n), c.To))
		case c.MsgID != msgID && c.Attempts > 0:
			at = earliest(at, firstKnown(c.first(), c.At))
		}
	}
	return at
}

// began is when the attempt that acknowledged the message began, where it is later than n; zero when it is not, or is not known.
func (c DeliveryCopy) began(n int) Micros {
	if c.Attempt <= n {
		return 0
	}
	return firstKnown(c.By, c.AckedAt)
}

// sentAgain are the times at which agents announced an outgoing message again, by their own clocks: in another attempt, in another message of
// the task, or once more at another time. Those without a name are left out: nothing tells them apart.
func (t *TaskFacts) sentAgain() []Micros {
	announced := map[string][]Micros{}
	for _, i := range t.ReportedEffects() {
		if i.Stranger || !i.Outbound || !i.named() {
			continue
		}
		last := LastReport{N: -1}
		for _, said := range reportsOf(i.Intent, i.Intents) {
			if said.N != last.N || said.At != last.At {
				announced[i.Step] = append(announced[i.Step], said.At)
			}
			last = said
		}
	}
	var again []Micros
	for _, times := range announced {
		slices.SortFunc(times, cmp.Compare)
		again = append(again, times[1:]...)
	}
	return again
}

// unsent counts the outgoing messages of the task that were announced and that nobody says were sent.
func (t *TaskFacts) unsent() int {
	sent := map[string]bool{}
	for _, i := range t.ReportedEffects() {
		if !i.Stranger && i.Outbound && i.Step != "" {
			sent[i.Step] = sent[i.Step] || i.Receipt.Known() || t.logged(i.Key)
		}
	}
	n := 0
	for _, done := range sent {
		if !done {
			n++
		}
	}
	return n
}
