package dlqtriage_test

import (
	"slices"
	"testing"
	"time"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"

	"github.com/google/go-cmp/cmp"
)

// story is what is told of one message, a second after the other.
type story struct {
	events []lifecycle.Event
	at     lifecycle.Micros
}

var message = lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: 7}

func tell(events ...lifecycle.Event) story {
	s := story{at: lifecycle.MicrosOf(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC))}
	for _, e := range events {
		s.at = s.at.Add(time.Second)
		e.ID, e.At = lifecycle.EventID(len(s.events)+1), s.at
		if e.Message.IsZero() {
			e.Message = message
		}
		s.events = append(s.events, e)
	}
	return s
}

func stored() lifecycle.Event {
	e := lifecycle.Event{Kind: lifecycle.Published, TaskID: "t-1", Agent: "cto"}
	e.Detail.MsgID, e.Detail.Subject, e.Detail.Type, e.Detail.Title = "m-1", "genbrain.agents.cto.tasks.review", "review", "Review it"
	return e
}

func attempt(kind lifecycle.Kind, n int, reason string) lifecycle.Event {
	e := lifecycle.Event{Kind: kind, Attempt: n, ConsumerSeq: uint64(n), Agent: "cto", Consumer: "cto-task-worker"}
	e.Detail.Reason = reason
	return e
}

func about(kind lifecycle.Kind, fill func(*lifecycle.Detail)) lifecycle.Event {
	e := lifecycle.Event{Kind: kind}
	fill(&e.Detail)
	return e
}

func decidedAs(kind lifecycle.Kind, revision uint64, outcome lifecycle.Outcome, action string) lifecycle.Event {
	return about(kind, func(d *lifecycle.Detail) {
		d.Revision, d.Outcome, d.ActionID, d.Action, d.Actor, d.Via = revision, outcome, action, "kind of "+action, "ann", "page"
	})
}

// entry folds the events in the order given, and returns the entry of the message.
func (s story) entry(t *testing.T, order []lifecycle.Event) (dlqtriage.Entry, bool) {
	t.Helper()
	fold := lifecycle.NewFold()
	events := slices.Clone(order)
	fold.Assign(events)
	for _, e := range events {
		fold.Add(e)
	}
	for _, f := range fold.Changes().Fallen {
		if f.Message.Key == message {
			return dlqtriage.EntryOf(f.Message, f.Task)
		}
	}
	return dlqtriage.Entry{}, false
}

