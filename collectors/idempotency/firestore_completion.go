package idempotency

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// decodeCompletion turns a record into a completion. The event's time is Firestore's, which can be compared with the broker's; what the
// agent's clock said is in Detail.CreatedAt. Numbers written as text, timestamps and missing task ids are read leniently. A record with
// a result but without a time of completion counts as completed when it was created, so that writing it again does not complete it again.
// A reservation says nothing yet. It errors when nothing tells whether the task completed, and on a record in the document of another task.
func decodeCompletion(d document, into *lifecycle.Batch) error {
	r, err := readRecord(d)
	if err != nil {
		return err
	}
	if !r.CompletedAt.Known() {
		switch at := d.fields["completedAt"]; {
		case at != nil && at != int64(0):
			return fmt.Errorf("completedAt %v cannot be read as a time", at)
		case r.ResultSummary != "" || strings.EqualFold(d.text("status"), "completed"):
			r.CompletedAt = d.created
		case reserved(d):
			return nil
		default:
			return errors.New("it has no completedAt, no result and no sign of a reservation")
		}
	}
	if id := d.id(); r.TaskID != fleet.TaskName(taskOfDocument(id)) && r.IdempotencyKey != id {
		return fmt.Errorf("the record of task %s is in the document %.100q, where no worker looks for it", r.TaskID, id)
	}
	e := d.event(lifecycle.CompletionRecorded)
	e.TaskID, e.Agent = r.TaskID, r.AgentID
	e.Detail = lifecycle.Detail{
		Naming:        lifecycle.Naming{IdempotencyKey: r.IdempotencyKey, RecordSeq: r.NatsStreamSeq, PayloadHash: r.PayloadHash},
		Timing:        lifecycle.Timing{CreatedAt: r.CompletedAt},
		OutcomeReport: lifecycle.OutcomeReport{ExpiresAt: r.ExpiresAt, ResultRef: r.ResultSummary, Status: "completed"},
	}
	into.Events = append(into.Events, e)
	return nil
}

// taskOfDocument is the task whose record belongs into a document of that id: versions after the first have their number behind it.
func taskOfDocument(id string) string {
	id, _, _ = strings.Cut(id, "~=")
	return fleet.TaskOfRecordKey(id)
}

// readRecord reads the document as a record. Where the document does not name its task, its id does.
func readRecord(d document) (fleet.Record, error) {
	fields, _ := plain(d.fields).(map[string]any)
	if strings.TrimSpace(d.text("taskId")) == "" {
		fields["taskId"] = d.id()
	}
	body, err := json.Marshal(fields)
	if err != nil {
		return fleet.Record{}, fmt.Errorf("read record: %w", err)
	}
	return fleet.ReadRecord(body)
}

// reserved reports whether a record without completion shows that somebody has begun.
func reserved(d document) bool {
	for _, field := range []string{"status", "leaseOwner", "lease_owner", "owner", "reservedAt", "reserved_at", "fencingToken", "lease_version"} {
		if d.fields[field] != nil {
			return true
		}
	}
	return false
}
