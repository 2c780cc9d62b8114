// Package webtest makes fleets for the tests and pictures of the pages: stores filled with believable tasks in every state.
package webtest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"fleetglass/lifecycle"
)

// Tasks is the stream that stories play in.
var Tasks = lifecycle.StreamID{Name: "TASKS"}

// Story writes events as collectors would. Times are given as offsets from now, negative for the past.
type Story struct {
	Now   time.Time
	Batch lifecycle.Batch

	seq  uint64
	line uint64
}

// NewStory returns a story without events.
func NewStory(now time.Time) *Story { return &Story{Now: now, seq: 48_000} }

// From makes a story whose messages and lines come after those of an earlier one of n messages, so that both can be stored.
func (s *Story) From(n uint64) *Story {
	s.seq, s.line = s.seq+n, s.line+1000*n
	return s
}

// Message is a stored message of a story.
type Message struct {
	Key   lifecycle.MessageKey
	Task  string
	Agent string
	MsgID string
}

// At is the instant at an offset from now.
func (s *Story) At(offset time.Duration) lifecycle.Micros {
	return lifecycle.MicrosOf(s.Now.Add(offset))
}

// Event adds an event, filling in its coordinates.
func (s *Story) Event(e lifecycle.Event) lifecycle.Event {
	s.line++
	if e.Source == "" {
		e.Source = "OBS_ACK"
	}
	if e.Provenance == "" {
		e.Provenance = lifecycle.Observed
	}
	e.SourceSeq, e.ID = s.line, lifecycle.NewEventID(e.Source, fmt.Sprint(s.line))
	s.Batch.Events = append(s.Batch.Events, e)
	return e
}

// Publish stores a message, with its body.
func (s *Story) Publish(task, agent, typ, title string, offset time.Duration, body string) Message {
	return s.PublishAgain(task, agent, typ, title, offset, body, 0, "")
}

// PublishAgain stores a message of a later generation.
func (s *Story) PublishAgain(task, agent, typ, title string, offset time.Duration, body string, generation int, retryOf string) Message {
	s.seq++
	m := Message{Key: lifecycle.MessageKey{Stream: Tasks, Seq: s.seq}, Task: task, Agent: agent, MsgID: task}
	if generation > 0 {
		m.MsgID = fmt.Sprintf("%s:r%d", task, generation)
	}
	if body == "" {
		body = fmt.Sprintf(`{"taskId":%q,"assignee":%q,"type":%q,"payload":{"title":%q,"priority":"normal"},"createdAt":%d}`, task, agent, typ, title, s.Now.Add(offset).UnixMilli())
	}
	sum := sha256.Sum256([]byte(body))
	subject := "genbrain.agents." + agent + ".tasks." + typ
	s.attempted(m, subject, typ, offset)
	s.Event(lifecycle.Event{
		Kind: lifecycle.Published, At: s.At(offset), Source: "OBS_PUB", TaskID: task, Message: m.Key, Agent: agent,
		Detail: lifecycle.Detail{
			Naming: lifecycle.Naming{
				MsgID: m.MsgID, Subject: subject, Type: typ, IdempotencyKey: task + "-1", PayloadHash: hex.EncodeToString(sum[:]),
			},
			Publication: lifecycle.Publication{
				Title: title, Generation: generation, RetryOf: retryOf, Size: int64(len(body)),
				TraceParent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
			},
			Timing: lifecycle.Timing{CreatedAt: s.At(offset)},
		},
		Raw: []byte(subject + "\n"),
	})
	s.Batch.Payloads = append(s.Batch.Payloads, lifecycle.Payload{Message: m.Key, Body: []byte(body), Size: int64(len(body)), At: s.At(offset),
		Headers: map[string][]string{"Nats-Msg-Id": {m.MsgID}, "X-Task-ID": {task}, "X-Idempotency-Key": {task + "-1"}, "X-Task-Type": {typ}}})
	return m
}

func (s *Story) attempted(m Message, subject, typ string, offset time.Duration) {
	s.Event(lifecycle.Event{Kind: lifecycle.PublishAttempted, At: s.At(offset), Source: "OBS_RAW", TaskID: m.Task, Agent: m.Agent,
		Detail: lifecycle.Detail{Naming: lifecycle.Naming{MsgID: m.MsgID, Subject: subject, Type: typ}}})
}

// Duplicate publishes the same message id again, which the stream swallows.
func (s *Story) Duplicate(m Message, offset time.Duration) {
	s.attempted(m, "genbrain.agents."+m.Agent+".tasks", "", offset)
}

func (s *Story) of(m Message, kind lifecycle.Kind, attempt int, offset time.Duration, d lifecycle.Detail) lifecycle.Event {
	return lifecycle.Event{Kind: kind, At: s.At(offset), Message: m.Key, Agent: m.Agent, Consumer: m.Agent + "-task-worker", Attempt: attempt,
		ConsumerSeq: m.Key.Seq*10 + uint64(attempt), Detail: d}
}

