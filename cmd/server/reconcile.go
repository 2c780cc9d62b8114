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
	stock := brokersync.StreamSnapshotConfig{JetStream: js, Incarnations: incarnations, Durable: cfg.durables(), Shards: cfg.CaptureShards}
	parts := a.health // The collectors; what is watched later is none.
	a.reports, err = reconcile.New(reconcile.Config{
		Store: store, Health: health.ReporterFunc(parts.Health), Stock: stockOf(stock), Records: records.Records, RecordsKept: a.recordsKept,
		AnswerSources: sourcesOf(contract(cfg), fleet.CaptureAck, fleet.CaptureEvt, fleet.CapturePub), ReportSources: sourcesOf(contract(cfg), fleet.CaptureReport),
		Every: time.Duration(cfg.ReconcileEvery), Retention: time.Duration(cfg.Retention),
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

// sourcesOf are capture streams as gaps name them.
func sourcesOf(c fleet.Contract, streams ...string) []string {
	var names []string
	for _, stream := range streams {
		names = append(names, c.StreamID(stream).String())
	}
	return names
}

// stockOf asks the broker what the streams of tasks hold.
func stockOf(cfg brokersync.StreamSnapshotConfig) func(context.Context) ([]reconcile.Stock, error) {
	return func(ctx context.Context) ([]reconcile.Stock, error) {
		snapshots, err := brokersync.SnapshotStreams(ctx, cfg)
		out := make([]reconcile.Stock, len(snapshots))
		for i, s := range snapshots {
			out[i] = reconcile.Stock{Stream: s.Stream, At: s.At, LastSeq: s.LastSeq, LastAt: s.LastAt, MaxAge: s.MaxAge, Kept: s.Kept, Present: s.Present}
			if !s.Whole() {
				out[i].Why = fmt.Sprintf("It holds too much to be looked at whole: only messages %d to %d were compared.", s.Present.From, s.Present.To)
			}
		}
		return out, err
	}
}
