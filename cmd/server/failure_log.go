package main

import (
	"context"
	"time"

	"fleetglass/dlqtriage/failurelog"
	"fleetglass/lifecycle"
	"fleetglass/query"
)

// copyFailures copies dead letters into Firestore, where that is asked for.
func (a *App) copyFailures(cfg Config, store database, ask *query.Service, now func() time.Time) error {
	if !cfg.FailureLog {
		return nil
	}
	sink, err := failurelog.New(failurelog.Config{
		Project: cfg.FirestoreProject, Database: cfg.FirestoreDatabase, Emulator: cfg.FirestoreEmulator,
		Entries: store, Hours: hoursOf(ask), Now: now, Log: a.log,
	})
	if err != nil {
		return err
	}
	a.watch(sink)
	a.work("failure log", sink.Run)
	return nil
}

// hoursOf counts dead letters by the hour. An hour whose dead letters may have been deleted stays as it was counted before.
func hoursOf(ask *query.Service) failurelog.Hours {
	return func(ctx context.Context, from, to lifecycle.Micros) ([]failurelog.Hour, error) {
		var bounds []lifecycle.Micros
		for at := from.Truncate(time.Hour); at < to.Add(time.Hour); at = at.Add(time.Hour) {
			bounds = append(bounds, at)
		}
		found, err := ask.EntryStatistics(ctx, bounds)
		if err != nil {
			return nil, err
		}
		var out []failurelog.Hour
		for _, r := range found.Rows {
			if !r.Deleted && r.Messages+r.Entries > 0 {
				out = append(out, failurelog.Hour{
					At: r.From, Messages: r.Messages, Entries: r.Entries, AutoResolved: r.AutoResolved, HumanRequired: r.HumanRequired, Median: r.Median,
				})
			}
		}
		return out, nil
	}
}
