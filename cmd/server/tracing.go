package main

import (
	"context"
	"fmt"
	"time"

	"fleetglass/decision"
	"fleetglass/internal/telemetry"
	"fleetglass/lifecycle"
)

// openTraces prepares the spans of this process. They are sent until everything else has stopped.
func (a *App) openTraces(ctx context.Context, cfg Config, metrics *telemetry.Registry) (err error) {
	telemetry.TellUnsent(metrics, a.log)
	if a.traces, err = telemetry.NewTraces(ctx, cfg.OTLP, cfg.source()); err != nil {
		return fmt.Errorf("prepare traces: %w", err)
	}
	a.onStop("traces", a.traces.Close)
	return nil
}

// sendMetrics sends what /metrics shows, until the store stops.
func (a *App) sendMetrics(ctx context.Context, cfg Config, metrics *telemetry.Registry) error {
	stop, err := telemetry.SendMetrics(ctx, cfg.OTLP, cfg.source(), metrics)
	if err != nil {
		return fmt.Errorf("prepare metrics: %w", err)
	}
	a.onStop("metrics", stop)
	return nil
}

// source is what receivers of traces and metrics call this process.
func (c Config) source() telemetry.Source {
	return telemetry.Source{Version: version, Environment: c.Environment}
}

// tracedStore is a store whose effects have spans.
type tracedStore struct {
	database
	effects *telemetry.Effects
}

func (a *App) tracedEffects(store database, now func() time.Time) database {
	if !a.traces.Sent() {
		return store
	}
	return tracedStore{store, telemetry.NewEffects(a.traces.Tracer(), store, now)}
}

// Claim implements [decision.Outbox].
func (s tracedStore) Claim(ctx context.Context, r decision.ClaimRequest) ([]decision.Claimed, error) {
	return s.effects.Claim(ctx, r)
}

// Settle implements [decision.Outbox].
func (s tracedStore) Settle(ctx context.Context, d decision.Settlement) (decision.Made, error) {
	return s.effects.Settle(ctx, d)
}

// Return implements [decision.Outbox].
func (s tracedStore) Return(ctx context.Context, r decision.Return) error {
	return s.effects.Return(ctx, r)
}

func (a *App) tracedBatches(next lifecycle.Appender) lifecycle.Appender {
	if !a.traces.Sent() {
		return next
	}
	return telemetry.NewBatches(a.traces.Tracer(), next)
}
