package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// recordRetention reads the live configuration that says how long idempotency records in KV are kept and how late a task may come
// again. Without the bucket, or the stream of tasks, it is not known.
func recordRetention(js jetstream.JetStream) func(context.Context) (lifecycle.Retention, error) {
	return func(ctx context.Context) (lifecycle.Retention, error) {
		tasks, err := streamConfig(ctx, js, fleet.StreamTasks)
		if err != nil || tasks == nil {
			return lifecycle.Retention{}, err
		}
		records, err := streamConfig(ctx, js, "KV_"+fleet.BucketIdempotency)
		if err != nil || records == nil {
			return lifecycle.Retention{}, err
		}
		retry, err := streamConfig(ctx, js, fleet.StreamRetry)
		if err != nil {
			return lifecycle.Retention{}, err
		}
		out := lifecycle.Retention{Known: true, Records: records.MaxAge, MaxAge: tasks.MaxAge, DuplicateWindow: tasks.Duplicates}
		if retry != nil {
			out.RetryDelay = retry.MaxAge
		}
		return out, nil
	}
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
