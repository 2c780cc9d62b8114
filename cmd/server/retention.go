package main

import (
	"context"
	"log/slog"
	"time"

	"fleetglass/lifecycle"
)

// retention deletes what ended too long ago, soon after start and then every hour.
type retention struct {
	store interface {
		lifecycle.Appender
		Retain(ctx context.Context, cutoff, now lifecycle.Micros) (int64, error)
	}
	keep time.Duration
	now  func() time.Time
	log  *slog.Logger
}

const (
	retentionFirst = time.Minute
	retentionEvery = time.Hour
)

// Run works until ctx is done. A failure is logged and tried again an hour later.
func (r *retention) Run(ctx context.Context) error {
	timer := time.NewTimer(retentionFirst)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		r.once(ctx)
		timer.Reset(retentionEvery)
	}
}

func (r *retention) once(ctx context.Context) {
	now := lifecycle.MicrosOf(r.now())
	if err := markRetained(ctx, r.store, now.Add(-r.keep)); err != nil && ctx.Err() == nil {
		r.log.Error("the time up to which old tasks are deleted could not be stored", "error", err)
	}
	deleted, err := r.store.Retain(ctx, now.Add(-r.keep), now)
	switch {
	case err != nil && ctx.Err() == nil:
		r.log.Error("old tasks could not be deleted", "error", err)
	case deleted > 0:
		r.log.Info("old tasks deleted", "tasks", deleted, "older_than", r.keep)
	}
}
