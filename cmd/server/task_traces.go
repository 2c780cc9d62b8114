package main

import (
	"context"
	"fmt"
	"time"

	"fleetglass/internal/tasktraces"
	"fleetglass/internal/telemetry"
	"fleetglass/lifecycle"
	"fleetglass/query"
)

// tellsOfTasks prepares what sends each task that has ended as a trace, where the settings say so.
func (a *App) tellsOfTasks(ctx context.Context, cfg Config, queue lifecycle.TraceQueue, ask *query.Service, metrics *telemetry.Registry, now func() time.Time) error {
	if !cfg.TaskTraces {
		return nil
	}
	about, err := cfg.source().Resource(ctx, "fleetglass-tasks")
	if err != nil {
		return fmt.Errorf("describe the source of traces: %w", err)
	}
	exporter, err := telemetry.NewSpanExporter(ctx, cfg.OTLP)
	if err != nil {
		return fmt.Errorf("prepare traces of tasks: %w", err)
	}
	teller, err := tasktraces.New(tasktraces.Config{
		Queue: queue, Exporter: exporter, Resource: about, Dropped: telemetry.DroppedTasks(metrics), Now: now, Log: a.log,
		Trace: func(ctx context.Context, id string) (lifecycle.Trace, error) {
			task, err := ask.Trace(ctx, id)
			return task.Trace, err
		},
	})
	if err != nil {
		return err
	}
	a.onStop("task traces", func() error { return exporter.Shutdown(context.Background()) })
	a.watch(teller)
	a.work("task traces", teller.Run)
	return nil
}
