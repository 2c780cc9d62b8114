package reconcile

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"fleetglass/lifecycle"
)

var base = lifecycle.MicrosOf(time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC))

// folded is what a set of events proves: the messages with the facts of their tasks, and the tasks without a message.
type folded struct {
	messages []lifecycle.OpenMessage
	orphans  []lifecycle.TaskFacts
}

// fold joins events as one batch into a store that knew nothing.
func fold(events []lifecycle.Event) folded {
	f := lifecycle.NewFold()
	f.Keys(events)
	f.Assign(events)
	for _, e := range events {
		f.Add(e)
	}
	var out folded
	changes, tasks := f.Changes(), map[string]lifecycle.TaskFacts{}
	for _, t := range changes.Tasks {
		tasks[t.Facts.ID] = *t.Facts
		if t.Facts.Messages == 0 {
			out.orphans = append(out.orphans, *t.Facts)
		}
	}
	for _, m := range changes.Messages {
		out.messages = append(out.messages, lifecycle.OpenMessage{Message: *m.Facts, Task: tasks[m.TaskID]})
	}
	return out
}

// foldLines folds one event for each line: its kind, its time after base, and fields. The reason "aged" is that of a message older than
// max_age.
func foldLines(t *testing.T, lines string) folded {
	t.Helper()
	var events []lifecycle.Event
	for i, line := range strings.Split(strings.TrimSpace(lines), "\n") {
		e, err := parseLine(line)
		if err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		e.ID = lifecycle.NewEventID("line", strconv.Itoa(i))
		events = append(events, e)
	}
	return fold(events)
}

func parseLine(line string) (lifecycle.Event, error) {
	fields := strings.Fields(line)
	e := lifecycle.Event{Kind: lifecycle.Kind(fields[0])}
	if e.Kind == lifecycle.ReportCompleted || e.Kind == lifecycle.ReportHeartbeat {
		e.Provenance = lifecycle.Reported
	}
	after, err := time.ParseDuration(fields[1])
	if err != nil {
		return e, err
	}
	e.At = base.Add(after)
	for _, field := range fields[2:] {
		name, value, _ := strings.Cut(field, "=")
		if err := setField(&e, name, value); err != nil {
			return e, fmt.Errorf("field %q: %w", field, err)
		}
	}
	if !e.Message.IsZero() {
		e.Message.Stream, e.Agent = auditStreamID, "marketing"
	}
	return e, nil
}

func setField(e *lifecycle.Event, name, value string) (err error) {
	switch name {
	case "seq":
		e.Message.Seq, err = strconv.ParseUint(value, 10, 64)
	case "n":
		e.Attempt, err = strconv.Atoi(value)
	case "task":
		e.TaskID = value
	case "key":
		e.Detail.IdempotencyKey = value
	case "record":
		e.Detail.RecordSeq, err = strconv.ParseUint(value, 10, 64)
	case "namesake":
		e.Detail.Owner = value
	case "basis":
		var after time.Duration
		after, err = time.ParseDuration(value)
		e.Detail.Basis = base.Add(after)
	case "unproved":
		e.Detail.Unproved = true
	case "outcome":
		e.Detail.Outcome, e.Detail.Revision = lifecycle.Outcome(value), 1
	case "removal":
		e.Detail.Removal = lifecycle.Removal(value)
	case "undelivered":
		e.Detail.Undelivered = true
	case "exact":
		e.Detail.Exact = true
	case "reason":
		e.Detail.Reason = strings.ReplaceAll(value, "+", " ")
		if value == "aged" {
			e.Detail.Reason = lifecycle.VanishedByAge
		}
	default:
		err = fmt.Errorf("not known")
	}
	return err
}

var (
	messageKinds = []lifecycle.Kind{
		lifecycle.Acked, lifecycle.AckConfirmed, lifecycle.Nacked, lifecycle.Terminated, lifecycle.TermConfirmed, lifecycle.Heartbeat,
		lifecycle.MaxDeliveries, lifecycle.LeaseExpired, lifecycle.PresumedDead,
	}
	streamKinds = []lifecycle.Kind{
		lifecycle.Vanished, lifecycle.Vanished, lifecycle.Orphaned, lifecycle.ConsumerRecreated, lifecycle.AckRefuted, lifecycle.DeadLettered,
		lifecycle.Triaged, lifecycle.Reopened,
	}
	taskKinds       = []lifecycle.Kind{lifecycle.PublishAttempted, lifecycle.CompletionRecorded, lifecycle.ReportClaimed, lifecycle.ReportCompleted}
	vanishedReasons = []string{lifecycle.VanishedByAge, "unknown", "discarded by limits", ""}
)

// randomHistory publishes a message and adds up to eleven events about it, in no particular order and with no regard for what is likely.
func randomHistory(r *rand.Rand, seq uint64) []lifecycle.Event {
	task, key := fmt.Sprintf("T%d", seq), lifecycle.MessageKey{Stream: auditStreamID, Seq: seq}
	out := []lifecycle.Event{{ID: lifecycle.NewEventID("random", task, "0"), Kind: lifecycle.Published, At: base, TaskID: task, Message: key}}
	for i := range r.IntN(12) {
		e := lifecycle.Event{ID: lifecycle.NewEventID("random", task, strconv.Itoa(i+1)), At: base.Add(time.Duration(1+r.IntN(30)) * time.Second)}
		switch r.IntN(3) {
		case 0:
			e.Kind, e.Message, e.Attempt = messageKinds[r.IntN(len(messageKinds))], key, 1+r.IntN(3)
			e.Detail.Basis = base.Add(time.Duration(1+r.IntN(30)) * time.Second)
		case 1:
			e.Kind, e.Message, e.Detail.Reason = streamKinds[r.IntN(len(streamKinds))], key, vanishedReasons[r.IntN(len(vanishedReasons))]
			e.Detail.Revision, e.Detail.Outcome = uint64(i+1), lifecycle.Outcomes()[r.IntN(len(lifecycle.Outcomes()))]
		default:
			e.Kind, e.TaskID, e.Detail.MsgID = taskKinds[r.IntN(len(taskKinds))], task, task
			if e.Kind == lifecycle.ReportClaimed || e.Kind == lifecycle.ReportCompleted {
				e.Provenance = lifecycle.Reported
			}
		}
		out = append(out, e)
	}
	return out
}