// Say adds a line of a worker: ack, nak, term or heartbeat.
func (s *Story) Say(kind lifecycle.Kind, m Message, attempt int, offset time.Duration, d lifecycle.Detail) lifecycle.Event {
	e := s.of(m, kind, attempt, offset, d)
	word := map[lifecycle.Kind]string{lifecycle.Acked: "+ACK", lifecycle.Nacked: "-NAK", lifecycle.Terminated: "+TERM " + d.Reason, lifecycle.Heartbeat: "+WPI"}[kind]
	e.Raw = fmt.Appendf(nil, "$JS.ACK.TASKS.%s.%d.%d.%d.%d.0\n%s", e.Consumer, attempt, m.Key.Seq, e.ConsumerSeq, s.Now.Add(offset).UnixNano(), strings.TrimSpace(word))
	return s.Event(e)
}

// Deliver adds a delivery as consumer state shows it.
func (s *Story) Deliver(m Message, attempt int, offset time.Duration) {
	e := s.of(m, lifecycle.Delivered, attempt, offset, lifecycle.Detail{Timing: lifecycle.Timing{Exact: true}})
	e.Provenance, e.Source = lifecycle.Broker, "consumer state"
	s.Event(e)
}

// Tell adds an observation of the broker or one that was inferred.
func (s *Story) Tell(kind lifecycle.Kind, p lifecycle.Provenance, m Message, attempt int, offset time.Duration, d lifecycle.Detail) {
	e := s.of(m, kind, attempt, offset, d)
	e.Provenance, e.Source = p, "OBS_EVT"
	s.Event(e)
}

// Expire says that the deadline of an attempt passed.
func (s *Story) Expire(m Message, attempt int, basis, deadline time.Duration) {
	s.Tell(lifecycle.LeaseExpired, lifecycle.Inferred, m, attempt, deadline, lifecycle.Detail{Timing: lifecycle.Timing{Basis: s.At(basis), Deadline: s.At(deadline)}})
}

// Bury stores a dead-letter entry.
func (s *Story) Bury(m Message, category string, seq int, offset time.Duration) {
	s.Tell(lifecycle.DeadLettered, lifecycle.Recorded, m, 0, offset, lifecycle.Detail{
		DeadLetter: lifecycle.DeadLetter{Category: category, Path: "max_deliveries", Entry: fmt.Sprintf("DLQ:%d", seq)},
	})
}

// Die publishes a message that its worker gives up at an instant. The reason begins with the detail that it is classified as.
func (s *Story) Die(task, agent, reason string, offset time.Duration) {
	m := s.Publish(task, agent, "review", "Dies", offset-10*time.Second, "")
	s.Deliver(m, 1, offset-5*time.Second)
	s.Say(lifecycle.Terminated, m, 1, offset, lifecycle.Detail{Ending: lifecycle.Ending{Reason: reason}})
	detail, _, _ := strings.Cut(reason, ":")
	s.Tell(lifecycle.Classified, lifecycle.Inferred, m, 0, offset, lifecycle.Detail{DeadLetter: lifecycle.DeadLetter{Category: "transient", CategoryDetail: detail}})
}

// Record stores a completion record.
func (s *Story) Record(m Message, offset time.Duration) {
	s.Event(lifecycle.Event{Kind: lifecycle.CompletionRecorded, At: s.At(offset), Provenance: lifecycle.Recorded, Source: "KV_task-idempotency", TaskID: m.Task, Agent: m.Agent,
		Detail: lifecycle.Detail{
			Naming:        lifecycle.Naming{IdempotencyKey: m.Task + "-1"},
			OutcomeReport: lifecycle.OutcomeReport{ExpiresAt: s.At(offset + 72*time.Hour), ResultRef: "draft-2291 published as draft"},
		}})
}

// Report adds what the agent says.
func (s *Story) Report(kind lifecycle.Kind, m Message, attempt int, offset time.Duration, d lifecycle.Detail) {
	d.MsgID = m.MsgID
	s.Event(lifecycle.Event{Kind: kind, At: s.At(offset), Provenance: lifecycle.Reported, Source: "OBS_REPORT", TaskID: m.Task, Agent: m.Agent, Attempt: attempt, Detail: d,
		Raw: fmt.Appendf(nil, "genbrain.lifecycle.%s.%s\n{\"specversion\":\"1.0\"}", m.Agent, kind)})
}

// Consumer adds the worker of an agent.
func (s *Story) Consumer(agent string, pending uint64, delivered time.Duration) {
	s.Batch.Consumers = append(s.Batch.Consumers, lifecycle.ConsumerState{
		Stream: Tasks, Name: agent + "-task-worker", CreatedAt: s.At(-90 * 24 * time.Hour), ObservedAt: s.At(-time.Second),
		Filters: []string{"genbrain.agents." + agent + ".tasks.>"}, AckWait: 5 * time.Minute,
		Backoff: []time.Duration{30 * time.Second, 2 * time.Minute, 5 * time.Minute}, MaxDeliver: 3, MaxAckPending: 1, AckPending: 1, Pending: pending,
		Waiting: 1, DeliveredAt: s.At(delivered),
	})
}
