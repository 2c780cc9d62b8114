package lifecycle

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// strangersSay is what an agent may report that never had a message of the task, and did not publish it.
var strangersSay = []Kind{
	ReportClaimed, ReportAccepted, ReportHeartbeat, ReportStepReceipt, ReportStepIntent, ReportOutboundIntent, ReportOutboundSent, ReportCheckpoint, ReportCompleted,
	ReportFailed, ReportDuplicateCaught, ReportPublishDuplicate,
}

func strangersReport(r *rand.Rand, n int) Event {
	e := Event{
		ID: NewEventID("stranger", fmt.Sprint(n)), Kind: pick(r, strangersSay...), At: base.Add(time.Duration(r.IntN(90)) * time.Second), Provenance: Reported, Source: "reports",
		TaskID: "T", Agent: "mallory", Attempt: r.IntN(4),
	}
	e.Detail.MsgID, e.Detail.IdempotencyKey = pick(r, "", "", "T:1", "T:2", "nobody's"), pick(r, "", "T-1")
	e.Detail.StepID, e.Detail.StepClass, e.Detail.Reason = pick(r, "a", "b"), pick(r, "pure", "unsafe"), "forged"
	e.Detail.InputTokens, e.Detail.HeardAt = 1_000, e.At.Add(20*time.Millisecond)
	e.Detail.LeaseOwner, e.Detail.LeaseVersion = "mallory", 99
	return e
}

// said is what is told and counted of a task, but that somebody contradicts it.
func said(events []Event) any {
	m := foldAll([][]Event{events})
	task := m.record("T")
	done, proved := task.Facts.firstDone()
	var words []any
	for i := range task.Messages {
		f := &task.Messages[i]
		dead, died := JudgeDead(*f, task.Facts)
		complete := CompletenessOf(f, &task.Facts)
		complete.Conflict = false
		words = append(words, Judge(*f, task.Facts), complete, dead, died)
	}
	s, answers := task.Summary, AssembleTrace(TraceInput{Record: task, Now: base.Add(time.Hour)}).Answers
	return []any{answers, s.State, s.Rule, s.Reason, s.EndedAt, s.Duplicates, words, Ledger(&task.Facts), task.Facts.ModelTotal(), done, proved, fmt.Sprint(m.rollups)}
}

// Any agent may report about any task. What one reports that never had a message of it changes nothing that is said or counted.
func TestWhatStrangersReportChangesNothing(t *testing.T) {
	t.Parallel()
	for i := range Histories(1_000) {
		seed := uint64(5_000_000 + i)
		r := newRand(t, seed)
		h := randomHousehold(r)
		wire, reports := h.lines(t)
		honest := slices.DeleteFunc(append(wire, reports...), func(e Event) bool { return e.Agent == "devops" })
		all := slices.Clone(honest)
		for n := range 1 + r.IntN(4) {
			all = append(all, strangersReport(r, n))
		}
		r.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
		if diff := cmp.Diff(said(honest), said(all), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("seed %d: with the reports of a stranger (+):\n%s\n%+v", seed, diff, all)
		}
	}
}
