package brokersync

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fleetglass/lifecycle"
)

// t0 is when everything begins; times of the tables count from it.
const t0 = lifecycle.Micros(1_800_000_000_000_000)

func at(d time.Duration) lifecycle.Micros { return t0.Add(d) }

var tasks = lifecycle.StreamID{Name: "TASKS"}

// message is stored message seq with the given events.
func message(seq uint64, events ...lifecycle.Event) lifecycle.MessageFacts {
	m := lifecycle.MessageFacts{}
	stored := lifecycle.Event{Kind: lifecycle.Published, At: at(0), Detail: lifecycle.Detail{Naming: lifecycle.Naming{Subject: "genbrain.agents.a.tasks.blog"}}}
	for _, e := range append([]lifecycle.Event{stored}, events...) {
		e.Message = lifecycle.MessageKey{Stream: tasks, Seq: seq}
		m.Join(e)
	}
	return m
}

func open(ms ...lifecycle.MessageFacts) (out []lifecycle.OpenMessage) {
	for _, m := range ms {
		out = append(out, lifecycle.OpenMessage{Message: m})
	}
	return out
}

func line(kind lifecycle.Kind, d time.Duration, n int, cseq uint64) lifecycle.Event {
	return lifecycle.Event{Kind: kind, At: at(d), Provenance: lifecycle.Observed, Attempt: n, ConsumerSeq: cseq}
}

// worker is a consumer that holds one message at a time, created an hour before.
func worker(change func(*Consumer)) Consumer {
	c := Consumer{ConsumerState: lifecycle.ConsumerState{
		Stream: tasks, Name: "a-task-worker", CreatedAt: at(-time.Hour), Filters: []string{"genbrain.agents.a.tasks.>"},
		AckWait: time.Second, MaxDeliver: 3, MaxAckPending: 1,
	}}
	change(&c)
	return c
}

// seen is a look at 10 s, with everything stored, at a stream that holds the given sequences of ten.
func seen(c Consumer, present ...uint64) Look {
	return Look{
		Stream: tasks, ConsumersAt: at(10 * time.Second), At: at(10 * time.Second), FirstSeq: 1, LastSeq: 10, Consumers: []Consumer{c},
		Present: Presence{First: 1, Last: 10, From: 1, To: 10, Listed: present}, Drained: at(10*time.Second + time.Minute), Verifiable: 10,
	}
}

var waits = Waits{Refute: 2 * time.Second, Vanish: 2 * time.Second, Orphan: 5 * time.Second}

