package api

import (
	"context"

	"fleetglass/access"
	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
	"fleetglass/query"
)

// Trace is the story of a task.
type Trace struct {
	TaskID         string                `json:"task_id" example:"blog-post-118"`
	State          string                `json:"state" example:"redelivered"`
	StateSince     Instant               `json:"state_since"`
	Rule           string                `json:"rule" doc:"The row of the table of verdicts that gave the state." example:"later attempt"`
	Agent          Text                  `json:"agent"`
	Type           Text                  `json:"type"`
	Title          Text                  `json:"title" doc:"A short name found in the payload. Untrusted."`
	Reason         Text                  `json:"reason" doc:"Why it failed or died, as its worker, its agent, its dead-letter entry or the broker said. Untrusted."`
	Generation     int                   `json:"generation" doc:"Of the newest message: 0 is the first."`
	Attempts       int                   `json:"attempts" doc:"Deliveries of the newest message that are proved."`
	MaxDeliver     Count                 `json:"max_deliver" doc:"Null when not known or without limit."`
	PublishedAt    Instant               `json:"published_at" doc:"Of the newest message."`
	LastEventAt    Instant               `json:"last_event_at"`
	CompletedAt    Instant               `json:"completed_at" doc:"When the completion of the newest message was recorded or reported, else when it was acknowledged. Null while that message is not completed, whatever became of earlier ones."`
	WaitingMS      int64                 `json:"waiting_ms" doc:"Over all messages, up to now: stored, in nobody's hands."`
	RunningMS      int64                 `json:"running_ms" doc:"Over all messages, up to now: in a worker's hands."`
	UnsplitMS      int64                 `json:"unsplit_ms" doc:"Waiting, then running. The time of delivery was not observed, so the span cannot be split."`
	CostUSD        *float64              `json:"cost_usd" doc:"What agents reported that it cost, over all attempts; null when nothing was reported." example:"1.12"`
	TokensIn       Count                 `json:"input_tokens" doc:"Likewise: tokens that models read."`
	TokensOut      Count                 `json:"output_tokens" doc:"Likewise: tokens that models wrote."`
	Boundaries     Boundaries            `json:"boundaries" doc:"When ownership crossed each boundary, where that is known."`
	Messages       []Message             `json:"messages" nullable:"false" doc:"In generation order; at most the newest 200."`
	Lease          Maybe[Lease]          `json:"lease" doc:"Who holds the newest message; null when nobody does."`
	Recommendation Maybe[Recommendation] `json:"recommendation" doc:"What recovery decides about the newest message, should its worker be gone; null where there is nothing to recover."`
	Idempotency    Maybe[Idempotency]    `json:"idempotency" doc:"The completion record; null when none is known."`
	Duplicates     Duplicates            `json:"duplicates"`
	SameKey        []KeySharer           `json:"same_key" nullable:"false" doc:"Other tasks of which a message has an idempotency key of this one, those that did the work first; done or not."`
	Anomalies      []Anomaly             `json:"anomalies" nullable:"false"`
	Answers        Answers               `json:"answers"`
	Gaps           []GapRef              `json:"gaps" nullable:"false" doc:"Spans within the task's time in which lines may have been missed."`
	AsOf           Instant               `json:"as_of"`
	Links          TaskLinks             `json:"links"`
}

// Boundaries are the five times at which ownership passes on (SPEC 2). They are never inferred from one another. Where a reporter's clock says a time before the message
// was stored, it counts as the time of storing; of a completion, as the time at which its report came.
type Boundaries struct {
	IngressAckedAt Instant `json:"ingress_acked_at" doc:"Durably stored."`
	DispatchedAt   Instant `json:"dispatched_at" doc:"Claimed by a worker: the first delivery that is known, or before, where began_exact of that attempt is false."`
	AcceptedAt     Instant `json:"accepted_at" doc:"There is evidence that the runtime started. Known from reports only."`
	CompletedAt    Instant `json:"completed_at" doc:"A recoverable result of one of its messages is recorded or reported. An acknowledgement alone is not enough, nor is a record of a version that is none of them."`
	SentAt         Instant `json:"sent_at" doc:"The receiver accepted the outgoing message. Known from reports only."`
}