func TestAnEntryFollowsFromTheFactsOfItsMessage(t *testing.T) {
	t.Parallel()
	delivered, term := attempt(lifecycle.Delivered, 1, ""), attempt(lifecycle.Terminated, 1, "prompt is too long")
	orphaned := about(lifecycle.Orphaned, func(*lifecycle.Detail) {})
	overflow := about(lifecycle.Classified, func(d *lifecycle.Detail) {
		d.Category, d.CategoryDetail, d.CauseKind, d.Rule, d.Actor = "conditionally_recoverable", "context_window_overflow", "resource", "overflow", "rules"
	})
	person := about(lifecycle.Classified, func(d *lifecycle.Detail) { d.Revision, d.Category, d.Actor = 3, "permanent", "ann" })
	copied := about(lifecycle.DeadLettered, func(d *lifecycle.Detail) {
		d.Entry, d.Path, d.Category, d.CategoryDetail, d.Deliveries = "DLQ:5", "terminated", "transient", "network_transient", 3
	})
	for name, c := range map[string]struct {
		events []lifecycle.Event
		want   dlqtriage.Entry // Only the fields that are named there are compared.
	}{
		"given up by its worker": {[]lifecycle.Event{stored(), delivered, term}, dlqtriage.Entry{
			Path: dlqtriage.PathTerminated, Status: dlqtriage.StatusOpen, Reason: "prompt is too long", Class: dlqtriage.Class{Category: dlqtriage.Unclassified}, Deliveries: 1,
		}},
		"an overflow": {[]lifecycle.Event{stored(), delivered, term, overflow}, dlqtriage.Entry{
			Path: dlqtriage.PathContextOverflow, Status: dlqtriage.StatusOpen, Reason: "prompt is too long", Deliveries: 1,
			Class: dlqtriage.Class{Category: dlqtriage.ConditionallyRecoverable, Detail: "context_window_overflow", Kind: dlqtriage.KindResource},
		}},
		"a person's word beats the rules": {[]lifecycle.Event{stored(), delivered, person, term, overflow}, dlqtriage.Entry{
			Path: dlqtriage.PathTerminated, Status: dlqtriage.StatusOpen, Reason: "prompt is too long", Deliveries: 1, Class: dlqtriage.Class{Category: dlqtriage.Permanent},
		}},
		"attempts used up": {[]lifecycle.Event{stored(), delivered, attempt(lifecycle.MaxDeliveries, 3, "")}, dlqtriage.Entry{
			Path: dlqtriage.PathMaxDeliveries, Status: dlqtriage.StatusOpen, Class: dlqtriage.Class{Category: dlqtriage.Unclassified}, Deliveries: 3,
			Reason: "maximum deliveries reached: it was delivered 3 times",
		}},
		"what its entry says beats what the rules found": {[]lifecycle.Event{stored(), delivered, attempt(lifecycle.MaxDeliveries, 2, ""), overflow, copied}, dlqtriage.Entry{
			Path: dlqtriage.PathTerminated, Status: dlqtriage.StatusOpen, Class: dlqtriage.Class{Category: dlqtriage.Transient, Detail: "network_transient", Kind: dlqtriage.KindTransient},
			Deliveries: 3, DLQStream: "DLQ", DLQSeq: 5,
		}},
		"a person's word beats what its entry says": {[]lifecycle.Event{stored(), delivered, attempt(lifecycle.MaxDeliveries, 2, ""), person, copied}, dlqtriage.Entry{
			Path: dlqtriage.PathTerminated, Status: dlqtriage.StatusOpen, Class: dlqtriage.Class{Category: dlqtriage.Permanent}, Deliveries: 3, DLQStream: "DLQ", DLQSeq: 5,
		}},
		"no consumer takes it": {[]lifecycle.Event{stored(), orphaned}, dlqtriage.Entry{
			Path: dlqtriage.PathFilterRejected, Status: dlqtriage.StatusOpen, Class: dlqtriage.Class{Category: dlqtriage.Unclassified},
			Reason: "no consumer takes the subject genbrain.agents.cto.tasks.review",
		}},
		"copied to the broker's queue": {[]lifecycle.Event{stored(), delivered, attempt(lifecycle.MaxDeliveries, 2, ""), copied}, dlqtriage.Entry{
			Path: dlqtriage.PathTerminated, Status: dlqtriage.StatusOpen, Class: dlqtriage.Class{Category: dlqtriage.Transient, Detail: "network_transient", Kind: dlqtriage.KindTransient},
			Deliveries: 3, DLQStream: "DLQ", DLQSeq: 5,
		}},
		"an action is open": {[]lifecycle.Event{stored(), delivered, term, decidedAs(lifecycle.Decided, 1, "", "a-1")}, dlqtriage.Entry{
			Path: dlqtriage.PathTerminated, Status: dlqtriage.StatusActing, Reason: "prompt is too long", Class: dlqtriage.Class{Category: dlqtriage.Unclassified},
			Deliveries: 1, Action: "a-1", ActionKind: "kind of a-1", Actor: "ann", Via: "page",
		}},
		"an action took effect": {
			[]lifecycle.Event{stored(), delivered, term, decidedAs(lifecycle.Decided, 1, "", "a-1"), decidedAs(lifecycle.Triaged, 2, lifecycle.OutcomeRetried, "a-1")},
			dlqtriage.Entry{
				Path: dlqtriage.PathTerminated, Status: dlqtriage.StatusRetried, Reason: "prompt is too long", Class: dlqtriage.Class{Category: dlqtriage.Unclassified},
				Deliveries: 1, Action: "a-1", ActionKind: "kind of a-1", Actor: "ann", Via: "page",
			},
		},
		"a decision was taken back": {
			[]lifecycle.Event{stored(), delivered, term, decidedAs(lifecycle.Triaged, 1, lifecycle.OutcomeDiscarded, "a-1"), decidedAs(lifecycle.Reopened, 2, "", "a-2")},
			dlqtriage.Entry{
				Path: dlqtriage.PathTerminated, Status: dlqtriage.StatusOpen, Reason: "prompt is too long", Class: dlqtriage.Class{Category: dlqtriage.Unclassified},
				Deliveries: 1, Action: "a-2", ActionKind: "kind of a-2", Actor: "ann", Via: "page",
			},
		},
	} {
		s := tell(c.events...)
		permute(s.events, func(order []lifecycle.Event) {
			got, ok := s.entry(t, order)
			got = dlqtriage.Entry{
				Path: got.Path, Status: got.Status, Reason: got.Reason, Class: got.Class, Deliveries: got.Deliveries, DLQStream: got.DLQStream, DLQSeq: got.DLQSeq,
				Action: got.Action, ActionKind: got.ActionKind, Actor: got.Actor, Via: got.Via,
			}
			if d := diff(c.want, got); !ok || d != "" {
				t.Fatalf("%s, in some order: entry %t (-want +got)\n%s", name, ok, d)
			}
		})
	}
}

