package api

import (
	"slices"
	"time"

	"fleetglass/lifecycle"
)

// Message is one stored message of a task.
type Message struct {
	Stream      string            `json:"stream" example:"TASKS"`
	Seq         Sequence          `json:"seq" example:"1042"`
	MessageID   Text              `json:"message_id" doc:"Nats-Msg-Id."`
	Subject     Text              `json:"subject" example:"genbrain.agents.marketing.tasks.content_creation"`
	State       string            `json:"state" example:"redelivered"`
	StateSince  Instant           `json:"state_since"`
	Rule        string            `json:"rule" example:"later attempt"`
	Generation  int               `json:"generation" example:"0"`
	RetryOf     Text              `json:"retry_of" doc:"<stream>:<seq> of the message that this one retries."`
	PublishedAt Instant           `json:"published_at" doc:"When the stream stored it; null when the publish line was not captured."`
	CreatedAt   Instant           `json:"created_at" doc:"By the publisher's clock."`
	Consumer    Text              `json:"consumer" example:"marketing-task-worker"`
	MaxDeliver  Count             `json:"max_deliver" example:"3"`
	SizeBytes   *int64            `json:"size_bytes" doc:"Bytes of the body."`
	PayloadHash Text              `json:"payload_hash"`
	TraceParent Text              `json:"traceparent"`
	Publisher   Text              `json:"publisher" doc:"Who published it, by the header X-Publisher, or Fleetglass for a retry; null where nothing says it." example:"ceo"`
	WaitingMS   int64             `json:"waiting_ms" doc:"Stored, in nobody's hands, up to now."`
	RunningMS   int64             `json:"running_ms" doc:"In a worker's hands, up to now."`
	UnsplitMS   int64             `json:"unsplit_ms" doc:"Waiting, then running. The time of delivery was not observed, so the span cannot be split."`
	Attempts    []Attempt         `json:"attempts" nullable:"false"`
	Others      []OtherConsumer   `json:"other_consumers" nullable:"false" doc:"Where several workers' consumers take it: those beside the one by which it is told. Each numbers its own attempts."`
	Watchers    []Watcher         `json:"watchers" nullable:"false" doc:"Consumers that take it but are not the workers': nothing that they do decides about its state."`
	Spans       []Span            `json:"spans" nullable:"false" doc:"Its time, cut into waiting and running."`
	DeadLetter  Maybe[DeadLetter] `json:"dead_letter" doc:"Its dead-letter entry; null when none is known."`
	Lease       Maybe[Lease]      `json:"lease"`
}

// Attempt is one delivery.
type Attempt struct {
	N                int      `json:"n" example:"1"`
	Former           bool     `json:"former" doc:"It was made by an earlier consumer of the same name. The present one counts its deliveries from one again."`
	ConsumerSeq      Sequence `json:"consumer_seq"`
	BeganAt          Instant  `json:"began_at"`
	BeganExact       bool     `json:"began_exact" doc:"The broker's own time; otherwise a bound."`
	FirstHeartbeatAt Instant  `json:"first_heartbeat_at"`
	LastHeartbeatAt  Instant  `json:"last_heartbeat_at"`
	EndedAt          Instant  `json:"ended_at"`
	EndedLatest      bool     `json:"ended_at_latest" doc:"It timed out at ended_at or before: nothing tells exactly when its lease ran out."`
	End              string   `json:"end" enum:"open,acked,naked,terminated,timed_out,removed" example:"timed_out"`
	Reason           Text     `json:"reason" doc:"Untrusted."`
	Silent           bool     `json:"silent" doc:"No line of it was seen: its existence is inferred."`
	AckedAt          Instant  `json:"acked_at" doc:"A late acknowledgement may follow another end."`
	AckConfirmed     bool     `json:"ack_confirmed" doc:"The broker confirmed the acknowledgement."`
	NakDelayMS       *int64   `json:"nak_delay_ms"`
}

// OtherConsumer is what a workers' consumer did with a message, beside the one that decides about the state of the message.
type OtherConsumer struct {
	Consumer   string       `json:"consumer" example:"marketing-second-task-worker"`
	State      string       `json:"state" example:"completed" doc:"What the state of the message would be if no other consumer took it."`
	StateSince Instant      `json:"state_since"`
	Rule       string       `json:"rule" example:"acknowledged"`
	Attempts   []Attempt    `json:"attempts" nullable:"false"`
	Lease      Maybe[Lease] `json:"lease"`
}

// Watcher is a consumer that takes a message and is not the workers'.
type Watcher struct {
	Consumer string  `json:"consumer" example:"marketing-auditor"`
	Attempts Count   `json:"attempts" doc:"Its highest attempt of which a line was seen."`
	AckedAt  Instant `json:"acked_at" doc:"Its first acknowledgement, which ends nothing."`
	LastAt   Instant `json:"last_at"`
}

