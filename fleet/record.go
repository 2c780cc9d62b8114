package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"fleetglass/lifecycle"

	"github.com/nats-io/nats.go/jetstream"
)

// RecordRetention is how long a completion is remembered unless configured otherwise: longer than a task of the contract can come again, which is
// seven days in its stream and one before that as a retry (SPEC 4).
const RecordRetention = 9 * day

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
	// Find returns the record of this version of a task (see [RecordKey]); nil when there is none, or one that states no completion. An
	// error means that the store cannot be asked: do not execute.
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
	if !statesCompletion(entry.Value()) {
		return nil, nil
	}
	return &r, nil
}

// Complete implements [Records].
func (k *KVRecords) Complete(ctx context.Context, r Record) error {
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("record completion: %w", err)
	}
	key := RecordKey(r.TaskID, r.IdempotencyKey)
	_, err = k.kv.Create(ctx, key, body)
	if lostRace(err) {
		err = k.overReservation(ctx, key, body)
	}
	if err != nil {
		return fmt.Errorf("record completion: %w", err)
	}
	return nil
}

// overReservation writes a completion where the key is taken, if only by a record that states no completion.
func (k *KVRecords) overReservation(ctx context.Context, key string, body []byte) error {
	entry, err := k.kv.Get(ctx, key)
	if err != nil {
		return err
	}
	if statesCompletion(entry.Value()) {
		return ErrRecorded
	}
	if _, err = k.kv.Update(ctx, key, body, entry.Revision()); lostRace(err) {
		return ErrRecorded
	}
	return err
}

// ensure makes sure that the very record r is there. It errors with [ErrRecorded] when there is another.
func (k *KVRecords) ensure(ctx context.Context, r Record) error {
	err := k.Complete(ctx, r)
	if !errors.Is(err, ErrRecorded) {
		return err
	}
	found, findErr := k.Find(ctx, r.TaskID, r.IdempotencyKey)
	if findErr != nil {
		return findErr
	}
	if found == nil || *found != r {
		return err
	}
	return nil
}

// statesCompletion tells a record from what agents of other makes write to reserve a task: that has no time of completion. A time that
// cannot be read is one.
func statesCompletion(body []byte) bool {
	var w struct {
		CompletedAt json.RawMessage `json:"completedAt"`
	}
	_ = json.Unmarshal(body, &w) // What cannot be read is left out.
	switch strings.Trim(string(w.CompletedAt), `" `) {
	case "", "0", "null":
		return false
	}
	return true
}
