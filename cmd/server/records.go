package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/duplicates"
	"fleetglass/fleet"
)

// recordRetention reads the live configuration that says how long idempotency records in KV are kept and how late a task may come
// again. What was read, an error too, holds for a while: pages and calls do not wait for a broker that does not answer.
type recordRetention struct {
	js  jetstream.JetStream
	now func() time.Time

	mu    sync.Mutex
	at    time.Time
	value duplicates.Retention
	err   error
}

const (
	recordRetentionAge      = 30 * time.Second
	recordRetentionPatience = 2 * time.Second
)

// Read returns what is configured. Without the bucket, or the stream of tasks, it is not known.
func (r *recordRetention) Read(ctx context.Context) (duplicates.Retention, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.now(); r.at.IsZero() || now.Sub(r.at) >= recordRetentionAge {
		// One reader who leaves must not spoil the answer for the others.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordRetentionPatience)
		defer cancel()
		r.value, r.err = r.read(ctx)
		r.at = now
	}
	return r.value, r.err
}

func (r *recordRetention) read(ctx context.Context) (duplicates.Retention, error) {
	tasks, err := streamConfig(ctx, r.js, fleet.StreamTasks)
	if err != nil || tasks == nil {
		return duplicates.Retention{}, err
	}
	records, err := streamConfig(ctx, r.js, "KV_"+fleet.BucketIdempotency)
	if err != nil || records == nil {
		return duplicates.Retention{}, err
	}
	retry, err := streamConfig(ctx, r.js, fleet.StreamRetry)
	if err != nil {
		return duplicates.Retention{}, err
	}
	out := duplicates.Retention{Known: true, Records: records.MaxAge, MaxAge: tasks.MaxAge, DuplicateWindow: tasks.Duplicates}
	if retry != nil {
		out.RetryDelay = retry.MaxAge
	}
	return out, nil
}

// streamConfig is nil for a stream that does not exist.
func streamConfig(ctx context.Context, js jetstream.JetStream, name string) (*jetstream.StreamConfig, error) {
	stream, err := js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the configuration of stream %s: %w", name, err)
	}
	return &stream.CachedInfo().Config, nil
}
