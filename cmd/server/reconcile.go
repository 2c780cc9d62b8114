package main

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors"
	"fleetglass/collectors/brokersync"
	"fleetglass/fleet"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
	"fleetglass/reconcile"
)

// reconciles prepares the reports that compare what was published with what became of it.
func (a *App) reconciles(cfg Config, js jetstream.JetStream, store database, appender lifecycle.Appender, now func() time.Time) error {
	incarnations, err := collectors.NewIncarnationResolver(collectors.IncarnationResolverConfig{
		JetStream: js, Appender: appender, Watermarks: store, Contract: contract(cfg),
	})
	if err != nil {
		return fmt.Errorf("prepare reconciliation: %w", err)
	}
	records := a.sources.sources()
	a.onStop("records", records.Close)
	stock := brokersync.StreamSnapshotConfig{JetStream: js, Incarnations: incarnations}
	parts := a.health // The collectors; what is watched later is none.
	a.reports, err = reconcile.New(reconcile.Config{
		Store: store, Health: health.ReporterFunc(parts.Health), Stock: stockOf(stock), Records: records.Records, RecordsKept: a.recordsKept,
		AnswerSources: answerSources(contract(cfg)), Every: time.Duration(cfg.ReconcileEvery), Retention: time.Duration(cfg.Retention),
		Grace: orNone(time.Duration(cfg.ReconcileGrace)), Alone: cfg.DatabaseURL == "", Logger: a.log, Now: now,
	})
	if err != nil {
		return fmt.Errorf("prepare reconciliation: %w", err)
	}
	a.work("reconcile", a.reports.Run)
	return nil
}

// recordsKept says how long records are kept that state no end themselves, zero for ever, and whether that could be read.
func (a *App) recordsKept(ctx context.Context) (kept time.Duration, known bool) {
	live, err := a.records(ctx)
	return live.Records, err == nil && live.Known
}

// orNone is how a span of zero is said to be meant.
func orNone(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

// answerSources are the capture streams that bring answers, as gaps name them.
func answerSources(c fleet.Contract) []string {
	var names []string
	for _, stream := range []string{fleet.CaptureAck, fleet.CaptureEvt, fleet.CapturePub} {
		names = append(names, c.StreamID(stream).String())
	}
	return names
}

// stockOf asks the broker what the stream of tasks holds.
func stockOf(cfg brokersync.StreamSnapshotConfig) func(context.Context) (reconcile.Stock, error) {
	return func(ctx context.Context) (reconcile.Stock, error) {
		s, err := brokersync.SnapshotStream(ctx, cfg)
		if err != nil {
			return reconcile.Stock{}, err
		}
		out := reconcile.Stock{Stream: s.Stream, At: s.At, LastSeq: s.LastSeq, LastAt: s.LastAt, MaxAge: s.MaxAge, Present: s.Present}
		if !s.Whole() {
			out.Why = fmt.Sprintf("It holds too much to be looked at whole: only messages %d to %d were compared.", s.Present.From, s.Present.To)
		}
		return out, nil
	}
}

// markRetained keeps in the store up to when messages are about to be deleted, so that no report takes them for lost.
func markRetained(ctx context.Context, to lifecycle.Appender, cutoff lifecycle.Micros) error {
	_, err := to.Append(ctx, lifecycle.Batch{Watermarks: map[string]string{reconcile.WatermarkRetained: fmt.Sprint(int64(cutoff))}})
	return err
}
