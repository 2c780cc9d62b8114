package lifecycle

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestANaiveImplementationAgreesAboutSuccessors compares random histories of messages in a work queue that several consumers delivered, one in the place of another or beside it.
func TestANaiveImplementationAgreesAboutSuccessors(t *testing.T) {
	t.Parallel()
	r := newRand(t, 11)
	for i := range Histories(4_000) {
		compareHistory(t, r, i, succeed(r, randomHistory(r)))
		if t.Failed() {
			return
		}
	}
}

// The facts of a message are shared: to ask for it as one consumer has it changes none of them.
func TestAMessageAsOneConsumerHasItIsACopy(t *testing.T) {
	t.Parallel()
	attempt := func(at Micros) []AttemptFacts {
		return []AttemptFacts{{N: 1, CSeqs: []uint64{1}, CSeqAt: []Micros{at}, SeenAt: at, LastAt: at}}
	}
	m := MessageFacts{RecreatedAt: 9, Consumers: []ConsumerFacts{{Consumer: "a", Attempts: attempt(5)}, {Consumer: "b", Former: attempt(3), RecreatedAt: 9}}}
	if got := m.Of("b").Former[0].CSeqAt[0]; got != 5 {
		t.Errorf("the former attempt was seen at %d, want 5", got)
	}
	if kept := m.Consumers[1].Former[0].CSeqAt[0]; kept != 3 {
		t.Errorf("the stored facts say %d now, want 3", kept)
	}
}

// succeed names in the lines of a work queue which of several consumers each tells of.
func succeed(r *rand.Rand, events []Event) []Event {
	if slices.ContainsFunc(events, func(e Event) bool { return e.Detail.Apart }) {
		return events
	}
	for i := range events {
		e := &events[i]
		if e.Message.IsZero() || is(Published, DeadLettered, Triaged, Reopened, Vanished)(*e) {
			continue
		}
		if e.Consumer = []string{"a", "b", "b", "c"}[r.IntN(4)]; e.Kind == NotTaken {
			e.Detail.Apart = true
		}
	}
	return events
}

