package postgres_test

import (
	"testing"
	"time"

	"fleetglass/duplicates"
	"fleetglass/lifecycle"
	"fleetglass/store/postgres"
)

// yearOfTraffic stores a year and a month of tasks, one for each agent and hour, and returns the beginning of the month that follows.
func yearOfTraffic(b testing.TB, s *postgres.Store) time.Time {
	b.Helper()
	end := time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC)
	source := newTraffic("TASKS")
	const hours, lines = 396 * 24, 26
	batch := make([]lifecycle.Event, 0, 4096)
	for h := range hours {
		source.at = lifecycle.MicrosOf(end.Add(time.Duration(h-hours) * time.Hour))
		batch = append(batch, source.batch(lines)...)
		if len(batch) > 4000 || h == hours-1 {
			if _, err := s.Append(b.Context(), lifecycle.Batch{Events: batch}); err != nil {
				b.Fatal(err)
			}
			batch = batch[:0]
		}
	}
	return end
}

// BenchmarkDuplicates reads what the table of duplicates is made of, from a year of a quarter of a million events.
func BenchmarkDuplicates(b *testing.B) {
	s := openBench(b)
	end := yearOfTraffic(b, s)
	for _, span := range []struct {
		name string
		from time.Time
		row  duplicates.Period
	}{
		{"month", end.AddDate(0, -1, 0), duplicates.PeriodMonth},
		{"year of months", end.AddDate(-1, 0, 0), duplicates.PeriodMonth},
		{"month of days", end.AddDate(0, -1, 0), duplicates.PeriodDay},
	} {
		bounds := []lifecycle.Micros{}
		for at := span.from; !at.After(end); at = span.row.Shift(at, 1) {
			bounds = append(bounds, lifecycle.MicrosOf(at))
		}
		b.Run(span.name, func(b *testing.B) {
			for b.Loop() {
				cells, err := s.Rollups(b.Context(), duplicates.Metrics(bounds), bounds[0], bounds[len(bounds)-1], false)
				if err != nil {
					b.Fatal(err)
				}
				if row := duplicates.Sum(duplicates.Rows(cells, bounds)); row.Published == 0 {
					b.Fatal("nothing was published")
				}
			}
			b.ReportMetric(float64(len(bounds)-1), "rows")
		})
	}
	b.Run("ping", func(b *testing.B) {
		for b.Loop() {
			if err := s.Ping(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
