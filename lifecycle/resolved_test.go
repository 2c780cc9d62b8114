package lifecycle

import (
	"testing"
	"time"
)

// Each consumer numbers its attempts from one: that somebody marked attempt 1 of one as resolved says nothing of attempt 1 of another, which decides about
// the state once the first has its answer.
func TestAnAttemptIsMarkedAsResolvedForItsConsumerAlone(t *testing.T) {
	t.Parallel()
	key := MessageKey{Stream: StreamID{Name: "TASKS"}, Seq: 1}
	var m MessageFacts
	says := func(kind Kind, consumer string, n int, at time.Duration) Event {
		e := Event{Kind: kind, Message: key, Consumer: consumer, Attempt: n, ConsumerSeq: uint64(n), At: base.Add(at), Provenance: kind.Row().Provenance}
		e.Detail.Apart = consumer != ""
		return e
	}
	resolved := Event{Kind: Resolved, Message: key, At: base.Add(3 * time.Second), Provenance: Recorded}
	resolved.Detail.Action, resolved.Detail.Revision, resolved.Detail.OfN, resolved.Detail.OfConsumer = ActionReconcile, 1, 1, "a-task-worker"
	for _, e := range []Event{says(Published, "", 0, 0), says(Heartbeat, "a-task-worker", 1, time.Second), says(Heartbeat, "b-task-worker", 1, 2*time.Second), resolved} {
		m.Join(e)
	}
	marked := func() *TriageFacts {
		l, _ := LeaseOf(OpenMessage{Message: m}, nil, Typical{}, At(base.Add(4*time.Second)))
		return l.Resolved
	}
	if marked() == nil {
		t.Error("attempt 1 of the consumer that it was said of is not marked")
	}
	m.Join(says(Acked, "a-task-worker", 1, 4*time.Second))
	if l, _ := LeaseOf(OpenMessage{Message: m}, nil, Typical{}, At(base.Add(5*time.Second))); l.Consumer != "b-task-worker" || l.Resolved != nil {
		t.Errorf("attempt 1 of %s is marked: %+v", l.Consumer, l.Resolved)
	}
}

// A message may be dead for one consumer, and in the hands of another's worker: what is decided about the one says nothing of the other.
func TestAnActionOnWhatAWorkerHasLeavesTheDeadLetterAsDecided(t *testing.T) {
	t.Parallel()
	event := func(kind Kind, revision uint64, attempt int, outcome Outcome) Event {
		e := Event{Kind: kind, At: Micros(revision), Provenance: Recorded}
		e.Detail.Revision, e.Detail.OfN, e.Detail.Outcome, e.Detail.Action = revision, attempt, outcome, ActionRelease
		return e
	}
	for _, end := range []Kind{Reopened, Released, Resolved} {
		events := []Event{event(Triaged, 1, 0, OutcomeDeferred), event(Decided, 2, 1, ""), event(end, 3, 1, "")}
		for _, order := range [][3]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}} {
			var m MessageFacts
			for _, i := range order {
				m.Join(events[i])
			}
			if m.Triage == nil || m.Triage.Outcome != OutcomeDeferred || m.Handled == nil || m.Acting() || m.Revision() != 3 {
				t.Errorf("%s, %v: decided %+v, handled %+v, acting: %v", end, order, m.Triage, m.Handled, m.Acting())
			}
		}
	}
	var m MessageFacts
	m.Join(event(Triaged, 1, 0, OutcomeDeferred))
	m.Join(event(Reopened, 2, 0, ""))
	if m.Triage.Outcome != "" {
		t.Errorf("it was reopened, and reads %s", m.Triage.Outcome)
	}
}