// Span is a stretch of a message's time.
type Span struct {
	Kind    string  `json:"kind" enum:"waiting,running,unsplit" doc:"unsplit: the moment of delivery in it was not observed."`
	Attempt int     `json:"attempt" doc:"The attempt that runs or is waited for."`
	From    Instant `json:"from"`
	To      Instant `json:"to" doc:"The time of looking while it is open."`
	Open    bool    `json:"open"`
}

// DeadLetter is a dead-letter entry as far as the trace knows it.
type DeadLetter struct {
	At       Instant `json:"at"`
	Entry    Text    `json:"entry" doc:"Where the entry is, <stream>:<seq>."`
	Category Text    `json:"category"`
	Path     Text    `json:"path"`
	Reason   Text    `json:"reason" doc:"Untrusted."`
}

func messageOf(m lifecycle.MessageTrace, typical map[string]lifecycle.Typical, now lifecycle.Micros) Message {
	out := Message{
		Stream: m.Facts.Key.Stream.String(), Seq: Sequence(m.Facts.Key.Seq), State: string(m.Verdict.State), StateSince: Instant(m.Verdict.Since),
		Rule: m.Verdict.Rule, Consumer: Text(m.Facts.Consumer), WaitingMS: m.Waiting.Milliseconds(), RunningMS: m.Running.Milliseconds(), MaxDeliver: Count(m.Allowed),
		UnsplitMS: m.Unsplit.Milliseconds(),
		Attempts:  []Attempt{}, Others: []OtherConsumer{}, Watchers: []Watcher{}, Spans: []Span{},
	}
	if s := m.Facts.Stored; s != nil {
		out.MessageID, out.Subject, out.Generation, out.RetryOf = Text(s.MsgID), Text(s.Subject), s.Generation, Text(s.RetryOf)
		out.PublishedAt, out.CreatedAt, out.SizeBytes = Instant(s.At), Instant(s.CreatedAt), &s.Size
		out.PayloadHash, out.TraceParent, out.Publisher = Text(s.PayloadHash), Text(s.TraceParent), Text(s.Publisher)
	}
	for _, a := range m.Attempts {
		out.Attempts = append(out.Attempts, attemptOf(a))
	}
	for _, o := range m.Others {
		out.Others = append(out.Others, otherOf(o, typical, now))
	}
	for _, w := range m.Facts.Watchers {
		out.Watchers = append(out.Watchers, Watcher{Consumer: w.Consumer, Attempts: Count(w.N), AckedAt: Instant(w.AckAt), LastAt: Instant(w.LastAt)})
	}
	for _, s := range m.Spans {
		out.Spans = append(out.Spans, Span{Kind: string(s.Kind), Attempt: s.Attempt, From: Instant(s.From), To: Instant(s.To), Open: s.Open})
	}
	if d := m.Facts.Dead; d != nil {
		out.DeadLetter = just(DeadLetter{
			At: Instant(d.At), Entry: Text(d.Entry), Category: Text(d.Category), Path: Text(d.Path), Reason: Text(d.Reason),
		})
	}
	if m.Lease != nil {
		out.Lease = just(leaseOf(*m.Lease, typical, now))
	}
	return out
}

func otherOf(m lifecycle.MessageTrace, typical map[string]lifecycle.Typical, now lifecycle.Micros) OtherConsumer {
	out := OtherConsumer{
		Consumer: m.Facts.Consumer, State: string(m.Verdict.State), StateSince: Instant(m.Verdict.Since), Rule: m.Verdict.Rule, Attempts: []Attempt{},
	}
	for _, a := range m.Attempts {
		out.Attempts = append(out.Attempts, attemptOf(a))
	}
	if m.Lease != nil {
		out.Lease = just(leaseOf(*m.Lease, typical, now))
	}
	return out
}

func attemptOf(a lifecycle.Attempt) Attempt {
	return Attempt{
		N: a.N, Former: a.Former, ConsumerSeq: Sequence(a.ConsumerSeq), BeganAt: Instant(a.BeganAt), BeganExact: a.BeganExact,
		FirstHeartbeatAt: Instant(a.FirstBeat), LastHeartbeatAt: Instant(a.LastBeat), EndedAt: Instant(a.EndedAt), EndedLatest: a.EndedLatest, End: string(a.End),
		Reason: Text(a.Reason), Silent: a.Silent, AckedAt: Instant(a.AckAt), AckConfirmed: a.Confirmed,
		NakDelayMS: knownMilliseconds(time.Duration(a.NakDelayNs), a.NakDelayNs > 0),
	}
}

// withoutClock is the message without what passes by itself.
func (m Message) withoutClock() Message {
	m.WaitingMS, m.RunningMS, m.UnsplitMS = 0, 0, 0
	m.Lease = leaseWithoutClock(m.Lease)
	others := slices.Clone(m.Others)
	for i := range others {
		others[i].Lease = leaseWithoutClock(others[i].Lease)
	}
	m.Others = others
	spans := make([]Span, len(m.Spans))
	for i, s := range m.Spans {
		if s.Open {
			s.To = 0
		}
		spans[i] = s
	}
	m.Spans = spans
	return m
}
