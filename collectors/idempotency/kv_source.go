package idempotency

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors"
	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// KVSource is the bucket of the broker as a [Source].
type KVSource struct{ js jetstream.JetStream }

// NewKVSource looks for records in the bucket that js reaches.
func NewKVSource(js jetstream.JetStream) *KVSource { return &KVSource{js} }

var _ Source = (*KVSource)(nil)

// Configured implements [Source].
func (s *KVSource) Configured() bool { return s.js != nil }

// Collector implements [Source].
func (s *KVSource) Collector(shared collectors.Config) (Collector, error) { return NewKV(shared) }

// Holds implements [Source].
func (s *KVSource) Holds(r lifecycle.RecordRef) bool {
	return strings.HasSuffix(r.Source, bucketStream)
}

// Close implements [Source]. The connection to the broker belongs to the program.
func (s *KVSource) Close() error { return nil }

// Present implements [Source]. Where the bucket is gone all of its records are.
func (s *KVSource) Present(ctx context.Context, refs []lifecycle.RecordRef) ([]lifecycle.RecordAnswer, error) {
	out := make([]lifecycle.RecordAnswer, len(refs))
	kv, err := s.js.KeyValue(ctx, fleet.BucketIdempotency)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		for i := range out {
			out[i] = lifecycle.RecordGone
		}
		return out, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", fleet.BucketIdempotency, err)
	}
	for i, r := range refs {
		if out[i], err = inBucket(ctx, kv, r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// inBucket looks for a record under the key that its version has, and under that of the task alone, which other writers use.
func inBucket(ctx context.Context, kv jetstream.KeyValue, r lifecycle.RecordRef) (lifecycle.RecordAnswer, error) {
	keys := []string{fleet.RecordKey(r.TaskID, r.Key), fleet.RecordKey(r.TaskID, "")}
	if keys[0] == keys[1] {
		keys = keys[:1]
	}
	for _, key := range keys {
		_, err := kv.Get(ctx, key)
		if err == nil {
			return lifecycle.RecordThere, nil
		}
		if !errors.Is(err, jetstream.ErrKeyNotFound) {
			return lifecycle.RecordNotAsked, fmt.Errorf("look for record %s: %w", key, err)
		}
	}
	return lifecycle.RecordGone, nil
}