// Idempotency is what a completion record says.
type Idempotency struct {
	Key         Text    `json:"key"`
	CompletedAt Instant `json:"completed_at"`
	Agent       Text    `json:"agent"`
	PayloadHash Text    `json:"payload_hash"`
	ExpiresAt   Instant `json:"expires_at"`
	GoneAt      Instant `json:"gone_at" doc:"Since when no record of the key is there: it was deleted, or its time was over. A worker that looks for it finds none. Null while it is there."`
	Source      Text    `json:"source" doc:"Where the record was read."`
}

// KeySharer is another task with an idempotency key of a task.
type KeySharer struct {
	TaskID string  `json:"task_id" doc:"The other task." example:"blog-post-118-again"`
	Key    string  `json:"key" example:"blog-post-118-1"`
	DoneAt Instant `json:"done_at" doc:"When its completion was first recorded or reported, else when it was acknowledged. Null while neither is known."`
	Proved bool    `json:"proved" doc:"A record or a report says that it did the work; otherwise it was acknowledged at most."`
	Link   string  `json:"link" doc:"Its page."`
}

func sharersOf(t lifecycle.TaskFacts) []KeySharer {
	out := []KeySharer{}
	for _, s := range t.AllSharers() {
		out = append(out, KeySharer{TaskID: s.Task, Key: s.Key, DoneAt: Instant(s.DoneAt), Proved: s.Proved, Link: lifecycle.PageOfTask(s.Task)})
	}
	return out
}

// Answers are the three questions in words.
type Answers struct {
	Ownership   Answer `json:"ownership" doc:"Where ownership last transferred."`
	LastReceipt Answer `json:"last_receipt" doc:"The last durable receipt."`
	Recovery    Answer `json:"recovery" doc:"What recovery decided or recommends, or what comes next."`
}

// Answer is a sentence with its time and how it is known.
type Answer struct {
	Headline   string  `json:"headline" doc:"The answer in at most nine words." example:"A worker has attempt 2 of 3"`
	Text       string  `json:"text" doc:"One sentence." example:"marketing-task-worker took attempt 2 of 3 and still has it."`
	At         Instant `json:"at"`
	Provenance string  `json:"provenance" enum:"observed,broker,recorded,reported,inferred" example:"broker"`
}

// TaskPathInput names a task.
type TaskPathInput struct {
	TaskID string `path:"task_id" doc:"The task id as one escaped path segment: a slash is %2F, a percent sign %25."`
}

func (a *API) describeTask() {
	notFound := []httperr.Code{httperr.NotFound}
	register(a, call{
		id: "get-task", needs: access.Read, path: Base + "/tasks/{task_id}", tag: "tasks", summary: "The trace of a task",
		example: exampleTrace(), failures: notFound,
		detail: "Its messages with their attempts, the times of waiting and running, who holds it, and the three answers in words.",
	}, a.getTask)
	register(a, call{
		id: "list-task-events", needs: access.Read, path: Base + "/tasks/{task_id}/events", tag: "tasks", summary: "The events of a task", example: exampleEvents(),
		detail:   eventsDetail,
		failures: []httperr.Code{httperr.NotFound, httperr.InvalidCursor},
	}, a.listEvents)
	register(a, call{
		id: "get-task-payload", needs: access.Read, path: Base + "/tasks/{task_id}/payload", tag: "tasks", summary: "The body of a message of a task",
		detail: payloadDetail, failures: notFound, example: examplePayload(), shape: shapePayload,
	}, a.getPayload)
	register(a, call{
		id: "get-task-report", needs: access.Read, path: Base + "/tasks/{task_id}/report", tag: "tasks", summary: "The recovery report of a task",
		detail: reportDetail, failures: notFound, example: exampleReport(), shape: shapeReport,
	}, a.getReport)
}

func (a *API) getTask(ctx context.Context, in *TaskPathInput) (*reply[Trace], error) {
	t, err := a.cfg.Query.Trace(ctx, in.TaskID)
	if err != nil {
		return nil, err
	}
	body := traceOf(t)
	return tagged(ctx, body, body.withoutClock()), nil
}

