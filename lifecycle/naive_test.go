package lifecycle

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"
)

// naive judges a task by looking through all of its events each time a question is asked. It shares no code with the fold beyond
// the types: where both agree on many random histories, the cleverness of the fold changed nothing.
type naive struct {
	events []Event
	given  bool // One of its several consumers delivered the message.
}

func (n naive) any(pick func(Event) bool) bool { return len(n.all(pick)) > 0 }

func (n naive) all(pick func(Event) bool) []Event {
	var out []Event
	for _, e := range n.events {
		if pick(e) {
			out = append(out, e)
		}
	}
	return out
}

func (n naive) last(pick func(Event) bool) Micros {
	var at Micros
	for _, e := range n.all(pick) {
		at = max(at, e.At)
	}
	return at
}

func is(kinds ...Kind) func(Event) bool {
	return func(e Event) bool {
		for _, k := range kinds {
			if e.Kind == k {
				return true
			}
		}
		return false
	}
}

func (n naive) attempt() int {
	number := map[uint64]int{}
	highest := uint64(0)
	for _, e := range n.events {
		if e.ConsumerSeq > 0 {
			highest = max(highest, e.ConsumerSeq)
			number[e.ConsumerSeq] = max(number[e.ConsumerSeq], e.Attempt)
		}
	}
	best, prev := 0, 0
	for c := uint64(1); c <= highest; c++ {
		got, seen := number[c]
		if !seen {
			continue
		}
		if got == 0 {
			got = prev + 1
		}
		prev = got
		best = max(best, got)
	}
	for _, e := range n.events {
		if e.Kind != Stranded && !e.Detail.Former {
			best = max(best, e.Attempt)
		}
		if e.Kind == ReportClaimed || e.Kind == ReportAccepted {
			best = max(best, 1)
		}
	}
	return best
}

// brokersOwn reports whether an advisory about a termination is the broker's own word of a deletion.
func brokersOwn(e Event) bool {
	return e.Kind == TermConfirmed && strings.Contains(e.Detail.Reason, "deleted")
}

// gone reports whether something says that the message left unanswered.
func (n naive) gone() bool {
	return n.any(func(e Event) bool { return e.Kind == Vanished || brokersOwn(e) })
}

// missed reports whether the message was only found missing: nothing says what removed it.
func (n naive) missed() bool {
	return n.gone() && !n.any(func(e Event) bool {
		byAge := e.Detail.Removal == "" && e.Detail.Reason == VanishedByAge
		return brokersOwn(e) || (e.Kind == Vanished && (byAge || (e.Detail.Removal != "" && e.Detail.Removal != RemovedUnknown)))
	})
}

// since leaves out what happened to attempts before the consumer was created anew: its numbers start again.
func (n naive) since(recreated Micros) naive {
	return naive{n.all(func(e Event) bool {
		switch {
		case is(ReportClaimed, ReportAccepted)(e):
			return e.At >= recreated
		case e.Attempt > 0 || e.ConsumerSeq > 0:
			return e.At >= recreated
		}
		return true
	}), n.given}
}

// until is what was known of its deliveries and attempts before a time.
func (n naive) until(recreated Micros) naive {
	return naive{n.all(func(e Event) bool {
		return e.At < recreated && (e.Attempt > 0 || e.ConsumerSeq > 0 || e.Kind == MaxDeliveries)
	}), n.given}
}

// beats reports whether there is such a heartbeat.
func (n naive) beats(pick func(Event) bool) bool {
	return n.any(func(e Event) bool { return e.Kind == Heartbeat && pick(e) })
}

