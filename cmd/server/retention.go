package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"fleetglass/internal/requestkey"
	"fleetglass/lifecycle"
)

// deletesOld reports whether this program deletes by --retention. A read-only one does so only in a store of its own, which would grow for ever: a Postgres
// may be shared with replicas that decide, and how long they keep what they decided is theirs to say.
func (c Config) deletesOld() bool { return !c.ReadOnly || c.DatabaseURL == "" || c.Reader != "" }

// retention deletes what ended too long ago, soon after start and then every hour.
type retention struct {
	store interface {
		retainedStore
		Retain(ctx context.Context, cutoff, now lifecycle.Micros) (int64, error)
		RetainDecisions(ctx context.Context, cutoff lifecycle.Micros) (int64, error)
		RetainAlerts(ctx context.Context, cutoff lifecycle.Micros) (int64, error)
		RetainRestarts(ctx context.Context, cutoff lifecycle.Micros) (int64, error)
		ExpireKeys(ctx context.Context, before lifecycle.Micros) (int64, error)
	}
	keep time.Duration
	now  func() time.Time
	log  *slog.Logger

	told lifecycle.Micros // Up to when it was last said that somebody with a shorter --retention had deleted.
}

// retainedStore keeps up to when tasks were deleted.
type retainedStore interface {
	lifecycle.Appender
	Watermark(ctx context.Context, source string) (string, error)
}

const (
	retentionFirst = time.Minute
	retentionEvery = time.Hour

	// alertsKept is how long alerts and what receivers are to be told are kept at least: a receiver that fails is told of a notice for a day.
	alertsKept = 48 * time.Hour
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
	r.tasks(ctx, now)
	_, err := r.store.RetainDecisions(ctx, now.Add(-r.keep))
	r.failed(ctx, "old decisions could not be deleted", err)
	_, err = r.store.RetainAlerts(ctx, now.Add(-max(r.keep, alertsKept)))
	r.failed(ctx, "old alerts could not be deleted", err)
	_, err = r.store.RetainRestarts(ctx, now.Add(-r.keep))
	r.failed(ctx, "old restarts could not be deleted", err)
	_, err = r.store.ExpireKeys(ctx, now.Add(-requestkey.Retention))
	r.failed(ctx, "the replies kept under idempotency keys could not be deleted", err)
}

func (r *retention) failed(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		r.log.Error(what, "error", err)
	}
}

func (r *retention) tasks(ctx context.Context, now lifecycle.Micros) {
	cutoff := now.Add(-r.keep)
	before, err := markRetained(ctx, r.store, cutoff)
	r.failed(ctx, "the time up to which old tasks are deleted could not be stored", err)
	if before > cutoff && before != r.told {
		r.told = before
		r.log.Warn("what ended earlier was deleted by a shorter --retention, of another replica that shares the database or of an earlier start: the shortest counts",
			"deleted_before", before.Time(), "retention", r.keep)
	}
	deleted, err := r.store.Retain(ctx, cutoff, now)
	r.failed(ctx, "old tasks could not be deleted", err)
	if deleted > 0 {
		r.log.Info("old tasks deleted", "tasks", deleted, "older_than", r.keep)
	}
}

// markRetained keeps in the store up to when messages are about to be deleted, so that no report takes them for lost. It returns up to when they were deleted before: where
// that is later, by a shorter retention, it stays.
func markRetained(ctx context.Context, to retainedStore, cutoff lifecycle.Micros) (before lifecycle.Micros, err error) {
	text, err := to.Watermark(ctx, lifecycle.WatermarkRetained)
	if before = lifecycle.Retained(text); err != nil || before >= cutoff {
		return before, err
	}
	_, err = to.Append(ctx, lifecycle.Batch{Watermarks: map[string]string{lifecycle.WatermarkRetained: fmt.Sprint(int64(cutoff))}})
	return before, err
}
