package api

import (
	"context"

	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
	"fleetglass/query"
)

// Event is one observation about a task.
type Event struct {
	ID          string    `json:"id" doc:"Sixteen hexadecimal digits; unique within the task." example:"5f0c2b1a9d8e7f60"`
	At          Instant   `json:"at" doc:"By the clock of the broker, or of the agent that reported. Clocks only order what is shown."`
	Kind        string    `json:"kind" example:"heartbeat"`
	Source      string    `json:"source" doc:"The capture stream, poll or document that it came from." example:"OBS_ACK"`
	SourceSeq   Sequence  `json:"source_seq"`
	Provenance  string    `json:"provenance" enum:"observed,broker,recorded,reported,inferred" doc:"How the event is known."`
	Stream      Text      `json:"stream" example:"TASKS"`
	Seq         Sequence  `json:"seq" doc:"Null for observations about the task itself." example:"1042"`
	Consumer    Text      `json:"consumer"`
	ConsumerSeq Sequence  `json:"consumer_seq"`
	Attempt     Count     `json:"attempt" doc:"Null when it is not about an attempt, or the number is not known." example:"2"`
	Agent       Text      `json:"agent"`
	Summary     string    `json:"summary" doc:"One or two sentences; without text of the fleet." example:"Attempt 2: the worker said that it is still working. The lease is extended by the wait of this attempt."`
	Data        EventData `json:"data" doc:"What only some kinds carry; the rest is absent."`
	Raw         *string   `json:"raw" doc:"The captured line: subject, newline, body. Null where it is not kept. Untrusted."`
	RawEncoding Text      `json:"raw_encoding" doc:"utf-8, or base64 when the line is not text; null without a line." example:"utf-8"`
}

// EventsQuery is the query of the events call.
type EventsQuery struct {
	TaskPathInput
	PageQuery
}

const eventsDetail = "In causal order: by message, attempt and phase. Clocks only order what nothing else orders. A task with more than 10,000 " +
	"events is listed in the order of time, and forwards only."

// maxCausal is how many events are put in causal order at once.
const maxCausal = 10_000

func (a *API) listEvents(ctx context.Context, in *EventsQuery) (*reply[List[Event]], error) {
	l, err := a.listRequest(ctx, in.PageQuery)
	if err != nil {
		return nil, err
	}
	record, gaps, err := a.cfg.Query.Task(ctx, in.TaskID)
	if err != nil {
		return nil, err
	}
	events, err := a.cfg.Query.Events(ctx, record.Summary.TaskID, lifecycle.EventPosition{}, maxCausal+1)
	if err != nil {
		return nil, err
	}
	var page []lifecycle.Event
	var p Page
	if len(events) > maxCausal {
		page, p, err = a.eventsByTime(ctx, l, record.Summary.TaskID)
	} else {
		page, p, err = causalPage(l, events, record.Messages)
	}
	if err != nil {
		return nil, err
	}
	rows := make([]Event, len(page))
	for i, e := range page {
		rows[i] = eventOf(e)
	}
	return listReply(ctx, l, rows, p, refsOf(gaps)), nil
}

// causalPage cuts a page out of events in causal order; its cursors name the event at their place.
func causalPage(l listRequest, events []lifecycle.Event, messages []lifecycle.MessageFacts) ([]lifecycle.Event, Page, error) {
	lifecycle.SortCausally(events, messages)
	place := func(e lifecycle.Event) query.Cursor { return query.Cursor{At: e.At, Key: e.ID.String()} }
	if l.from == nil {
		page, p := cut(l, events, 0, false, place)
		return page, p, nil
	}
	for i, e := range events {
		if e.At == l.from.At && e.ID.String() == l.from.Key {
			page, p := cut(l, events, i, true, place)
			return page, p, nil
		}
	}
	gone := httperr.New(httperr.InvalidCursor, nil)
	return nil, Page{}, gone.WithDetail("The event at the cursor's place is no longer kept. Begin again without a cursor.")
}

// eventsByTime reads a page of a task that is too long for causal order.
func (a *API) eventsByTime(ctx context.Context, l listRequest, taskID string) ([]lifecycle.Event, Page, error) {
	after := lifecycle.EventPosition{}
	if l.from != nil {
		id, err := lifecycle.ParseEventID(l.from.Key)
		if err != nil || l.from.Backward {
			return nil, Page{}, httperr.New(httperr.InvalidCursor, err)
		}
		after = lifecycle.EventPosition{At: l.from.At, ID: id}
	}
	events, err := a.cfg.Query.Events(ctx, taskID, after, l.limit+1)
	if err != nil {
		return nil, Page{}, err
	}
	var p Page
	if len(events) > l.limit {
		events = events[:l.limit]
		last := events[l.limit-1]
		p.Next = l.cursor(&query.Cursor{At: last.At, Key: last.ID.String()})
	}
	return events, p, nil
}

func eventOf(e lifecycle.Event) Event {
	out := Event{
		ID: e.ID.String(), At: Instant(e.At), Kind: string(e.Kind), Source: e.Source, SourceSeq: Sequence(e.SourceSeq),
		Provenance: string(e.Provenance), Consumer: Text(e.Consumer), ConsumerSeq: Sequence(e.ConsumerSeq), Attempt: Count(e.Attempt),
		Agent: Text(e.Agent), Summary: summaryOf(e), Data: dataOf(e.Detail),
	}
	if !e.Message.IsZero() {
		out.Stream, out.Seq = Text(e.Message.Stream.String()), Sequence(e.Message.Seq)
	}
	if len(e.Raw) > 0 {
		text, encoding := bytesAsText(e.Raw)
		out.Raw, out.RawEncoding = &text, Text(encoding)
	}
	return out
}
