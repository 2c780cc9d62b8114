package lifecycle

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"
)

// TestANaiveImplementationAgrees compares random histories, each in a random order, with repetitions, in random batches.
func TestANaiveImplementationAgrees(t *testing.T) {
	t.Parallel()
	for shard := range 4 {
		t.Run(strconv.Itoa(shard), func(t *testing.T) {
			t.Parallel()
			r := newRand(t, uint64(shard))
			for i := range Histories(2_000) {
				compareHistory(t, r, i, randomHistory(r))
				if t.Failed() {
					return
				}
			}
		})
	}
}

func compareHistory(t *testing.T, r *rand.Rand, i int, history []Event) {
	t.Helper()
	told := append([]Event{}, history...)
	for range r.IntN(len(history)) {
		told = append(told, history[r.IntN(len(history))])
	}
	r.Shuffle(len(told), func(a, b int) { told[a], told[b] = told[b], told[a] })
	m := foldAll(batches(told, 1+r.IntN(len(told))))
	n := naive{events: believable(history)}
	got := m.tasks["T"].Summary
	if !n.any(func(e Event) bool { return !e.Message.IsZero() }) {
		return // Nothing but claims: judged by the rule for tasks without a message, which scenarios cover.
	}
	if !n.any(is(Published)) && n.any(func(e Event) bool { return e.Message.IsZero() }) {
		return // The message is under a made-up task; scenarios cover that.
	}
	if !n.any(is(Published)) {
		got = m.tasks["TASKS:1"].Summary
	}
	part := n.aboutIt().deciding()
	want := fmt.Sprint(part.state(), part.current(), n.duplicates())
	if have := fmt.Sprint(got.State, got.Attempt, got.Duplicates); have != want {
		for _, e := range history {
			t.Logf("%s %s n%d c%d %s %+v", e.Kind, e.Consumer, e.Attempt, e.ConsumerSeq, offset(e.At), e.Detail.Standing)
		}
		t.Errorf("history %d %v: got %s (%s), want %s", i, describe(history), have, got.Rule, want)
	}
	if have, want := countedProtection(t, m.rollups), n.protection(); have != want {
		t.Errorf("history %d %v: counted %s, want %s", i, describe(history), have, want)
	}
	var states int64
	for c, v := range m.rollups {
		if v < 0 {
			t.Errorf("history %d: cell %v is %d", i, c, v)
		}
		if c.Metric == MetricState {
			states += v
		}
	}
	if states != 1 {
		t.Errorf("history %d %v: %d tasks counted, want 1", i, describe(history), states)
	}
}

// believable leaves out what consumers did that only watch, and the answers without proof of their senders who do not know when the message was stored. Of the others an attempt is proved,
// and what it did, but not that it ended the message. Attempts of a consumer that lived before count on from those of the living one, of which there are three.
func believable(events []Event) []Event {
	var stored Micros
	for _, e := range (naive{events: events}).all(is(Published)) {
		stored = e.At
	}
	var out []Event
	for _, e := range events {
		switch {
		case e.Detail.Watches, e.Kind == NakConfirmed: // The broker's word of a nak, which anybody may send, adds nothing to the worker's.
			e.Kind, e.Attempt, e.ConsumerSeq = "", 0, 0
		case !e.Detail.Unproved && is(Acked, Terminated)(e) && e.Detail.SaidAt > 0 && stored > 0 && e.Detail.SaidAt != stored:
			e.Kind, e.Attempt, e.ConsumerSeq = "", 0, 0 // Of somebody who was never given the message.
		case !e.Detail.Unproved && e.Detail.Former:
			e.Attempt, e.ConsumerSeq = e.Attempt+3, 0
		case !e.Detail.Unproved:
		case e.Kind == Heartbeat && (stored == 0 || e.Detail.SaidAt != stored): // The broker extends the lease, whoever asks for it.
			e.Attempt, e.ConsumerSeq = 0, 0
		case stored == 0 || e.Detail.SaidAt != stored:
			e.Kind, e.Attempt, e.ConsumerSeq = "", 0, 0
		default:
			if e.Kind == Acked || e.Kind == Terminated {
				e.Kind = AttemptUnanswered
			}
			if e.Detail.Former {
				e.Attempt, e.ConsumerSeq = e.Attempt+3, 0
			}
		}
		out = append(out, e)
	}
	return out
}

func describe(events []Event) []string {
	var out []string
	for _, e := range events {
		out = append(out, fmt.Sprintf("%s+%s/n%d/c%d/b%s/%s", e.Kind, offset(e.At), e.Attempt, e.ConsumerSeq, offset(e.Detail.Basis), e.Consumer))
	}
	return out
}

var historyKinds = []Kind{
	Published, Published, PublishAttempted, PublishAttempted, Acked, AckConfirmed, Nacked, NakConfirmed, Terminated, TermConfirmed,
	Heartbeat, Heartbeat, Delivered, Delivered, AttemptUnanswered, MaxDeliveries, ExhaustionSaid, ExhaustionDenied, LeaseExpired, PresumedDead, AckRefuted, Vanished,
	Orphaned, Stranded, Adopted, NotTaken, ConsumerRecreated, DeadLettered, Triaged, Reopened, CompletionRecorded, ReportClaimed, ReportAccepted, ReportCompleted,
}