// consumers are the workers' consumers each of which got the message, as their lines say.
func (n naive) consumers() []string {
	var out []string
	for _, e := range n.events {
		if !e.Detail.Apart || e.Detail.Watches || e.Consumer == "" {
			continue
		}
		for _, name := range append([]string{e.Consumer}, e.Detail.Beside...) {
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// of leaves out what other consumers did, but for those that left. That the broker dropped the message, or delivers it after all, is true for all.
func (n naive) of(consumer string, left []string) naive {
	out := naive{nil, n.given}
	for _, e := range n.events {
		switch former := slices.Contains(left, e.Consumer); {
		case !e.Detail.Apart, e.Consumer == consumer:
		case former && (e.Attempt > 0 || e.Kind == Delivered):
			if e.Attempt = max(e.Attempt, n.of(e.Consumer, nil).numberOf(e.ConsumerSeq)); e.Attempt == 0 || is(Stranded, ExhaustionSaid, ExhaustionDenied)(e) {
				continue
			}
			if is(LeaseExpired, PresumedDead, MaxDeliveries)(e) { // Of what was concluded it is left that the attempt took place.
				e.Kind = AttemptUnanswered
			}
			if e.ConsumerSeq, e.Detail.Former = 0, true; e.Attempt <= 3 {
				e.Attempt += 3
			}
		case brokersOwn(e), e.Kind == Adopted:
			e.Attempt, e.ConsumerSeq = 0, 0
		default:
			continue
		}
		out.events = append(out.events, e)
	}
	return out
}

// named are the lines of a work queue by the names of its consumers, where they name several, and when one of them came last in the place of others.
func (n naive) named() (naive, Micros) {
	ofOne := func(e Event) bool {
		return !e.Detail.Apart && !e.Detail.Watches && e.Consumer != "" && (e.Attempt > 0 && e.Kind != Stranded || is(Heartbeat, Delivered, ExhaustionSaid, ExhaustionDenied, ConsumerRecreated)(e) || e.Kind == "" && (e.Detail.Unproved || e.Detail.SaidAt > 0))
	}
	doubted := func(e Event) bool { // While nothing says when the message was stored.
		return e.Kind == "" || e.Detail.Unproved || is(Acked, Terminated)(e) && e.Detail.SaidAt > 0 && !n.any(is(Published))
	}
	var names []string
	for _, e := range n.all(ofOne) {
		if !doubted(e) && !slices.Contains(names, e.Consumer) {
			names = append(names, e.Consumer)
		}
	}
	if apart := func(e Event) bool { return e.Detail.Apart && !e.Detail.Watches }; len(names) < 2 && !n.any(apart) {
		return naive{n.all(func(e Event) bool {
			return e.Kind != Heartbeat || e.Attempt > 0 || !e.Detail.Unproved || len(names) == 0 || e.Consumer == names[0] // Whoever it is, another one extends no lease of its worker's.
		}), n.given}, 0
	}
	succeeded := n.last(func(e Event) bool { return ofOne(e) && e.Kind == ConsumerRecreated })
	out := naive{slices.Clone(n.events), n.given}
	for i, e := range out.events {
		out.events[i].Detail.Apart = e.Detail.Apart || ofOne(e)
	}
	return out, succeeded
}

// stayed are the consumers from which something is expected, and those that left: another one came in their place after their last sign, or they were seen not to take the message.
// Where none of the former had it, the last of the others to give a sign stays.
func (n naive) stayed(succeeded Micros, has func(string) bool) (stayed, left []string) {
	ofIt := func(c string, pick func(Event) bool) Micros {
		return n.last(func(e Event) bool { return e.Detail.Apart && !e.Detail.Watches && e.Consumer == c && pick(e) })
	}
	sign := func(c string) Micros {
		return ofIt(c, func(e Event) bool {
			return !e.Detail.Unproved && (e.Attempt > 0 && e.Kind != Stranded && !is(ExhaustionSaid, ExhaustionDenied)(e) || is(Delivered, MaxDeliveries)(e))
		})
	}
	last := ""
	for _, c := range n.consumers() {
		at := sign(c)
		ended := ofIt(c, func(e Event) bool {
			return !e.Detail.Unproved && is(Acked, AckConfirmed, Terminated, TermConfirmed, MaxDeliveries, PresumedDead)(e) && !brokersOwn(e)
		})
		undoubted := ofIt(c, func(e Event) bool {
			return !e.Detail.Unproved && is(Acked, Terminated)(e) && e.Detail.SaidAt > 0 && !n.any(is(Published))
		})
		if at > 0 && undoubted == 0 && (ended == 0 && ofIt(c, is(NotTaken)) > at || succeeded > max(at, ofIt(c, is(ConsumerRecreated)))) {
			left = append(left, c)
			if last == "" || at > sign(last) {
				last = c
			}
			continue
		}
		stayed = append(stayed, c)
	}
	if last != "" && !slices.ContainsFunc(stayed, has) {
		return []string{last}, slices.DeleteFunc(left, func(c string) bool { return c == last })
	}
	return stayed, left
}

// without takes the numbers of attempts and deliveries from some events.
func (n naive) without(which func(Event) bool) naive {
	out := naive{slices.Clone(n.events), n.given}
	for i := range out.events {
		if which(out.events[i]) {
			out.events[i].Attempt, out.events[i].ConsumerSeq = 0, 0
		}
	}
	return out
}

// took reports whether a consumer had the message at any time. An answer that nobody proved says nothing of that.
func (n naive) took(consumer string) bool {
	beside := n.last(func(e Event) bool {
		return e.Detail.Apart && !e.Detail.Watches && slices.Contains(e.Detail.Beside, consumer)
	})
	if beside > n.last(func(e Event) bool { return e.Kind == NotTaken && e.Detail.Apart && e.Consumer == consumer }) && !n.gone() {
		return true // It is to take it.
	}
	return n.any(func(e Event) bool {
		return e.Detail.Apart && e.Consumer == consumer && !e.Detail.Unproved && (e.Attempt > 0 || e.ConsumerSeq > 0 || e.Kind == MaxDeliveries)
	})
}

// deciding is the history of the consumer that is furthest from done with the message, among those that had it; where none is proved to have had it, among all.
func (n naive) deciding() naive {
	n, succeeded := n.named()
	if len(n.consumers()) == 0 {
		return n
	}
	cameLast := func(e Event) bool { return succeeded > 0 && e.Kind == ConsumerRecreated && e.At == succeeded }
	has := func(c string) bool {
		return n.took(c) || n.any(func(e Event) bool { return cameLast(e) && e.Consumer == c })
	}
	all, left := n.stayed(succeeded, has)
	none := !slices.ContainsFunc(all, has)
	var took []naive
	for _, c := range all {
		if none || has(c) {
			took = append(took, n.of(c, left))
		}
	}
	if len(took) > 1 { // The reports of these histories name no agent: nobody can tell which consumer's worker began.
		for i := range took {
			took[i].events = took[i].all(func(e Event) bool { return !is(ReportClaimed, ReportAccepted)(e) })
		}
	}
	given := slices.ContainsFunc(took, func(p naive) bool { return p.current() > 0 })
	for i := range took {
		took[i].given = given
	}
	best := took[0]
	for _, p := range took[1:] {
		if a, b := p.left(), best.left(); a < b || (a == b && p.current() > best.current()) {
			best = p
		}
	}
	return best
}

// left is small where much is left to do. A worker that has the message comes before one that waits for it, before a death, before what nobody knows,
// before what is done.
func (n naive) left() int {
	order := strings.Fields("redelivered processing delivered completing failed published exhausted terminated dead_lettered outcome_unknown removed completed")
	return slices.Index(order, string(n.observed()))
}