// completed reports whether a record that was stored two seconds before the message was seen to be removed, or a report that came by then, says that
// the work was done. A message that was only missed had gone by two seconds later. A record that was there before the message was
// stored is about another one, also where it is written again with the time that it states.
func (n naive) completed(how ...Kind) bool {
	var by Micros
	for _, e := range n.events {
		if (e.Kind == Vanished || brokersOwn(e)) && (by == 0 || e.At < by) {
			by = e.At
		}
	}
	switch {
	case n.missed():
		by = by.Add(2 * time.Second)
	case by != 0:
		by = by.Add(-2 * time.Second)
	}
	return n.any(func(e Event) bool {
		older := func(o Event) bool {
			return o.Kind == CompletionRecorded && o.Detail.CreatedAt == e.Detail.CreatedAt && o.At < n.last(is(Published))
		}
		if e.Kind == CompletionRecorded && n.any(older) {
			return false
		}
		return is(how...)(e) && (by == 0 || max(e.At, e.Detail.HeardAt) <= by)
	})
}

// outcome is that of the decision with the highest revision; empty after it was taken back.
func (n naive) outcome() Outcome {
	var last Event
	for _, e := range n.all(is(Triaged, Reopened)) {
		if e.Detail.Revision >= last.Detail.Revision {
			last = e
		}
	}
	if last.Kind != Triaged {
		return ""
	}
	return last.Detail.Outcome
}

// state is what was observed, and what was decided about it where it died.
func (n naive) state() State {
	s := n.observed()
	if (s == StateExhausted || s == StateTerminated || s == StateDeadLettered) && n.outcome() != "" {
		return StateTriaged
	}
	return s
}

func (n naive) observed() State {
	refuted := n.last(is(AckRefuted))
	acked := n.ackCounts(refuted)
	recorded := n.completed(ReportCompleted, CompletionRecorded)
	recreated := n.last(is(ConsumerRecreated))
	life := n.since(recreated)
	attempt := life.attempt()
	current := func(kinds ...Kind) func(Event) bool {
		return func(e Event) bool { return is(kinds...)(e) && e.Attempt == attempt }
	}
	since := func(at Micros) bool { return at >= recreated }
	dead, expired := n.stands(PresumedDead, life, since), n.stands(LeaseExpired, life, since)
	vanished := n.gone()
	termed := n.any(func(e Event) bool { return n.terminates(e) && n.firstTerm(e.Attempt) > refuted })
	exhausted := dead || life.usedUp()
	if past := n.until(recreated); attempt == 0 && n.stranded(life) {
		exhausted = exhausted || past.usedUp() || n.stands(PresumedDead, past, func(at Micros) bool { return at < recreated })
	}
	// A stream that keeps its messages gives them again once their consumer was created anew.
	again := recreated > 0 && attempt > 0 && !recorded && !vanished && !termed && !exhausted && !life.ackCounts(refuted)
	acked = acked && !again
	nothingElse := attempt == 0 && !acked && !n.any(is(Published)) && !n.given
	switch {
	case acked && recorded:
		return StateCompleted
	case n.entryOfIt() && (termed || exhausted || vanished && (!n.missed() || !n.livedAfterEntries()) || n.last(is(Orphaned, Stranded)) > n.last(is(Adopted)) || nothingElse):
		return StateDeadLettered
	case acked:
		return StateCompleted
	case termed:
		return StateTerminated
	case exhausted:
		return StateExhausted
	case n.any(func(e Event) bool { return e.Kind == Vanished && e.Detail.Removal == RemovedToQueue }): // Who did it knows.
		return StateDeadLettered
	case attempt == 0 && n.any(func(e Event) bool { return e.Detail.Undelivered }):
		return StateRemoved
	case (vanished || n.stranded(life)) && (n.completed(CompletionRecorded) || recorded && n.had()):
		return StateCompleted
	case n.completed(CompletionRecorded), recorded && attempt > 0: // Who reports must have been given it.
		return StateCompleting
	case vanished || n.stranded(life):
		return StateOutcomeUnknown
	case life.any(current(Nacked)): // Anybody may send the advisory of one.
		return StateFailed
	case expired && !dead:
		return StateFailed
	case attempt > 1:
		return StateRedelivered
	case attempt == 1 && life.any(func(e Event) bool { return current(Heartbeat)(e) || is(ReportClaimed, ReportAccepted)(e) }):
		return StateProcessing
	case attempt == 1:
		return StateDelivered
	case n.any(is(Published)), n.given:
		return StatePublished
	}
	return StateOutcomeUnknown
}

