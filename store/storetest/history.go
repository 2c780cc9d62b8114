package storetest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"fleetglass/lifecycle"
)

var historyTests = []conformanceTest{
	{"random histories in random batches 1", randomHistories(1)},
	{"random histories in random batches 2", randomHistories(2)},
	{"random histories in random batches 3", randomHistories(3)},
	{"random histories in random batches 4", randomHistories(4)},
}

// randomHistories stores a history that no fleet would have, and rebuilds it.
func randomHistories(seed uint64) func(t *testing.T, s Store) {
	return func(t *testing.T, s Store) {
		r := rand.New(rand.NewPCG(seed, 5))
		events := history(r, 40)
		for _, batch := range partition(r, events) {
			mustAppend(t, s, batch)
		}
		w := expectedOf(events)
		w.check(t, s)
		if _, err := s.Rebuild(t.Context()); err != nil {
			t.Fatalf("rebuild: %v", err)
		}
		w.check(t, s)
	}
}

// kindsOfMessages are told of a message and an attempt, kindsOfTasks of a task.
var (
	kindsOfMessages = []lifecycle.Kind{
		lifecycle.Acked, lifecycle.Acked, lifecycle.Nacked, lifecycle.Terminated, lifecycle.Heartbeat, lifecycle.Heartbeat, lifecycle.AckConfirmed,
		lifecycle.NakConfirmed, lifecycle.TermConfirmed, lifecycle.MaxDeliveries, lifecycle.Delivered, lifecycle.Delivered, lifecycle.AttemptUnanswered,
		lifecycle.LeaseExpired, lifecycle.PresumedDead, lifecycle.AckRefuted, lifecycle.Vanished, lifecycle.Orphaned, lifecycle.Adopted, lifecycle.Stranded,
		lifecycle.ConsumerRecreated, lifecycle.DeadLettered,
	}
	kindsOfTasks = []lifecycle.Kind{
		lifecycle.PublishAttempted, lifecycle.PublishAttempted, lifecycle.NotStored, lifecycle.CompletionRecorded, lifecycle.RecordExpired,
		lifecycle.RecordDeleted, lifecycle.EffectLogged, lifecycle.ReportIngressAcked, lifecycle.ReportClaimed, lifecycle.ReportAccepted,
		lifecycle.ReportHeartbeat, lifecycle.ReportStepIntent, lifecycle.ReportStepReceipt, lifecycle.ReportCheckpoint, lifecycle.ReportCompleted,
		lifecycle.ReportFailed, lifecycle.ReportDuplicateCaught, lifecycle.ReportPublishDuplicate, lifecycle.ReportOutboundSent,
	}
)

// history is n events of three tasks with up to three messages each, told at random. A message belongs to one task; its publish
// line, if there is one, is told once or twice, the same.
func history(r *rand.Rand, n int) []lifecycle.Event {
	w := newEventScript("TASKS")
	for range n {
		task := r.IntN(3)
		generation := r.IntN(3)
		name := fmt.Sprintf("task-%d", task)
		k := lifecycle.MessageKey{Stream: w.stream, Seq: uint64(10*task + generation + 1)}
		w.wait(time.Duration(r.IntN(4)) * time.Minute)
		switch r.IntN(5) {
		case 0:
			w.tell(publishLine(name, k, generation))
			w.events[len(w.events)-1].At = w.events[0].At + lifecycle.Micros(k.Seq) // One sequence is stored once.
		case 1, 2:
			w.tell(taskEvent(r, name, generation, w.now))
		default:
			w.tell(messageEvent(r, name, k, w.now))
		}
	}
	return w.events
}