func TestAMessageThatLivesHasNoEntry(t *testing.T) {
	t.Parallel()
	for name, events := range map[string][]lifecycle.Event{
		"at work":               {stored(), attempt(lifecycle.Delivered, 1, "")},
		"completed":             {stored(), attempt(lifecycle.Delivered, 1, ""), attempt(lifecycle.Acked, 1, "")},
		"taken after all":       {stored(), about(lifecycle.Orphaned, func(*lifecycle.Detail) {}), about(lifecycle.Adopted, func(*lifecycle.Detail) {})},
		"released while worked": {stored(), attempt(lifecycle.Delivered, 1, ""), decidedAs(lifecycle.Decided, 1, "", "a-1")},
	} {
		s := tell(events...)
		if e, ok := s.entry(t, s.events); ok {
			t.Errorf("%s: an entry %+v", name, e)
		}
	}
}

func TestTheOutcomeFollowsTheNewestMessage(t *testing.T) {
	t.Parallel()
	next := lifecycle.MessageKey{Stream: message.Stream, Seq: 8}
	retry := stored()
	retry.Message, retry.Detail.RetryOf, retry.Detail.Generation, retry.Detail.MsgID = next, "TASKS:7", 1, "m-1:r1"
	at := func(e lifecycle.Event) lifecycle.Event { e.Message = next; return e }
	for want, events := range map[dlqtriage.Outcome][]lifecycle.Event{
		dlqtriage.OutcomeWaiting:   {retry},
		dlqtriage.OutcomePickedUp:  {retry, at(attempt(lifecycle.Delivered, 1, ""))},
		dlqtriage.OutcomeResolved:  {retry, at(attempt(lifecycle.Delivered, 1, "")), at(attempt(lifecycle.Acked, 1, ""))},
		dlqtriage.OutcomeDiedAgain: {retry, at(attempt(lifecycle.Delivered, 1, "")), at(attempt(lifecycle.Terminated, 1, "again"))},
		"":                         {retry, at(about(lifecycle.Vanished, func(d *lifecycle.Detail) { d.Undelivered, d.Removal = true, lifecycle.RemovedByOperator }))},
	} {
		s := tell(append([]lifecycle.Event{stored(), attempt(lifecycle.Terminated, 1, "no")}, events...)...)
		permute(s.events, func(order []lifecycle.Event) {
			fold := lifecycle.NewFold()
			events := slices.Clone(order)
			fold.Assign(events)
			for _, e := range events {
				fold.Add(e)
			}
			var by []dlqtriage.FollowUp
			for _, f := range fold.Changes().Fallen {
				if u, ok := dlqtriage.FollowUpOf(f.Message, f.Task); ok {
					by = append(by, u)
				}
			}
			e := dlqtriage.Entry{ID: "TASKS:7", TaskID: stored().TaskID}.Followed(by)
			resolved := want == dlqtriage.OutcomeResolved
			if e.Outcome != want || e.Next.Key != next || e.Next.MessageID != "m-1:r1" || e.ResolvedAt.Known() != resolved {
				t.Fatalf("outcome %q of %+v, resolved at %d; want %q", e.Outcome, e.Next, e.ResolvedAt, want)
			}
		})
	}
}

func permute(s []lifecycle.Event, visit func([]lifecycle.Event)) {
	var from func(int)
	from = func(k int) {
		if k == len(s) {
			visit(s)
			return
		}
		for i := k; i < len(s); i++ {
			s[k], s[i] = s[i], s[k]
			from(k + 1)
			s[k], s[i] = s[i], s[k]
		}
	}
	from(0)
}

func diff(want, got dlqtriage.Entry) string { return cmp.Diff(want, got) }
