package lifecycle

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// saga is what happened to one of the two messages of a task, told as SITUATIONS tells it: each message has its own key, its own attempt and its own end.
type saga struct {
	seq       int
	key       int           // The version that its idempotency key names.
	delivered time.Duration // Zero for never; likewise below.
	acked     time.Duration
	gone      time.Duration // An operator deleted it.
}

// testimony is a completion record: it names a key, and the message that was worked on.
type testimony struct {
	at  time.Duration
	key int
	seq int
}

// said is what may be said of a message: a record completes the message that it names, where it was surely there before that message went. What the other
// message did, and a record for that one or for another key, says nothing of this one.
func (s saga) said(records []testimony) State {
	recorded := false
	for _, r := range records {
		recorded = recorded || (r.seq == s.seq && r.key == s.key && (s.gone == 0 || r.at <= s.gone-2*time.Second))
	}
	switch {
	case s.acked > 0:
		return StateCompleted
	case s.gone > 0 && recorded: // Also where its consumer denies the delivery: the broker may have forgotten it.
		return StateCompleted
	case s.gone > 0 && s.delivered == 0:
		return StateRemoved
	case s.gone > 0:
		return StateOutcomeUnknown
	case recorded:
		return StateCompleting
	case s.delivered > 0:
		return StateDelivered
	}
	return StatePublished
}

// lines are the events of the message, in the language of the scenarios.
func (s saga) lines() []string {
	out := []string{fmt.Sprintf("published %ds seq=%d task=T msgid=T:%d key=T-%d gen=%d", s.seq, s.seq, s.seq, s.key, s.seq-1)}
	if s.delivered > 0 {
		out = append(out, fmt.Sprintf("delivered %s seq=%d cseq=%d exact", s.delivered, s.seq, s.seq), fmt.Sprintf("attempt_unanswered %s seq=%d n=1 cseq=%d", s.delivered, s.seq, s.seq))
	}
	if s.acked > 0 {
		out = append(out, fmt.Sprintf("acked %s seq=%d n=1 cseq=%d", s.acked, s.seq, s.seq))
	}
	if s.gone > 0 && s.acked == 0 {
		undelivered := map[bool]string{true: " undelivered", false: ""}[s.delivered == 0]
		out = append(out, fmt.Sprintf("vanished %s seq=%d removal=operator%s", s.gone, s.seq, undelivered))
	}
	return out
}

func randomSaga(r *rand.Rand, seq int) saga {
	s := saga{seq: seq, key: 1 + r.IntN(2)}
	after := func(least time.Duration) time.Duration { return least + time.Duration(1+r.IntN(8))*time.Second }
	if r.IntN(3) > 0 {
		s.delivered = after(time.Duration(seq) * time.Second)
	}
	switch r.IntN(3) {
	case 0:
		if s.delivered > 0 {
			s.acked = after(s.delivered)
		}
	case 1:
		s.gone = after(max(s.delivered, time.Duration(seq)*time.Second))
	}
	return s
}

// Two messages of a task, of one key or of two, with records that name one of them, or a key that it does not have.
func TestTwoMessagesOfATaskAreToldEachByItsOwn(t *testing.T) {
	t.Parallel()
	r := newRand(t, 7)
	for i := range Histories(2_000) {
		both := []saga{randomSaga(r, 1), randomSaga(r, 2)}
		lines := append(both[0].lines(), both[1].lines()...)
		var records []testimony
		for n := range r.IntN(3) {
			about := both[r.IntN(2)]
			record := testimony{at: time.Duration(4+r.IntN(16))*time.Second + time.Duration(n)*time.Millisecond, key: about.key, seq: about.seq}
			records = append(records, record)
			lines = append(lines, fmt.Sprintf("completion_recorded %s task=T key=T-%d record=%d created=%s", record.at, record.key, record.seq, record.at))
		}
		r.Shuffle(len(lines), func(a, b int) { lines[a], lines[b] = lines[b], lines[a] })
		events := parseScenario(t, strings.Join(lines, "\n"))
		task := foldAll(batches(events, 1+r.IntN(len(events)))).record("T")
		open, held := false, false
		for n, s := range both {
			want := s.said(records)
			got := Judge(task.Messages[n], task.Facts).State
			if got != want {
				t.Fatalf("history %d: message %d is %s, want %s:\n%s", i, n+1, got, want, strings.Join(lines, "\n"))
			}
			open, held = open || want.Open(), held || (want.Open() && s.delivered > 0)
		}
		if state := task.Summary.State; held && !state.Open() {
			t.Fatalf("history %d: the task is %s, and a worker has a message of it:\n%s", i, state, strings.Join(lines, "\n"))
		}
		next := AssembleTrace(TraceInput{Record: task, Now: base.Add(time.Minute)}).Answers.Recovery.Headline
		if idle := next == "Nothing to do" || next == "Nothing happens by itself"; idle && open {
			t.Fatalf("history %d: %q is said, and a message of the task is open:\n%s", i, next, strings.Join(lines, "\n"))
		}
	}
}