func said(events []lifecycle.Event) string {
	var out []string
	for _, e := range events {
		s := fmt.Sprintf("%s %d @%s", e.Kind, e.Message.Seq, e.At.Sub(t0))
		if e.Attempt > 0 {
			s += fmt.Sprintf(" n=%d", e.Attempt)
		}
		if e.ConsumerSeq > 0 {
			s += fmt.Sprintf(" cseq=%d", e.ConsumerSeq)
		}
		if e.Detail.Exact {
			s += " exact"
		}
		if e.Detail.Basis.Known() {
			s += fmt.Sprintf(" basis=%s deadline=%s", e.Detail.Basis.Sub(t0), e.Detail.Deadline.Sub(t0))
		}
		if e.Detail.Reason != "" {
			s += " " + e.Detail.Reason
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

func TestPlanSaysWhatIsProvedAndNothingElse(t *testing.T) {
	t.Parallel()
	held := func(floor, delivered uint64, last time.Duration) Consumer {
		return worker(func(c *Consumer) {
			c.FloorCSeq, c.DeliveredCSeq, c.DeliveredSeq, c.AckPending = floor, delivered, 1, 1
			if last > 0 {
				c.DeliveredAt = at(last)
			}
		})
	}
	for _, c := range []struct {
		name  string
		look  Look
		facts Facts
		want  string
	}{
		{"one delivery in hand", seen(held(0, 1, 9500*time.Millisecond), 1), Facts{Open: open(message(1))},
			"delivered 1 @9.5s cseq=1 exact"},
		{"its lease ran out", seen(held(0, 1, 8*time.Second), 1), Facts{Open: open(message(1))},
			"delivered 1 @8s cseq=1 exact\nlease_expired 1 @9s n=1 basis=8s deadline=9s"},
		{"three silent attempts and no later pull", seen(held(0, 3, 8*time.Second), 1), Facts{Open: open(message(1))},
			"attempt_unanswered 1 @8s n=1 cseq=1\nattempt_unanswered 1 @8s n=2 cseq=2\ndelivered 1 @8s cseq=3 exact\n" +
				"presumed_dead 1 @9s n=3 basis=8s deadline=9s attempt 3 of 3 was never answered and no attempt is left"},
		{"after a message that used up its attempts", seen(held(4, 9, 9500*time.Millisecond), 1), Facts{Open: open(message(1))},
			"attempt_unanswered 1 @9.5s n=1 cseq=8\ndelivered 1 @9.5s cseq=9 exact"},
		{"a line says that the second attempt was cseq 8", seen(held(4, 9, 9500*time.Millisecond), 1),
			Facts{Open: open(message(1, line(lifecycle.Naked, 9300*time.Millisecond, 2, 8)))},
			"attempt_unanswered 1 @9.5s n=1 cseq=7\ndelivered 1 @9.5s cseq=9 exact"},
		{"lines that contradict each other", seen(held(0, 5, 9500*time.Millisecond), 1),
			Facts{Open: open(message(1, line(lifecycle.Naked, time.Second, 1, 1), line(lifecycle.Naked, 2*time.Second, 2, 4)))}, ""},
		{"the time of a heartbeat is not that of a delivery", seen(held(0, 1, 9500*time.Millisecond), 1),
			Facts{Open: open(message(1, line(lifecycle.Heartbeat, 9490*time.Millisecond, 1, 1)))}, ""},
		{"a heartbeat extends the lease", seen(held(0, 1, 8*time.Second), 1),
			Facts{Open: open(message(1, line(lifecycle.Heartbeat, 9300*time.Millisecond, 1, 1)))}, ""},
		{"the time lies after the nak of that delivery", seen(held(0, 1, 9500*time.Millisecond), 1),
			Facts{Open: open(message(1, line(lifecycle.Naked, 9300*time.Millisecond, 1, 1)))}, ""},
		{"the last attempt was handed back", seen(held(0, 3, 8*time.Second), 1),
			Facts{Open: open(message(1, line(lifecycle.Naked, 8500*time.Millisecond, 3, 3)))},
			"attempt_unanswered 1 @8s n=1 cseq=1\nattempt_unanswered 1 @8s n=2 cseq=2\ndelivered 1 @8s cseq=3 exact\n" +
				"presumed_dead 1 @8.5s n=3 basis=8.5s deadline=8.5s attempt 3 of 3 was handed back and no attempt is left"},
		{"the broker forgot when it delivered", seen(held(0, 1, 0), 1), Facts{Open: open(message(1))}, "delivered 1 @10s cseq=1"},
		{"the message left between two questions", seen(held(0, 1, 8*time.Second)), Facts{Open: open(message(1))}, ""},
		{"nobody has had it", seen(worker(func(*Consumer) {}), 1), Facts{Open: open(message(1))}, ""},
		{"missing for long enough", seen(worker(func(*Consumer) {})),
			Facts{Open: open(message(1)), Missing: map[uint64]lifecycle.Micros{1: at(7 * time.Second)}},
			"vanished 1 @7s " + GoneUndelivered},
		{"delivered since, then missing", seen(worker(func(c *Consumer) {
			c.FloorCSeq, c.DeliveredCSeq, c.DeliveredSeq, c.DeliveredAt = 4, 4, 1, at(2*time.Second)
		})),
			Facts{Open: open(message(1)), Missing: map[uint64]lifecycle.Micros{1: at(7 * time.Second)}},
			"vanished 1 @7s " + GoneUnknown},
		{"an ack that had no effect", seen(worker(func(*Consumer) {}), 1),
			Facts{Settled: []lifecycle.MessageFacts{message(1, line(lifecycle.Acked, 3*time.Second, 1, 1))}}, "ack_refuted 1 @5s"},
		{"an ack that is too young to be refuted", seen(worker(func(*Consumer) {}), 1),
			Facts{Settled: []lifecycle.MessageFacts{message(1, line(lifecycle.Acked, 9*time.Second, 1, 1))}}, ""},
		{"nobody serves the subject", seen(worker(func(c *Consumer) { c.Filters = []string{"genbrain.agents.b.>", "genbrain.agents.c.>"} }), 1),
			Facts{Open: open(message(1))}, "orphaned 1 @5s"},
		{"somebody serves it again", seen(worker(func(*Consumer) {}), 1),
			Facts{Open: open(message(1, lifecycle.Event{Kind: lifecycle.Orphaned, At: at(6 * time.Second)}))}, "adopted 1 @10s"},
		{"the consumer was created anew", seen(worker(func(c *Consumer) { c.CreatedAt = at(9 * time.Second) }), 1),
			Facts{Open: open(message(1, line(lifecycle.Naked, 2*time.Second, 1, 8)))}, "consumer_recreated 1 @9s"},
		{"several in hand, nothing redelivered", seen(worker(func(c *Consumer) {
			c.MaxAckPending, c.AckPending, c.FloorCSeq, c.DeliveredCSeq, c.DeliveredSeq, c.DeliveredAt = 10, 2, 5, 7, 2, at(9500*time.Millisecond)
		}), 1, 2), Facts{Open: open(message(1), message(2)), Others: map[string][]lifecycle.MessageFacts{"a-task-worker": nil}},
			"attempt_unanswered 1 @9.5s n=1 cseq=6\ndelivered 2 @9.5s cseq=7 exact"},
		{"several in hand, one of them redelivered", seen(worker(func(c *Consumer) {
			c.MaxAckPending, c.AckPending, c.FloorCSeq, c.DeliveredCSeq, c.DeliveredSeq, c.DeliveredAt, c.Redelivered = 10, 2, 5, 8, 2, at(9500*time.Millisecond), 1
		}), 1, 2), Facts{Open: open(message(1), message(2)), Others: map[string][]lifecycle.MessageFacts{"a-task-worker": nil}},
			"delivered 1 @9.5s n=1\ndelivered 2 @9.5s n=1"},
		{"one of several in hand, another was answered", seen(worker(func(c *Consumer) {
			c.MaxAckPending, c.AckPending, c.FloorCSeq, c.DeliveredCSeq, c.DeliveredSeq, c.DeliveredAt = 10, 1, 5, 7, 2, at(9500*time.Millisecond)
		}), 1), Facts{Open: open(message(1)), Others: map[string][]lifecycle.MessageFacts{"a-task-worker": {message(2, line(lifecycle.Acked, 9600*time.Millisecond, 1, 7))}}},
			"attempt_unanswered 1 @9.5s n=1 cseq=6"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := Plan(c.look, c.facts, waits)
			if diff := cmp.Diff(c.want, said(got.Events)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			again := Plan(c.look, Facts{Open: after(c.facts.Open, got.Events), Settled: settledAfter(c.facts.Settled, got.Events), Others: c.facts.Others, Missing: c.facts.Missing}, waits)
			if extra := said(again.Events); extra != "" {
				t.Errorf("looking again at what was said gives\n%s", extra)
			}
		})
	}
}

// after is what the store knows once the events are stored.
func after(messages []lifecycle.OpenMessage, events []lifecycle.Event) []lifecycle.OpenMessage {
	var out []lifecycle.OpenMessage
	for _, o := range messages {
		o.Message = settledAfter([]lifecycle.MessageFacts{o.Message}, events)[0]
		out = append(out, o)
	}
	return out
}

func settledAfter(messages []lifecycle.MessageFacts, events []lifecycle.Event) []lifecycle.MessageFacts {
	var out []lifecycle.MessageFacts
	for _, m := range messages {
		m = m.Clone()
		for _, e := range events {
			if e.Message == m.Key {
				m.Join(e)
			}
		}
		out = append(out, m)
	}
	return out
}

func TestPlanWaitsForWhatIsNotStoredYet(t *testing.T) {
	t.Parallel()
	silent := worker(func(c *Consumer) {
		c.DeliveredCSeq, c.DeliveredSeq, c.AckPending, c.DeliveredAt = 3, 1, 1, at(8*time.Second)
	})
	for _, c := range []struct {
		drained time.Duration
		want    int
	}{{0, 0}, {8 * time.Second, 0}, {8*time.Second + hush, 3}, {9 * time.Second, 3}, {9*time.Second + settle, 4}} {
		look := seen(silent, 1)
		look.Drained = at(c.drained)
		if got := Plan(look, Facts{Open: open(message(1))}, waits); len(got.Events) != c.want {
			t.Errorf("lines stored up to %s: got %d events, want %d:\n%s", c.drained, len(got.Events), c.want, said(got.Events))
		}
	}
	look := seen(worker(func(*Consumer) {}))
	facts := Facts{Open: open(message(1))}
	if got := Plan(look, facts, waits); len(got.Events) != 0 || !slices.Equal(got.Missing, []uint64{1}) {
		t.Errorf("first look at a missing message: %+v", got)
	}
	facts.Missing = map[uint64]lifecycle.Micros{1: at(10 * time.Second)}
	look.Drained = at(12*time.Second - 1)
	if got := Plan(look, facts, waits); len(got.Events) != 0 {
		t.Errorf("a message missing for less than the wait: %s", said(got.Events))
	}
}

func TestPlanAsksAboutMessagesThatTheLookDidNotCover(t *testing.T) {
	t.Parallel()
	look := seen(worker(func(c *Consumer) {
		c.DeliveredCSeq, c.DeliveredSeq, c.AckPending, c.DeliveredAt = 1, 1, 1, at(8*time.Second)
	}))
	look.Present = Presence{First: 1, Last: 10, From: 4, To: 6, Listed: []uint64{5}}
	got := Plan(look, Facts{Open: open(message(1))}, waits)
	if !slices.Equal(got.Ask, []uint64{1}) || len(got.Events)+len(got.Missing) != 0 {
		t.Errorf("got %+v", got)
	}
	look.Present.Single = map[uint64]bool{1: true}
	if got := Plan(look, Facts{Open: open(message(1))}, waits); len(got.Ask) != 0 || len(got.Events) != 2 {
		t.Errorf("after the answer: %+v", got)
	}
}