func traceOf(t query.Trace) Trace {
	s := t.Summary
	out := Trace{
		TaskID: s.TaskID, State: string(s.State), StateSince: Instant(s.StateSince), Rule: s.Rule, Agent: Text(s.Agent), Type: Text(s.Type),
		Title: Text(s.Title), Reason: Text(s.Reason), Generation: s.Generation, Attempts: s.Attempt, PublishedAt: Instant(s.PublishedAt),
		LastEventAt: Instant(s.LastEventAt), WaitingMS: t.Waiting.Milliseconds(), RunningMS: t.Running.Milliseconds(),
		UnsplitMS: t.Unsplit.Milliseconds(), CostUSD: reportedCost(s.Used.Cost), TokensIn: Count(s.Used.InputTokens), TokensOut: Count(s.Used.OutputTokens),
		Boundaries: boundariesOf(t.Trace), Messages: []Message{}, Anomalies: anomaliesOf(s.Anomalies), Duplicates: duplicatesOf(t.Facts), SameKey: sharersOf(t.Facts),
		Answers: answersOf(t.Answers), Recommendation: recommendationOf(t.Recovery, s.TaskID),
		Gaps: refsOf(t.Gaps), AsOf: Instant(t.AsOf), Links: linksOf(s.TaskID),
	}
	out.CompletedAt = out.Boundaries.CompletedAt
	for _, m := range t.Messages {
		out.Messages = append(out.Messages, messageOf(m, t.Typical, t.AsOf))
	}
	if n := len(out.Messages); n > 0 {
		out.MaxDeliver, out.CompletedAt = out.Messages[n-1].MaxDeliver, Instant(t.Messages[n-1].CompletedAt)
	}
	if out.CompletedAt == 0 && s.State == lifecycle.StateCompleted {
		out.CompletedAt = Instant(s.EndedAt)
	}
	if t.Lease != nil {
		lease := leaseOf(*t.Lease, t.Typical, t.AsOf)
		if t.Lease.Stale != "" {
			lease.Recommendation = out.Recommendation
		}
		out.Lease = just(lease)
	}
	if c := t.Facts.Completion; c != nil {
		out.Idempotency = just(Idempotency{
			Key: Text(c.Key), CompletedAt: Instant(c.At), Agent: Text(c.Agent), PayloadHash: Text(c.PayloadHash),
			ExpiresAt: Instant(c.ExpiresAt), GoneAt: Instant(t.Facts.RecordGoneAt()), Source: Text(c.Source),
		})
	}
	return out
}

// withoutClock is the trace without what passes by itself, for its entity tag.
func (t Trace) withoutClock() Trace {
	t.AsOf, t.WaitingMS, t.RunningMS, t.UnsplitMS = 0, 0, 0, 0
	t.Lease = leaseWithoutClock(t.Lease)
	t.Answers.Recovery.Headline = "" // It may say for how long something is due; what it says otherwise, the sentence below it says too.
	messages := make([]Message, len(t.Messages))
	for i, m := range t.Messages {
		messages[i] = m.withoutClock()
	}
	t.Messages = messages
	return t
}

func boundariesOf(t lifecycle.Trace) Boundaries {
	var b Boundaries
	for _, m := range t.Messages {
		if m.Facts.Stored != nil {
			b.IngressAckedAt = first(b.IngressAckedAt, m.Facts.Stored.At)
		}
		for _, part := range m.Parts() {
			if len(part.Attempts) > 0 {
				b.DispatchedAt = first(b.DispatchedAt, part.Attempts[0].BeganAt)
			}
		}
		b.CompletedAt = first(b.CompletedAt, m.CompletedAt)
	}
	bound := len(t.Messages) > 0 // Else nothing is known that a completion could be bound to.
	for r := range t.Facts.Credible() {
		if !bound {
			b.CompletedAt = first(b.CompletedAt, r.CompletedAt)
		}
		b.AcceptedAt = first(b.AcceptedAt, t.Facts.NotBefore(r.AcceptedAt))
		b.SentAt = first(b.SentAt, t.Facts.NotBefore(r.SentAt))
	}
	if c := t.Facts.Completion; c != nil && !bound {
		b.CompletedAt = first(b.CompletedAt, c.At)
	}
	return b
}

// first is the earlier of two instants, of which either may not be known.
func first(a Instant, b lifecycle.Micros) Instant {
	if a == 0 || (b.Known() && Instant(b) < a) {
		return Instant(b)
	}
	return a
}

func answersOf(a lifecycle.Answers) Answers {
	return Answers{Ownership: answerOf(a.Ownership), LastReceipt: answerOf(a.LastReceipt), Recovery: answerOf(a.Recovery)}
}

func answerOf(a lifecycle.Answer) Answer {
	return Answer{Headline: a.Headline, Text: a.Text, At: Instant(a.At), Provenance: string(a.Provenance)}
}