// stands reports whether a conclusion of the clock about the latest attempt of a life does: the attempt was not delivered later, and no worker's heartbeat came in time.
func (n naive) stands(kind Kind, life naive, within func(Micros) bool) bool {
	attempt := life.attempt()
	var basis, deadline Micros
	found := false
	for _, e := range n.all(func(e Event) bool { return e.Kind == kind && e.Attempt == attempt && within(e.Detail.Basis) }) {
		if !found || e.Detail.Basis > basis || (e.Detail.Basis == basis && e.Detail.Deadline > deadline) {
			basis, deadline, found = e.Detail.Basis, e.Detail.Deadline, true
		}
	}
	inTime := func(e Event) bool {
		return e.Kind == Heartbeat && within(e.At) && e.At > basis && e.At <= deadline
	}
	return found && life.lastExactDelivery(attempt) <= basis && !n.beats(inTime)
}

// usedUp reports whether the broker said that the attempts are used up, and delivered none later.
func (n naive) usedUp() bool {
	maxed := n.last(is(MaxDeliveries))
	return maxed > 0 && n.lastExactDelivery(n.attempt()) <= maxed && (n.maxedNumber() == 0 || n.without(is(ReportClaimed, ReportAccepted)).attempt() <= n.maxedNumber())
}

// maxedNumber is the last attempt that the broker's latest word on it says was used up; zero where it names none.
func (n naive) maxedNumber() int {
	number := 0
	for _, e := range n.all(is(MaxDeliveries)) {
		if e.At == n.last(is(MaxDeliveries)) {
			number = max(number, e.Attempt)
		}
	}
	return number
}

// had reports whether a worker is known to have had the message, of whichever incarnation of its consumer.
func (n naive) had() bool {
	return n.attempt() > 0 || n.any(func(e Event) bool { return e.Detail.Former && e.Attempt > 0 })
}

// stranded reports whether its consumer was seen to be past the message, and no later attempt is known.
func (n naive) stranded(life naive) bool {
	seen := 0
	for _, e := range n.all(is(Stranded)) {
		seen = max(seen, e.Attempt)
	}
	return n.last(is(Stranded)) > n.last(is(Adopted)) && life.without(is(ReportClaimed, ReportAccepted)).attempt() <= seen
}

// ofIt reports whether a dead-letter entry speaks of this message, and not of another task's. While no publish was seen every entry does.
func (n naive) ofIt(e Event) bool {
	return e.Kind == DeadLettered && (e.Detail.OfTask != "other" || !n.any(is(Published)))
}

func (n naive) entryOfIt() bool { return n.any(n.ofIt) }

// livedAfterEntries reports whether a worker got the message, or sent a heartbeat or a nak, two seconds or more after the last entry that speaks of it.
func (n naive) livedAfterEntries() bool {
	lived := n.last(func(e Event) bool {
		return e.Attempt > 0 && (is(Heartbeat, Nacked)(e) || e.Kind == Delivered && e.Detail.Exact)
	})
	return lived > n.last(n.ofIt).Add(2*time.Second)
}

// terminates reports whether a line ends its attempt for good: the worker's own, or an advisory that the worker's line or the end of the
// message bears out, where nothing else says how it left.
func (n naive) terminates(e Event) bool {
	own := func(o Event) bool { return ownTerm(o) && o.Attempt == e.Attempt }
	return ownTerm(e) || (e.Kind == TermConfirmed && !brokersOwn(e) && (n.missed() || n.any(own)))
}

