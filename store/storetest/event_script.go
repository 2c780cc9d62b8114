package storetest

import (
	"strconv"
	"time"

	"fleetglass/lifecycle"
)

// eventScript writes events as collectors would: each line has its own capture stream position and a later time than the one before.
type eventScript struct {
	now    lifecycle.Micros
	stream lifecycle.StreamID
	lines  uint64
	seq    uint64
	cseq   uint64
	events []lifecycle.Event
}

// tasksStream is the stream that most tests tell of.
var tasksStream = lifecycle.StreamID{Name: "TASKS"}

// newEventScript begins a script an hour ago, so that it lies in what counts as recent.
func newEventScript(name string) *eventScript {
	begin := lifecycle.MicrosOf(time.Now().Add(-time.Hour).Truncate(time.Minute))
	return &eventScript{now: begin, stream: lifecycle.StreamID{Name: name}}
}

// wait lets time pass.
func (w *eventScript) wait(d time.Duration) *eventScript {
	w.now = w.now.Add(d)
	return w
}

func (w *eventScript) tell(e lifecycle.Event) lifecycle.Event {
	w.lines++
	w.now += 1000
	e.At = w.now
	e.Source = "OBS_" + w.stream.Name
	e.SourceSeq = w.lines
	e.ID = lifecycle.NewEventID(e.Source, strconv.FormatUint(w.lines, 10))
	if e.Provenance == "" {
		e.Provenance = lifecycle.Observed
	}
	w.events = append(w.events, e)
	return e
}

// tried is a publish attempt of the message id.
func (w *eventScript) tried(task, agent, msgID string) lifecycle.Event {
	return w.tell(lifecycle.Event{
		Kind: lifecycle.PublishAttempted, TaskID: task, Agent: agent,
		Detail: lifecycle.Detail{Naming: lifecycle.Naming{MsgID: msgID, Type: "content_creation", Subject: "genbrain.agents." + agent + ".tasks.content_creation"}},
	})
}

// published is the publish line of the next message of the stream.
func (w *eventScript) published(task, agent string, generation int) lifecycle.MessageKey {
	msgID := task
	if generation > 0 {
		msgID += ":r" + strconv.Itoa(generation)
	}
	return w.store(task, agent, lifecycle.Detail{
		Naming:      lifecycle.Naming{MsgID: msgID, Type: "content_creation"},
		Publication: lifecycle.Publication{Title: "Write about " + task, Generation: generation},
	})
}

func (w *eventScript) store(task, agent string, d lifecycle.Detail) lifecycle.MessageKey {
	w.seq++
	k := lifecycle.MessageKey{Stream: w.stream, Seq: w.seq}
	d.Subject = "genbrain.agents." + agent + ".tasks." + d.Type
	w.tell(lifecycle.Event{Kind: lifecycle.Published, TaskID: task, Message: k, Agent: agent, Detail: d, Raw: []byte(d.Subject)})
	return k
}

// said is a line about attempt n of a message: acks, heartbeats, advisories.
func (w *eventScript) said(kind lifecycle.Kind, k lifecycle.MessageKey, n int, d lifecycle.Detail) lifecycle.Event {
	w.cseq++
	e := lifecycle.Event{Kind: kind, Message: k, Attempt: n, Consumer: "worker", Detail: d}
	if n > 0 {
		e.ConsumerSeq = k.Seq*100 + uint64(n)
	}
	return w.tell(e)
}

func (w *eventScript) delivered(k lifecycle.MessageKey, n int) lifecycle.Event {
	return w.said(lifecycle.Delivered, k, n, lifecycle.Detail{Timing: lifecycle.Timing{Exact: true}})
}

func (w *eventScript) acked(k lifecycle.MessageKey, n int) lifecycle.Event {
	return w.said(lifecycle.Acked, k, n, lifecycle.Detail{})
}

// triaged is a decision about a message with the revision that the store issued; without an outcome the one before is taken back.
func (w *eventScript) triaged(k lifecycle.MessageKey, revision uint64, outcome lifecycle.Outcome) {
	kind := lifecycle.Triaged
	if outcome == "" {
		kind = lifecycle.Reopened
	}
	var d lifecycle.Detail
	d.Revision, d.Outcome, d.Actor, d.Reason = revision, outcome, "ops", "because"
	w.said(kind, k, 0, d)
	w.events[len(w.events)-1].Provenance = lifecycle.Recorded
}

// retries is the publish line of a message that names another one as the one that it retries.
func (w *eventScript) retries(of lifecycle.MessageKey, task, agent string, generation int) lifecycle.MessageKey {
	return w.store(task, agent, lifecycle.Detail{
		Naming:      lifecycle.Naming{MsgID: task + ":r" + strconv.Itoa(generation), Type: "content_creation"},
		Publication: lifecycle.Publication{Generation: generation, RetryOf: of.String()},
	})
}

// dies is a first attempt that its worker gives up for good.
func (w *eventScript) dies(k lifecycle.MessageKey, reason string) {
	w.delivered(k, 1)
	w.said(lifecycle.Terminated, k, 1, lifecycle.Detail{Ending: lifecycle.Ending{Reason: reason}})
}

// asked is an action that somebody asked for, with the revision that the store issued.
func (w *eventScript) asked(k lifecycle.MessageKey, revision uint64, action, id string) {
	var d lifecycle.Detail
	d.Revision, d.Action, d.ActionID, d.Actor, d.Via, d.Reason = revision, action, id, "ann", "page", "because"
	w.said(lifecycle.Decided, k, 0, d)
}

// classified says why a message died: the rules, which have no revision, or a person.
func (w *eventScript) classified(k lifecycle.MessageKey, revision uint64, by, category, detail string) {
	var d lifecycle.Detail
	d.Revision, d.Actor, d.Category, d.CategoryDetail, d.CauseKind, d.Rule = revision, by, category, detail, "resource", "rule of "+by
	d.Evidence = []lifecycle.Evidence{{Source: "reason", Text: "the context is too large"}}
	w.said(lifecycle.Classified, k, 0, d)
}

// reported is what an agent says of a task.
func (w *eventScript) reported(kind lifecycle.Kind, task, agent string, n int, d lifecycle.Detail) lifecycle.Event {
	return w.tell(lifecycle.Event{Kind: kind, Provenance: lifecycle.Reported, TaskID: task, Agent: agent, Attempt: n, Detail: d})
}

// recorded is an idempotency record.
func (w *eventScript) recorded(task, agent string) lifecycle.Event {
	return w.tell(lifecycle.Event{
		Kind: lifecycle.CompletionRecorded, Provenance: lifecycle.Recorded, TaskID: task, Agent: agent,
		Detail: lifecycle.Detail{Naming: lifecycle.Naming{IdempotencyKey: task + "-1"}},
	})
}
