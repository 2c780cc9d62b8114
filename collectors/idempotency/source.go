package idempotency

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fleetglass/collectors"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

// Source is one place where agents keep idempotency records (SPEC 1). All that the program does with the records of a place goes through
// these methods: a new place is one implementation, and one line in the table of cmd/server/record_sources.go.
type Source interface {
	// Configured reports whether there is a place to look at. Nothing is asked.
	Configured() bool
	// Collector returns what turns records into events. It reports its health also where nothing is configured.
	Collector(shared collectors.Config) (Collector, error)
	// Holds reports whether a record was read here, by what the event of the record names as its source.
	Holds(r lifecycle.RecordRef) bool
	// Present tells which of the records that it holds exist now, in the order of refs. It errors when the place does not answer: then
	// nothing is known.
	Present(ctx context.Context, refs []lifecycle.RecordRef) ([]lifecycle.RecordAnswer, error)
	// StaysFor is how long an answer holds that a record is there: a place that tells of deletions, or where each question costs, need not be asked often.
	StaysFor() time.Duration
	// Close ends the connections that Present made. It is idempotent.
	Close() error
}

// Collector reads records and says how it is.
type Collector interface {
	health.Reporter
	Run(ctx context.Context) error
}

// Sources are the places where records may be.
type Sources []Source

// Records answers for each of the records that were seen. Those of places that are not configured now are not asked for. It errors when a
// place does not answer: then nothing is known.
func (all Sources) Records(ctx context.Context, refs []lifecycle.RecordRef) ([]lifecycle.RecordAnswer, error) {
	out := make([]lifecycle.RecordAnswer, len(refs))
	for _, s := range all {
		if !s.Configured() {
			continue
		}
		var held []lifecycle.RecordRef
		var which []int
		for i, r := range refs {
			if s.Holds(r) {
				held, which = append(held, r), append(which, i)
			}
		}
		if len(held) == 0 {
			continue
		}
		answers, err := s.Present(ctx, held)
		if err != nil {
			return nil, fmt.Errorf("look for %d records: %w", len(held), err)
		}
		for n, i := range which {
			out[i] = answers[n]
		}
	}
	return out, nil
}

// holds is how long an answer holds that a record is there.
func (all Sources) holds(r lifecycle.RecordRef) time.Duration {
	for _, s := range all {
		if s.Holds(r) {
			return s.StaysFor()
		}
	}
	return 0
}

// Close closes every place.
func (all Sources) Close() error {
	var err error
	for _, s := range all {
		err = errors.Join(err, s.Close())
	}
	return err
}