// ackCounts reports whether an acknowledgement ended the message: no look at the stream refuted it, and no worker had given the message up
// before. The consumer that was created anew after that was given it again. Of the acknowledgements of an attempt before and after a
// look that refuted, the last counts.
func (n naive) ackCounts(refuted Micros) bool {
	var ack, term Micros
	for attempt := 1; attempt <= 6; attempt++ { // Three of the living consumer, three of those before it.
		first := n.firstAck(attempt)
		at := n.last(func(e Event) bool {
			metric := e.Kind == AckConfirmed && (first > 0 || n.missed() && !n.any(func(e Event) bool { return e.Detail.Undelivered })) // Anybody may send it: alone it proves nothing of a message that may be there.
			return (ownAck(e) || metric) && e.Attempt == attempt && e.At > refuted
		})
		if at > 0 && first > refuted {
			at = first
		}
		ack = earliest(ack, at)
		if at := n.firstTerm(attempt); at > refuted {
			term = earliest(term, at)
		}
	}
	recreated := n.last(is(ConsumerRecreated))
	return ack > 0 && (term == 0 || ack <= term || (recreated > term && recreated <= ack))
}

// ownAck and ownTerm are what a worker itself said, or claimed and the broker's state proved.
func ownAck(e Event) bool {
	return e.Kind == Acked || (e.Kind == AckConfirmed && e.Provenance == Inferred)
}

func ownTerm(e Event) bool {
	return e.Kind == Terminated || (e.Kind == TermConfirmed && !brokersOwn(e) && e.Provenance == Inferred)
}

// firstAck is the first acknowledgement by a worker's own line.
func (n naive) firstAck(attempt int) Micros {
	var at Micros
	for _, e := range n.all(ownAck) {
		if e.Attempt == attempt {
			at = earliest(at, e.At)
		}
	}
	return at
}

func (n naive) firstTerm(attempt int) Micros {
	var at Micros
	for _, e := range n.all(is(Terminated, TermConfirmed)) {
		if e.Attempt == attempt && n.terminates(e) && (at == 0 || e.At < at) {
			at = e.At
		}
	}
	return at
}

// current is the attempt that counts.
func (n naive) current() int { return n.since(n.last(is(ConsumerRecreated))).attempt() }

// lastExactDelivery finds the broker's time of the delivery with the given number.
func (n naive) lastExactDelivery(attempt int) Micros {
	return n.last(func(e Event) bool {
		return e.Kind == Delivered && e.Detail.Exact && n.numberOf(e.ConsumerSeq) == attempt
	})
}

// numberOf numbers a consumer sequence by counting from the nearest earlier one whose number was said.
func (n naive) numberOf(cseq uint64) int {
	number, prev := map[uint64]int{}, 0
	for _, e := range n.events {
		if e.ConsumerSeq > 0 {
			number[e.ConsumerSeq] = max(number[e.ConsumerSeq], e.Attempt)
		}
	}
	for c := uint64(1); c <= cseq; c++ {
		if got, seen := number[c]; seen && got > 0 {
			prev = got
		} else if seen {
			prev++
		}
	}
	return prev
}

// protection counts distinct completions of records, and what was waited for records, by the steps of the scale.
func (n naive) protection() string {
	stated, longest, steps := map[Micros]bool{}, map[string]time.Duration{}, map[int]int{}
	for _, e := range n.all(is(CompletionRecorded)) {
		stated[e.Detail.CreatedAt] = true
	}
	for _, e := range n.all(is(ReportCompleted)) {
		longest[e.Detail.MsgID] = max(longest[e.Detail.MsgID], e.Detail.RecordsWait)
	}
	for _, d := range longest {
		if d > 0 {
			steps[int(math.Ceil(4*math.Log2(float64(d.Microseconds()))))]++
		}
	}
	return fmt.Sprint(len(stated), steps)
}

// countedProtection is the same as it stands in the rollups, which must agree by hour and month.
func countedProtection(t *testing.T, cells Tally) string {
	t.Helper()
	read := func(recorded, waits Metric) string {
		var records int64
		steps := map[int]int{}
		for c, n := range cells {
			switch c.Metric {
			case recorded:
				records += n
			case waits:
				step, _ := strconv.Atoi(c.Label)
				steps[step] += int(n)
			}
		}
		return fmt.Sprint(records, steps)
	}
	hours, months := read(MetricRecorded, MetricRecordWait), read(MetricRecordedMonth, MetricRecordWaitMonth)
	if hours != months {
		t.Errorf("hours count %s, months %s", hours, months)
	}
	return hours
}
