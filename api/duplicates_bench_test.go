package api

import (
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"fleetglass/duplicates"
	"fleetglass/lifecycle"
	store "fleetglass/store/sqlite"
)

// BenchmarkDuplicates measures whole requests against the rollups of 14 months and 10 million events: seven agents with work in every
// hour. The cells are written as the store would have them, without the events behind them, which no answer reads.
func BenchmarkDuplicates(b *testing.B) {
	file := filepath.Join(b.TempDir(), "lifecycle.db")
	f := newFixture(b, func(t testing.TB, now func() time.Time) lifecycle.Store {
		s, err := store.Open(t.Context(), store.Config{Path: file, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
	now := time.Date(2026, 3, 31, 23, 30, 0, 0, time.UTC)
	f.set(now)
	cells := seedRollups(b, file, now)
	for _, span := range []struct{ name, query string }{
		{"12 months", "?bucket=month&to=2026-04-01"},
		{"1 month", "?bucket=month&from=2026-03-01&to=2026-04-01"},
		{"31 days", "?bucket=day&from=2026-03-01&to=2026-04-01"},
		{"1 day", "?bucket=day&from=2026-03-31&to=2026-04-01"},
		{"24 hours", "?bucket=hour&from=2026-03-31&to=2026-04-01"},
		{"12 months of days", "?bucket=day&from=2025-04-01&to=2026-04-01"},
	} {
		b.Run(span.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w := httptest.NewRecorder()
				f.engine.ServeHTTP(w, httptest.NewRequestWithContext(b.Context(), "GET", Base+"/duplicates"+span.query, nil))
				if w.Code != 200 {
					b.Fatalf("%d %s", w.Code, w.Body)
				}
			}
			b.ReportMetric(float64(cells), "cells")
		})
	}
}

// seedRollups writes what 2.4 million tasks of about four events each leave in the counters.
func seedRollups(b *testing.B, file string, now time.Time) (cells int) {
	b.Helper()
	const tasksAnHour = 34 // Of each of seven agents.
	tally := lifecycle.Tally{}
	for at := duplicates.PeriodMonth.Shift(now, -13); at.Before(now); at = at.Add(time.Hour) {
		hour, month := lifecycle.MicrosOf(at), lifecycle.MicrosOf(duplicates.PeriodMonth.Start(at))
		for i := range 7 {
			agent := fmt.Sprint("agent-", i)
			add := func(hourly, monthly lifecycle.Metric, label string, n int64) {
				tally[lifecycle.Cell{Metric: hourly, Bucket: hour, Agent: agent, Label: label}] += n
				tally[lifecycle.Cell{Metric: monthly, Bucket: month, Agent: agent, Label: label}] += n
			}
			add(lifecycle.MetricTasks, lifecycle.MetricTasksMonth, "completed", tasksAnHour-1)
			add(lifecycle.MetricTasks, lifecycle.MetricTasksMonth, "dead_lettered", 1)
			for _, l := range lifecycle.Layers() {
				add(lifecycle.MetricDuplicates, lifecycle.MetricDuplicatesMonth, string(l), 1)
			}
			add(lifecycle.MetricRecorded, lifecycle.MetricRecordedMonth, "", tasksAnHour-1)
		}
		for i := range 40 { // Waits of 1 to 1000 ms.
			label := fmt.Sprintf("%03d", 40+i)
			tally[lifecycle.Cell{Metric: lifecycle.MetricRecordWait, Bucket: hour, Label: label}] += 7 * tasksAnHour / 40
			tally[lifecycle.Cell{Metric: lifecycle.MetricRecordWaitMonth, Bucket: month, Label: label}] += 7 * tasksAnHour / 40
		}
	}
	writeRollups(b, file, tally)
	return len(tally)
}

func writeRollups(b *testing.B, file string, tally lifecycle.Tally) {
	b.Helper()
	conn, err := sqlite.OpenConn(file, sqlite.OpenReadWrite)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	end := sqlitex.Transaction(conn)
	for c, n := range tally {
		err = sqlitex.Execute(conn, `INSERT INTO rollups (metric, bucket, agent, label, n) VALUES (?, ?, ?, ?, ?)`,
			&sqlitex.ExecOptions{Args: []any{string(c.Metric), int64(c.Bucket), c.Agent, c.Label, n}})
		if err != nil {
			b.Fatal(err)
		}
	}
	if end(&err); err != nil {
		b.Fatal(err)
	}
}