func publishLine(task string, k lifecycle.MessageKey, generation int) lifecycle.Event {
	e := lifecycle.Event{Kind: lifecycle.Published, TaskID: task, Message: k, Agent: "cto"}
	e.Detail = lifecycle.Detail{
		Naming: lifecycle.Naming{
			MsgID: messageID(task, generation), Type: "code_review", IdempotencyKey: task + "-1", PayloadHash: "aa",
			Subject: "genbrain.agents.cto.tasks.code_review",
		},
		Publication: lifecycle.Publication{Title: "Review " + task, Generation: generation},
	}
	if k.Seq == 21 { // One message that names no task.
		e.TaskID = ""
	}
	return e
}

func messageID(task string, generation int) string {
	if generation == 0 {
		return task
	}
	return fmt.Sprintf("%s:r%d", task, generation)
}

func taskEvent(r *rand.Rand, task string, generation int, now lifecycle.Micros) lifecycle.Event {
	e := lifecycle.Event{Kind: kindsOfTasks[r.IntN(len(kindsOfTasks))], TaskID: task, Agent: "cto", Provenance: lifecycle.Reported, Attempt: r.IntN(3)}
	switch e.Kind {
	case lifecycle.PublishAttempted, lifecycle.NotStored:
		e.Provenance = lifecycle.Observed
	case lifecycle.CompletionRecorded, lifecycle.RecordExpired, lifecycle.RecordDeleted, lifecycle.EffectLogged:
		e.Provenance = lifecycle.Recorded
	}
	e.Detail = lifecycle.Detail{
		Naming:        lifecycle.Naming{MsgID: messageID(task, generation), Type: "code_review", IdempotencyKey: task + "-1"},
		Ending:        lifecycle.Ending{Reason: fmt.Sprint(r.IntN(3))},
		Timing:        lifecycle.Timing{CreatedAt: now - lifecycle.Micros(r.IntN(3))},
		LeaseReport:   lifecycle.LeaseReport{LeaseOwner: fmt.Sprint(r.IntN(3)), LeaseVersion: r.Uint64N(3)},
		StepReport:    lifecycle.StepReport{Tool: "git", InputHash: "bb", StepID: fmt.Sprint(r.IntN(3))},
		OutcomeReport: lifecycle.OutcomeReport{RecordsWait: time.Duration(r.IntN(4)) * 700 * time.Microsecond},
		ModelUse:      lifecycle.ModelUse{InputTokens: r.Int64N(3) * 1000, CostUSD: float64(r.IntN(4)) / 4},
	}
	if r.IntN(3) == 0 {
		e.Detail.MsgID = ""
	}
	return e
}

func messageEvent(r *rand.Rand, task string, k lifecycle.MessageKey, now lifecycle.Micros) lifecycle.Event {
	e := lifecycle.Event{Kind: kindsOfMessages[r.IntN(len(kindsOfMessages))], Message: k, Consumer: "cto-task-worker", Attempt: r.IntN(4)}
	if e.Attempt > 0 && r.IntN(4) > 0 {
		e.ConsumerSeq = k.Seq*10 + uint64(e.Attempt)
	}
	switch e.Kind {
	case lifecycle.LeaseExpired, lifecycle.PresumedDead, lifecycle.AckRefuted, lifecycle.Vanished:
		e.Provenance = lifecycle.Inferred
	case lifecycle.DeadLettered:
		e.Provenance = lifecycle.Recorded
		if k.Seq != 21 && r.IntN(2) == 0 {
			e.TaskID = task
		}
	}
	e.Detail = lifecycle.Detail{
		Ending: lifecycle.Ending{
			Reason: fmt.Sprint(r.IntN(3)), AckTime: time.Duration(r.IntN(3)) * time.Minute, Delay: time.Duration(r.IntN(3)) * time.Second,
		},
		Timing: lifecycle.Timing{
			Basis: now - lifecycle.Micros(r.IntN(3))*lifecycle.Micros(time.Minute.Microseconds()), Deadline: now, Exact: r.IntN(2) == 0,
		},
		DeadLetter: lifecycle.DeadLetter{Category: "transient", Entry: fmt.Sprint("DLQ:", r.IntN(3))},
	}
	return e
}
