package api

import (
	"maps"
	"slices"

	"fleetglass/lifecycle"
)

// Duplicates is what the duplicate ledger says about one task.
type Duplicates struct {
	CaughtByStream      int             `json:"caught_by_stream" doc:"Publishes that the stream caught."`
	CaughtByIdempotency int             `json:"caught_by_idempotency" doc:"Deliveries after completion that were not run again."`
	ReachedExecution    int             `json:"reached_execution" doc:"Runs after completion."`
	Unknown             int             `json:"unknown" doc:"Deliveries after completion, where nothing says whether they ran."`
	KeyConflicts        int             `json:"key_conflicts" doc:"Further payloads under an idempotency key that was used before."`
	Semantic            int             `json:"semantic" doc:"Tool calls repeated with the same input under other step ids."`
	Cases               []DuplicateCase `json:"cases" nullable:"false"`
	Publishes           []PublishCount  `json:"publishes" nullable:"false" doc:"Per message id."`
}

// DuplicateCase is one finding of the ledger.
type DuplicateCase struct {
	Layer   string   `json:"layer" enum:"stream,idempotency,execution,unknown,conflict,semantic" example:"stream"`
	At      Instant  `json:"at" doc:"When the duplicate showed."`
	Count   int      `json:"count" example:"1"`
	Stream  Text     `json:"stream" doc:"Of the message that was the duplicate; null where the case is about the task as a whole."`
	Seq     Sequence `json:"seq"`
	Attempt Count    `json:"attempt"`
	Why     string   `json:"why" example:"Published more often than stored under one message id."`

	OtherTask Text `json:"other_task" doc:"The other task that the finding is about: it has the same idempotency key. Null where the finding is about this task alone."`
}

// PublishCount compares publishes with what they stored.
type PublishCount struct {
	MessageID string  `json:"message_id"`
	Attempts  int     `json:"attempts" doc:"Publishes seen."`
	TooEarly  int     `json:"before_stored" doc:"Publish attempts made more than two seconds before the first message was stored. The stream refused them."`
	Refused   int     `json:"refused" doc:"Publish attempts that no stored message of the id can have caught: made too early, or longer than a second after the duplicate window."`
	Reported  int     `json:"reported" doc:"Publishes that the stream called duplicates, as the publisher reports, or the agent that the message is for. They count as caught where fewer were captured."`
	Unclear   int     `json:"unclear" doc:"Publish attempts captured up to two seconds before the message was stored, or up to a second after the duplicate window: the stream refused them or caught them. They do not count as caught."`
	Owner     Text    `json:"owner" doc:"The task whose message has this id and caught the publishes; null where that is not another task."`
	Stored    int     `json:"stored" doc:"Messages stored."`
	FirstAt   Instant `json:"first_at"`
}

func duplicatesOf(f lifecycle.TaskFacts) Duplicates {
	d := Duplicates{Cases: []DuplicateCase{}, Publishes: []PublishCount{}}
	totals := map[lifecycle.Layer]*int{
		lifecycle.LayerStream: &d.CaughtByStream, lifecycle.LayerIdempotency: &d.CaughtByIdempotency,
		lifecycle.LayerExecution: &d.ReachedExecution, lifecycle.LayerUnknown: &d.Unknown,
		lifecycle.LayerConflict: &d.KeyConflicts, lifecycle.LayerSemantic: &d.Semantic,
	}
	for _, c := range lifecycle.Ledger(&f) {
		if n := totals[c.Layer]; n != nil {
			*n += c.N
		}
		d.Cases = append(d.Cases, caseOf(c))
	}
	for _, id := range slices.Sorted(maps.Keys(f.Publishes)) {
		p := f.Publishes[id]
		counted := PublishCount{MessageID: id, Attempts: len(p.Attempts()), TooEarly: p.TooEarly(), Refused: p.Refused(), Reported: len(f.ReportedCaught(id)), Unclear: p.Unclear(), Owner: Text(p.Owner), Stored: len(p.Stored), FirstAt: Instant(p.FirstAt())}
		d.Publishes = append(d.Publishes, counted)
	}
	return d
}

func caseOf(c lifecycle.Case) DuplicateCase {
	out := DuplicateCase{Layer: string(c.Layer), At: Instant(c.At), Count: c.N, Attempt: Count(c.Attempt), Why: c.Why, OtherTask: Text(c.Other)}
	if !c.Message.IsZero() {
		out.Stream, out.Seq = Text(c.Message.Stream.String()), Sequence(c.Message.Seq)
	}
	return out
}
