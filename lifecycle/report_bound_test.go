package lifecycle

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// However many reports an agent sends about a task of another, and in whatever order, those of the other are kept.
func TestNobodysReportsTakeThePlaceOfAnothers(t *testing.T) {
	t.Parallel()
	report := func(agent, msgID string, attempt int) Event {
		e := Event{ID: NewEventID(agent, msgID), Kind: ReportCompleted, At: 100, TaskID: "T", Agent: agent, Attempt: attempt, Provenance: Reported}
		e.Detail.MsgID = msgID
		return e
	}
	events := []Event{report("cto", "T", 1)}
	for n := range 2 * maxReportsKept {
		events = append(events, report("mallory", "", n))
	}
	var want TaskFacts
	for i := range 3 {
		facts := TaskFacts{ID: "T"}
		for _, e := range events {
			facts.Join(e)
		}
		if !slices.ContainsFunc(facts.Reports, func(r ReportFacts) bool { return r.Agent == "cto" }) || len(facts.Reports) != maxReportsOfOne+1 {
			t.Errorf("order %d: %d reports are kept, want %d with that of the task's agent", i, len(facts.Reports), maxReportsOfOne+1)
		}
		if i == 0 {
			want = facts
		} else if diff := cmp.Diff(want, facts); diff != "" {
			t.Errorf("the order matters (-first +another):\n%s", diff)
		}
		slices.Reverse(events)
		events = append(events[i+5:], events[:i+5]...)
	}
}

// A completion that names no message, where publish lines were lost, may be about one of which a later delivery is the first that was seen: not about one that
// was stored after it.
func TestACompletionMayBeOfAMessageThatWasStoredBefore(t *testing.T) {
	t.Parallel()
	for stored, may := range map[string]bool{"0s": true, "4s": false} {
		store := foldAll([][]Event{parseScenario(t, "published "+stored+" seq=1 task=T msgid=T\n"+
			"completed 1s task=T agent=marketing\nunbound 1s task=T\ndelivered 5s seq=1 cseq=2 exact\nlease_expired 10s seq=1 n=1\nmax_deliveries 10s seq=1 n=2\n")})
		m := MessageKey{Stream: StreamID{Name: "TASKS"}, Seq: 1}
		_, ends := JudgeEndings(*store.messages[m].Facts, *store.tasks["T"].Facts)
		if ends.UnboundAt.Known() != may {
			t.Errorf("stored at %s: it may be of it: %v, want %v", stored, ends.UnboundAt.Known(), may)
		}
	}
}
