package storetest

import (
	"fmt"
	"slices"
	"time"

	"fleetglass/lifecycle"
)

// scenarios are short histories. Each gets a stream of its own, named like it; its tasks begin with that name.
var scenarios = map[string]func(w *eventScript){
	"plain": func(w *eventScript) {
		w.tried("plain", "cto", "plain")
		k := w.published("plain", "cto", 0)
		w.delivered(k, 1)
		w.said(lifecycle.Heartbeat, k, 1, lifecycle.Detail{})
		w.acked(k, 1)
	},
	"given": func(w *eventScript) {
		give := func(task, agent, publisher string, generation int) lifecycle.MessageKey {
			d := lifecycle.Detail{Naming: lifecycle.Naming{MsgID: fmt.Sprintf("%s:r%d", task, generation), Type: "content_creation"}, Publication: lifecycle.Publication{Generation: generation, Publisher: publisher}}
			return w.wait(time.Second).store(task, agent, d)
		}
		w.dies(give("given-1", "cto", "ceo", 0), "authority_exceeded")
		give("given-2", "marketing", "a|b", 0)
		give("given-1", "cto", "Fleetglass", 1)
		w.acked(give("given-3", "cto", "ceo", 0), 1)
		late := lifecycle.MessageKey{Stream: w.stream, Seq: w.seq + 1}
		w.delivered(late, 1) // Before its publish line is known.
		give("given-4", "cto", "ceo", 0)
		give("given-5", "cto", "", 0)
	},
	"thrice": func(w *eventScript) {
		w.tried("thrice", "marketing", "thrice")
		w.published("thrice", "marketing", 0)
		w.tried("thrice", "marketing", "thrice")
		w.tried("thrice", "marketing", "thrice")
	},
	"unnamed": func(w *eventScript) { // The publish line names no task.
		k := w.store("", "backend", lifecycle.Detail{Naming: lifecycle.Naming{Type: "api_design"}})
		w.delivered(k, 1)
		w.said(lifecycle.Nacked, k, 1, lifecycle.Detail{Ending: lifecycle.Ending{Delay: time.Second}})
	},
	"crash": func(w *eventScript) {
		k := w.published("crash", "backend", 0)
		w.delivered(k, 1)
		basis := w.now
		w.wait(5 * time.Minute)
		w.said(lifecycle.LeaseExpired, k, 1, lifecycle.Detail{Timing: lifecycle.Timing{Basis: basis, Deadline: w.now}})
		w.events[len(w.events)-1].Provenance = lifecycle.Inferred
		w.delivered(k, 2)
		w.recorded("crash", "backend")
		w.acked(k, 2)
	},
	"term": func(w *eventScript) {
		k := w.published("term", "frontend", 0)
		w.delivered(k, 1)
		w.said(lifecycle.Terminated, k, 1, lifecycle.Detail{Ending: lifecycle.Ending{Reason: "authority_exceeded"}})
		w.said(lifecycle.TermConfirmed, k, 1, lifecycle.Detail{Ending: lifecycle.Ending{Reason: "authority_exceeded"}})
		w.said(lifecycle.DeadLettered, k, 0, lifecycle.Detail{DeadLetter: lifecycle.DeadLetter{Category: "permanent", Entry: "DLQ:1", Path: "unrecoverable"}})
	},
	"exhausted": func(w *eventScript) {
		k := w.published("exhausted", "devops", 0)
		for n := 1; n <= 3; n++ {
			w.delivered(k, n)
			w.wait(30 * time.Second)
		}
		w.said(lifecycle.MaxDeliveries, k, 3, lifecycle.Detail{})
	},
	"retried": func(w *eventScript) {
		k := w.published("retried", "cto", 0)
		w.delivered(k, 1)
		w.said(lifecycle.Terminated, k, 1, lifecycle.Detail{Ending: lifecycle.Ending{Reason: "context_window_overflow"}})
		w.said(lifecycle.DeadLettered, k, 0, lifecycle.Detail{DeadLetter: lifecycle.DeadLetter{Category: "conditionally_recoverable", Entry: "DLQ:2"}})
		again := w.published("retried", "cto", 1)
		w.delivered(again, 1)
		w.acked(again, 1)
	},
	"decided": func(w *eventScript) { // Discarded, taken back, and quarantined; the revisions say in which order.
		k := w.published("decided", "cto", 0)
		w.said(lifecycle.MaxDeliveries, k, 3, lifecycle.Detail{})
		w.said(lifecycle.DeadLettered, k, 0, lifecycle.Detail{DeadLetter: lifecycle.DeadLetter{Category: "permanent", Entry: "DLQ:3"}})
		w.triaged(k, 1, lifecycle.OutcomeDiscarded)
		w.triaged(k, 3, lifecycle.OutcomeQuarantined)
		w.triaged(k, 2, "")
	},
	"followed": func(w *eventScript) { // Retried twice: the first retry died too, the second completed.
		k := w.published("followed", "cto", 0)
		w.dies(k, "overloaded, status 529")
		w.classified(k, 0, "rules", "transient", "llm_provider_timeout")
		w.classified(k, 4, "ann", "conditionally_recoverable", "context_window_overflow")
		w.asked(k, 1, "retry", "action-1")
		again := w.retries(k, "followed", "cto", 1)
		w.triaged(k, 2, lifecycle.OutcomeRetried)
		w.dies(again, "overloaded, status 503")
		last := w.retries(again, "followed", "cto", 2)
		w.triaged(again, 1, lifecycle.OutcomeReassigned)
		w.delivered(last, 1)
		w.recorded("followed", "cto")
		w.acked(last, 1)
		w.reported(lifecycle.ReportFailed, "followed", "cto", 1, lifecycle.Detail{Naming: lifecycle.Naming{MsgID: "followed"}, Ending: lifecycle.Ending{Reason: "said later"}})
	},
	"followed by another task": func(w *eventScript) {
		k := w.published("followed by another task", "cto", 0)
		w.dies(k, "no")
		w.delivered(w.retries(k, "another task", "backend", 1), 1)
	},
	"asked": func(w *eventScript) { // An action is open: what was decided before it says nothing now.
		k := w.published("asked", "cto", 0)
		w.dies(k, "")
		w.triaged(k, 1, lifecycle.OutcomeDeferred)
		w.triaged(k, 2, "")
		w.asked(k, 3, "retry", "action-3")
	},
	"alone": func(w *eventScript) { // An entry of a foreign queue, of whose message nothing is known.
		w.seq++
		w.tell(lifecycle.Event{
			Kind: lifecycle.DeadLettered, TaskID: "alone", Message: lifecycle.MessageKey{Stream: w.stream, Seq: w.seq}, Agent: "cso", Provenance: lifecycle.Recorded,
			Detail: lifecycle.Detail{
				Naming:     lifecycle.Naming{Subject: "genbrain.agents.cso.tasks.scan", Type: "scan"},
				Ending:     lifecycle.Ending{Reason: "max deliveries"},
				DeadLetter: lifecycle.DeadLetter{Category: "transient", Path: "max_deliveries", Entry: "alone:1", Deliveries: 3, FailedAt: w.now - 5_000_000},
			},
		})
	},
	"adopted": func(w *eventScript) { // Nobody took it; then somebody did.
		k := w.published("adopted", "nobody", 0)
		w.said(lifecycle.Orphaned, k, 0, lifecycle.Detail{})
		w.wait(time.Minute)
		w.said(lifecycle.Adopted, k, 0, lifecycle.Detail{})
	},
	"reporting": func(w *eventScript) {
		w.reported(lifecycle.ReportIngressAcked, "reporting", "cso", 0, lifecycle.Detail{})
		k := w.published("reporting", "cso", 0)
		w.delivered(k, 1)
		w.reported(lifecycle.ReportClaimed, "reporting", "cso", 1, lifecycle.Detail{
			Naming:      lifecycle.Naming{MsgID: "reporting"},
			LeaseReport: lifecycle.LeaseReport{LeaseOwner: "pod-1", LeaseVersion: 7},
		})
		w.reported(lifecycle.ReportStepIntent, "reporting", "cso", 1, lifecycle.Detail{
			Naming:     lifecycle.Naming{MsgID: "reporting"},
			StepReport: lifecycle.StepReport{Tool: "github.create_pr", StepID: "1"},
		})
		w.reported(lifecycle.ReportStepReceipt, "reporting", "cso", 1, lifecycle.Detail{
			Naming:     lifecycle.Naming{MsgID: "reporting"},
			StepReport: lifecycle.StepReport{StepID: "1"},
			ModelUse:   lifecycle.ModelUse{CostUSD: 0.42},
		})
		w.reported(lifecycle.ReportCompleted, "reporting", "cso", 1, lifecycle.Detail{
			Naming:        lifecycle.Naming{MsgID: "reporting"},
			OutcomeReport: lifecycle.OutcomeReport{ResultRef: "pr/7"},
		})
	},
	"vanished": func(w *eventScript) {
		k := w.published("vanished", "ceo", 0)
		w.said(lifecycle.Vanished, k, 0, lifecycle.Detail{Ending: lifecycle.Ending{Reason: "age limit"}})
	},
	"in hand": func(w *eventScript) { w.delivered(w.published("in hand", "cto", 0), 1) },
	"in hand again": func(w *eventScript) {
		k := w.published("in hand again", "cto", 0)
		w.delivered(k, 1)
		w.wait(time.Minute)
		w.delivered(k, 2)
	},
	"given up": func(w *eventScript) { // Terminated, and in no dead-letter queue.
		k := w.published("given up", "cso", 0)
		w.delivered(k, 1)
		w.said(lifecycle.Terminated, k, 1, lifecycle.Detail{Ending: lifecycle.Ending{Reason: "impossible_task"}})
	},
	"removed": func(w *eventScript) { // An operator deleted it before anybody had it.
		k := w.published("removed", "cso", 0)
		w.said(lifecycle.Vanished, k, 0, lifecycle.Detail{Ending: lifecycle.Ending{Removal: lifecycle.RemovedByOperator, Undelivered: true}})
	},
	"attempted": func(w *eventScript) { w.tried("attempted", "ceo", "attempted-1") },
	"refused": func(w *eventScript) {
		w.tried("refused", "ceo", "refused-1")
		w.tell(lifecycle.Event{Kind: lifecycle.NotStored, Provenance: lifecycle.Inferred, TaskID: "refused"})
	},
	"pending": func(w *eventScript) { w.published("pending", "marketing", 0) },
	"orphan": func(w *eventScript) {
		w.said(lifecycle.Orphaned, w.published("orphan", "nobody", 0), 0, lifecycle.Detail{})
	},
	"headless": func(w *eventScript) { // The publish line was never seen.
		w.seq++
		k := lifecycle.MessageKey{Stream: w.stream, Seq: w.seq}
		w.delivered(k, 1)
		w.said(lifecycle.Heartbeat, k, 1, lifecycle.Detail{})
	},
}

// everyScenario tells all scenarios, one after the other, in a fixed order.
func everyScenario() []lifecycle.Event {
	var out []lifecycle.Event
	var names []string
	for name := range scenarios {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		w := newEventScript(name)
		w.wait(time.Duration(i) * 7 * time.Second)
		scenarios[name](w)
		out = append(out, w.events...)
	}
	return out
}
