package main

import (
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors/idempotency"
	"fleetglass/duplicates"
	"fleetglass/lifecycle"
	"fleetglass/query"
)

// recordSource is a place where agents may keep idempotency records.
type recordSource struct {
	store  duplicates.RecordStore // What pages and API call it.
	source idempotency.Source
}

type recordSources []recordSource

// newRecordSources is the table of all places; docs/contributing.md says what a new line needs. The first that is configured is where the
// fleet keeps its records, as far as costs go: every broker has the bucket, so it comes last.
func newRecordSources(cfg Config, js jetstream.JetStream) recordSources {
	return recordSources{
		{duplicates.RecordsFirestore, idempotency.NewFirestoreSource(idempotency.FirestoreConfig{
			Project: cfg.FirestoreProject, Database: cfg.FirestoreDatabase, Emulator: cfg.FirestoreEmulator, Keep: time.Duration(cfg.Retention),
		})},
		{duplicates.RecordsKV, idempotency.NewKVSource(js)},
	}
}

// store is where the fleet keeps its records.
func (all recordSources) store() duplicates.RecordStore {
	for _, s := range all {
		if s.source.Configured() {
			return s.store
		}
	}
	return duplicates.RecordsUnknown
}

// sources are the places without their names.
func (all recordSources) sources() idempotency.Sources {
	out := make(idempotency.Sources, len(all))
	for i, s := range all {
		out[i] = s.source
	}
	return out
}

// looksForRecords prepares what looks for records that went and left no line.
func (a *App) looksForRecords(ask *query.Service, appender lifecycle.Appender, now func() time.Time) error {
	missing, err := idempotency.NewMissing(idempotency.MissingConfig{
		Relied: ask.ReliedRecords, Sources: a.sources.sources(), Kept: a.recordsKept, Appender: appender, Now: now, Logger: a.log,
	})
	if err != nil {
		return err
	}
	a.work("records", missing.Run)
	return nil
}
