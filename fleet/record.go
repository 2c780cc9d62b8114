package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"fleetglass/lifecycle"

	"github.com/nats-io/nats.go/jetstream"
)

// Record says that a task completed (SPEC 1, idempotency record). Whoever finds one for a task does not execute it again.
type Record struct {
	TaskID         string           `json:"taskId"`
	IdempotencyKey string           `json:"idempotencyKey,omitempty"` // Tells the versions of a task apart.
	AgentID        string           `json:"agentId"`
	CompletedAt    lifecycle.Micros `json:"-"` // Milliseconds on the wire.
	ResultSummary  string           `json:"resultSummary,omitempty"`
	NatsStreamSeq  uint64           `json:"natsStreamSeq,omitempty"`
	ExpiresAt      lifecycle.Micros `json:"-"` // Milliseconds on the wire.
	PayloadHash    string           `json:"payloadHash,omitempty"`
}

type wireRecord struct {
	*plainRecord
	CompletedAt json.RawMessage `json:"completedAt,omitempty"`
	ExpiresAt   json.RawMessage `json:"expiresAt,omitempty"`
}

type plainRecord Record

// MarshalJSON writes instants as whole milliseconds.
func (r Record) MarshalJSON() ([]byte, error) {
	plain := plainRecord(r)
	return json.Marshal(wireRecord{&plain, millis(r.CompletedAt), millis(r.ExpiresAt)})
}

func millis(m lifecycle.Micros) json.RawMessage { return fmt.Appendf(nil, "%d", int64(m)/1000) }

// ReadRecord reads a record leniently: fields of a wrong type are left out, instants may take any form that [ParseInstant] knows. It
// errors when the bytes are no JSON object or name no task.
func ReadRecord(body []byte) (Record, error) {
	var r Record
	w := wireRecord{plainRecord: (*plainRecord)(&r)}
	if err := unmarshalLoosely(body, &w); err != nil {
		return Record{}, fmt.Errorf("read idempotency record: %w", err)
	}
	var at, until Instant
	_ = at.UnmarshalJSON(w.CompletedAt) // Never errors.
	_ = until.UnmarshalJSON(w.ExpiresAt)
	r.CompletedAt, r.ExpiresAt = lifecycle.Micros(at), lifecycle.Micros(until)
	r.TaskID, r.AgentID = cleanID(r.TaskID), oneLine(r.AgentID, maxTextRunes)
	r.ResultSummary, r.PayloadHash = oneLine(r.ResultSummary, maxTextRunes), cleanID(r.PayloadHash)
	r.IdempotencyKey = cleanID(r.IdempotencyKey)
	if r.TaskID == "" {
		return Record{}, errors.New("read idempotency record: no taskId")
	}
	return r, nil
}

// ErrRecorded is returned by [Records.Complete] when another attempt recorded the completion first.
var ErrRecorded = errors.New("completion is recorded already")

// Records is where completions are recorded. Implementations are safe for concurrent use.
type Records interface {
	// Find returns the record of this version of a task (see [RecordKey]); nil when there is none. An error means that the store cannot
	// be asked: do not execute.
	Find(ctx context.Context, taskID, idempotencyKey string) (*Record, error)
	// Complete records a completion, once: it errors with [ErrRecorded] when a record exists, and keeps that one.
	Complete(ctx context.Context, r Record) error
}

// KVRecords keeps records in a NATS key-value bucket.
type KVRecords struct{ kv jetstream.KeyValue }

// NewKVRecords opens the bucket [BucketIdempotency]. It errors when the bucket is missing.
func NewKVRecords(ctx context.Context, js jetstream.JetStream) (*KVRecords, error) {
	kv, err := js.KeyValue(ctx, BucketIdempotency)
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", BucketIdempotency, err)
	}
	return &KVRecords{kv}, nil
}

// Find implements [Records].
func (k *KVRecords) Find(ctx context.Context, taskID, idempotencyKey string) (*Record, error) {
	entry, err := k.kv.Get(ctx, RecordKey(taskID, idempotencyKey))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find idempotency record: %w", err)
	}
	r, err := ReadRecord(entry.Value())
	if err != nil {
		return nil, err
	}
	return &r, nil
}

// Complete implements [Records].
func (k *KVRecords) Complete(ctx context.Context, r Record) error {
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("record completion: %w", err)
	}
	_, err = k.kv.Create(ctx, RecordKey(r.TaskID, r.IdempotencyKey), body)
	if errors.Is(err, jetstream.ErrKeyExists) {
		return fmt.Errorf("record completion: %w", ErrRecorded)
	}
	if err != nil {
		return fmt.Errorf("record completion: %w", err)
	}
	return nil
}
