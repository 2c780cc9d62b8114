package idempotency

import (
	"fmt"
	"strings"

	"fleetglass/collectors"
	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// NewKV returns the collector of the NATS KV bucket task-idempotency. It reads the stream behind the bucket, so that revisions written
// while nobody looked are read later, as far as the bucket's history reaches. A fleet without the bucket is not a failure.
func NewKV(cfg collectors.Config) (*collectors.Collector, error) {
	return collectors.New(cfg, collectors.Source{Name: "idempotency", Stream: bucketStream, Decode: DecodeKV, AfterPublishes: true, Optional: true, Edited: true})
}

const (
	bucketStream  = "KV_" + fleet.BucketIdempotency
	subjectPrefix = "$KV." + fleet.BucketIdempotency + "."
)

// DecodeKV turns a revision of the bucket into an event about its task: a completion, or the end of its record. The event's time is
// the broker's, which can be compared with deliveries; what the agent's clock said is in Detail.CreatedAt. A record without a time
// of completion is a reservation and says nothing yet; so does whatever becomes of the reservations that stand beside the records, their
// ends included. It errors on a subject or a value of another form, and on a record under the
// key of another task: no worker finds it.
func DecodeKV(line collectors.Line, _ collectors.Streams, into *lifecycle.Batch) error {
	key, ok := strings.CutPrefix(line.Subject, subjectPrefix)
	if !ok || key == "" {
		return fmt.Errorf("subject %q is not a key of bucket %s", line.Subject, fleet.BucketIdempotency)
	}
	if fleet.IsReservationKey(key) {
		return nil
	}
	if kind, ended := ending(line.Headers); ended {
		e := line.Event(kind)
		e.TaskID = fleet.TaskOfRecordKey(key)
		e.Detail.IdempotencyKey = fleet.VersionOfRecordKey(key)
		into.Events = append(into.Events, e)
		return nil
	}
	r, err := fleet.ReadRecord(line.Body)
	if err != nil {
		return err
	}
	if !r.CompletedAt.Known() {
		return nil
	}
	if r.TaskID != fleet.TaskName(fleet.TaskOfRecordKey(key)) && r.IdempotencyKey != key {
		return fmt.Errorf("the record of task %s is under the key %.100q, where no worker looks for it", r.TaskID, key)
	}
	e := line.Event(lifecycle.CompletionRecorded)
	e.TaskID, e.Agent, e.Raw = r.TaskID, r.AgentID, line.Raw()
	e.Detail = lifecycle.Detail{
		Naming:        lifecycle.Naming{IdempotencyKey: r.IdempotencyKey, RecordSeq: r.NatsStreamSeq, PayloadHash: r.PayloadHash},
		Timing:        lifecycle.Timing{CreatedAt: r.CompletedAt},
		OutcomeReport: lifecycle.OutcomeReport{ExpiresAt: endOf(line, r.ExpiresAt), ResultRef: r.ResultSummary, Status: "completed"},
	}
	into.Events = append(into.Events, e)
	return nil
}

// endOf is when a record ends: when it says so itself, or before that when the broker deletes it by its TTL. Zero where neither is so.
func endOf(line collectors.Line, stated lifecycle.Micros) lifecycle.Micros {
	ttl := fleet.ReadTTL(line.Headers)
	if end := line.At.Add(ttl); ttl > 0 && (!stated.Known() || end < stated) {
		return end
	}
	return stated
}

// ending says how a record ended, where the revision is a marker: the broker marks what it expired, clients mark what they deleted.
func ending(headers map[string][]string) (lifecycle.Kind, bool) {
	switch fleet.HeaderValue(headers, "Nats-Marker-Reason") {
	case "MaxAge":
		return lifecycle.RecordExpired, true
	case "":
	default:
		return lifecycle.RecordDeleted, true
	}
	switch fleet.HeaderValue(headers, "KV-Operation") {
	case "DEL", "PURGE":
		return lifecycle.RecordDeleted, true
	}
	return "", false
}
