package webtest

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"fleetglass/internal/health"
	"fleetglass/lifecycle"
	"fleetglass/store/sqlite"
)

// Store opens an embedded store in dir and puts the batches into it.
func Store(ctx context.Context, dir string, now func() time.Time, batches ...lifecycle.Batch) (*sqlite.Store, error) {
	s, err := sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(dir, "fleet.db"), Now: now})
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	for _, b := range batches {
		for _, part := range parts(b) {
			if _, err := s.Append(ctx, part); err != nil {
				_ = s.Close()
				return nil, fmt.Errorf("fill store: %w", err)
			}
		}
	}
	return s, nil
}

// batchSize is how many events a collector would hand over at once.
const batchSize = 4000

// parts cuts a batch into the sizes that collectors use.
func parts(b lifecycle.Batch) []lifecycle.Batch {
	var out []lifecycle.Batch
	for len(b.Events) > batchSize {
		out = append(out, lifecycle.Batch{Events: b.Events[:batchSize]})
		b.Events = b.Events[batchSize:]
	}
	return append(out, b)
}

// Healthy reports collectors that are up to date.
func Healthy(now func() time.Time) health.Reporter {
	return health.ReporterFunc(func() []health.Part {
		at := now().Add(-time.Second)
		part := func(name, kind string, handled uint64) health.Part {
			return health.Part{Name: name, Kind: kind, State: health.OK, LastAt: at, Handled: handled}
		}
		return []health.Part{part("publishes", "collector", 12_411), part("acks", "collector", 90_411), part("advisories", "collector", 1_204),
			part("broker state", "collector", 88), part("idempotency", "collector", 3_690), part("reports", "collector", 411), part("store", "store", 0), part("nats", "broker", 0)}
	})
}
