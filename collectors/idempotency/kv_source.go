package idempotency

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors"
	"fleetglass/fleet"
	"fleetglass/internal/leader"
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

// StaysFor implements [Source]. A question costs the broker little.
func (s *KVSource) StaysFor() time.Duration { return 0 }

// Close implements [Source]. The connection to the broker belongs to the program.
func (s *KVSource) Close() error { return nil }

// Present implements [Source]. Where the bucket is gone all of its records are. The bucket's leader is asked: a replica that is behind would deny a record.
func (s *KVSource) Present(ctx context.Context, refs []lifecycle.RecordRef) ([]lifecycle.RecordAnswer, error) {
	out := make([]lifecycle.RecordAnswer, len(refs))
	bucket, err := leader.Find(ctx, s.js, bucketStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		for i := range out {
			out[i] = lifecycle.RecordGone
		}
		return out, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", fleet.BucketIdempotency, err)
	}
	for i, r := range refs {
		if out[i], err = inBucket(ctx, bucket, r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// inBucket looks for a record under the key that its version has, and under those that other writers use: that of the task alone, and the idempotency key itself. The key
// of a task whose name was made from another one is not known.
func inBucket(ctx context.Context, bucket *leader.Stream, r lifecycle.RecordRef) (lifecycle.RecordAnswer, error) {
	if fleet.IsMadeName(r.TaskID) {
		return lifecycle.RecordNotAsked, nil
	}
	keys := []string{fleet.RecordKey(r.TaskID, r.Key), fleet.RecordKey(r.TaskID, ""), fleet.RecordKey(cmp.Or(r.Key, r.TaskID), "")}
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		m, err := bucket.LastMsg(ctx, subjectPrefix+key)
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
		case err != nil:
			return lifecycle.RecordNotAsked, fmt.Errorf("look for record %s: %w", key, err)
		default:
			if _, ended := ending(m.Header); !ended {
				return lifecycle.RecordThere, nil
			}
		}
	}
	return lifecycle.RecordGone, nil
}