// randomHistory makes up to twelve events about one message, in no particular order and with no regard for what is likely.
func randomHistory(r *rand.Rand) []Event {
	var out []Event
	published := false
	for i := range 1 + r.IntN(12) {
		e := Event{ID: NewEventID("random", strconv.Itoa(i)), Kind: historyKinds[r.IntN(len(historyKinds))]}
		if e.Kind == Published && published {
			continue
		}
		published = published || e.Kind == Published
		e.At = base.Add(time.Duration(1+r.IntN(30)) * time.Second)
		e.Provenance = e.Kind.Row().Provenance
		about := MessageKey{Stream: StreamID{Name: "TASKS"}, Seq: 1}
		switch e.Kind {
		case Published:
			e.TaskID, e.Message, e.Detail.MsgID = "T", about, "T"
			e.Detail.Window = time.Duration(r.IntN(3)) * 4 * time.Second
		case PublishAttempted, CompletionRecorded, ReportClaimed, ReportAccepted, ReportCompleted:
			e.TaskID, e.Detail.MsgID = "T", "T"
			switch e.Kind {
			case PublishAttempted:
				e.At, e.Detail.BestEffort = e.At.Add(time.Duration(r.IntN(5)-2)*20*time.Millisecond), r.IntN(3) == 0
			case CompletionRecorded:
				e.Detail.CreatedAt = base.Add(time.Duration(r.IntN(4)) * time.Second)
			case ReportCompleted:
				e.Detail.MsgID = []string{"T", ""}[r.IntN(2)]
				e.Detail.RecordsWait = time.Duration(r.IntN(4)) * 700 * time.Microsecond
				e.Detail.HeardAt = base.Add(time.Duration(r.IntN(12)) * time.Second)
			}
		case Vanished, Orphaned, Adopted, NotTaken, ConsumerRecreated, AckRefuted, DeadLettered, ExhaustionSaid, ExhaustionDenied:
			e.Message = about
			if e.Kind == Vanished {
				e.Detail.Reason = []string{VanishedByAge, "unknown", "discarded by limits", ""}[r.IntN(4)]
				e.Detail.Removal = []Removal{RemovedByLimit, RemovedUnknown, RemovedByOperator, RemovedToQueue, RemovedByInterest, ""}[r.IntN(6)]
				e.Detail.Undelivered = r.IntN(2) == 0
			}
			if e.Kind == DeadLettered {
				e.Detail.OfTask = []string{"T", "other", ""}[r.IntN(3)]
			}
		case Triaged, Reopened:
			e.Message, e.Detail.Revision = about, uint64(i+1) // The store never issues a revision twice.
			e.Detail.Outcome = Outcomes()[r.IntN(5)]
		case Delivered:
			e.Message, e.ConsumerSeq, e.Detail.Exact = about, uint64(2*(1+r.IntN(3))), r.IntN(2) == 0
			e.At = base.Add(time.Duration(e.ConsumerSeq) * 3 * time.Second) // One delivery has one time.
		default:
			e.Message, e.Attempt = about, 1+r.IntN(3)
			e.ConsumerSeq = uint64(2 * e.Attempt)
			switch e.Kind {
			case MaxDeliveries, Stranded:
				e.ConsumerSeq = 0
			case AckConfirmed:
				e.Provenance = []Provenance{Broker, Broker, Inferred}[r.IntN(3)]
			case TermConfirmed:
				e.Provenance = []Provenance{Broker, Broker, Inferred}[r.IntN(3)]
				e.Detail.Reason = []string{"schema invalid", BrokerDeleted, BrokerMissed}[r.IntN(3)]
			}
			e.Detail.Basis = min(e.At, base.Add(time.Duration(1+r.IntN(30))*time.Second)) // Nobody concludes from what comes later.
			e.Detail.Deadline = e.Detail.Basis.Add(5 * time.Second)
		}
		out = append(out, e)
	}
	if len(out) == 0 {
		return randomHistory(r)
	}
	doubt(r, out)
	if r.IntN(3) == 0 {
		share(r, out)
	}
	return out
}

// share gives what was done with the message to several workers' consumers of a stream that keeps its messages.
func share(r *rand.Rand, events []Event) {
	for i := range events {
		e := &events[i]
		delivery := e.Attempt > 0 && e.Kind != Stranded || is(Delivered, NotTaken, ConsumerRecreated, ExhaustionSaid, ExhaustionDenied)(*e)
		if !e.Message.IsZero() && delivery {
			e.Detail.Apart, e.Consumer = true, []string{"a", "b", "b", "c"}[r.IntN(4)]
		}
		if is(Adopted)(*e) && e.At.Time().Second()%2 == 0 {
			e.Consumer = []string{"b", "d"}[i%2]
			e.Detail.Apart, e.Detail.Beside = true, []string{e.Consumer}
		}
		if is(Acked, Terminated)(*e) && r.IntN(3) == 0 {
			e.Detail.Beside = [][]string{{"b"}, {"c"}, {"b", "d"}}[r.IntN(3)]
		}
	}
}

// doubt leaves some answers without proof.
func doubt(r *rand.Rand, events []Event) {
	stored := base
	for _, e := range (naive{events: events}).all(is(Published)) {
		stored = e.At
	}
	for i := range events {
		if e := &events[i]; is(Acked, Nacked, Terminated, Heartbeat)(*e) && r.IntN(4) == 0 {
			e.Detail.Unproved, e.Detail.SaidAt, e.Detail.Former = true, stored.Add(time.Duration(r.IntN(2))*time.Millisecond), r.IntN(3) == 0
		}
		if e := &events[i]; is(AckConfirmed, TermConfirmed)(*e) && (e.Kind == AckConfirmed || ownTerm(*e)) {
			e.Detail.Former = r.IntN(3) == 0
		}
		if e := &events[i]; is(Acked, Terminated)(*e) && !e.Detail.Unproved && r.IntN(3) == 0 {
			e.Detail.SaidAt = stored.Add(time.Duration(r.IntN(2)) * time.Millisecond)
		}
		if e := &events[i]; !e.Message.IsZero() && e.Attempt > 0 && r.IntN(8) == 0 {
			e.Detail.Watches = true
		}
	}
}
