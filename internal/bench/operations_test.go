//go:build linux

package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
	"fleetglass/store/sqlite"
)

// dryRunRuler is what is asked of a dry run over 100,000 entries, in milliseconds.
var dryRunRuler = &Ruler{Floor: 1000, Goal: 1000, Lower: true}

// measureOperations asks how long a dry run over many dead letters takes, in SQLite.
func measureOperations(b *bench) {
	entries := 100_000
	if b.form.name == "smoke" {
		entries = 2_000
	}
	store, err := sqlite.Open(b.Context(), sqlite.Config{Path: filepath.Join(b.TempDir(), "store.db")})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // It is thrown away.
	if err := manyDead(b.Context(), store, entries); err != nil {
		b.Fatal(err)
	}
	actions, err := dlqtriage.NewActions(dlqtriage.ActionsConfig{Entries: store, Tasks: store, Decisions: store, Policy: dlqtriage.DefaultPolicy, Contract: contract})
	if err != nil {
		b.Fatal(err)
	}
	operations, err := dlqtriage.NewOperations(dlqtriage.OperationsConfig{Actions: actions, Store: store})
	if err != nil {
		b.Fatal(err)
	}
	var took []float64
	for i := range max(3, b.form.runs) {
		began := time.Now()
		o, err := operations.Start(b.Context(), dlqtriage.BulkRequest{
			Action: dlqtriage.ActionRetry, Reason: "measured", Key: fmt.Sprint(i), DryRun: true, Actor: decision.Actor{Name: "bench", Via: decision.ViaAuto},
			Selector: dlqtriage.Selector{Filter: &dlqtriage.EntryFilter{Agents: []string{"devops"}}},
		})
		if err != nil || o.Counts.Selected != int64(entries) {
			b.Fatalf("dry run: %+v, %v", o.Counts, err)
		}
		took = append(took, float64(time.Since(began).Microseconds())/1000)
	}
	b.add(Distribution("operations/dry-run", fmt.Sprintf("dry run of a retry of %d dead letters selected by a filter, median", entries), "ms", took, 0.5, dryRunRuler))
}

// manyDead stores tasks that their worker gave up.
func manyDead(ctx context.Context, store lifecycle.Appender, n int) error {
	const atOnce = 2000
	begin := lifecycle.MicrosOf(time.Now().Add(-time.Hour))
	var batch lifecycle.Batch
	for i := range n {
		task := fmt.Sprintf("deployment-%06d", i)
		key := lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: uint64(i + 1)}
		at := begin + lifecycle.Micros(i)
		published := lifecycle.Event{
			ID: lifecycle.NewEventID("bench", task, "p"), At: at, Kind: lifecycle.Published, Provenance: lifecycle.Observed, Source: "bench", TaskID: task, Message: key, Agent: "devops",
		}
		published.Detail.MsgID, published.Detail.Subject, published.Detail.Type = task, contract.TaskSubject("devops", "deployment"), "deployment"
		gone := lifecycle.Event{
			ID: lifecycle.NewEventID("bench", task, "t"), At: at + 1, Kind: lifecycle.Terminated, Provenance: lifecycle.Observed, Source: "bench", Message: key,
			Consumer: "devops-task-worker", ConsumerSeq: uint64(i + 1), Attempt: 1,
		}
		gone.Detail.Reason = "503 overloaded"
		batch.Events = append(batch.Events, published, gone)
		if len(batch.Events) >= atOnce || i == n-1 {
			if _, err := store.Append(ctx, batch); err != nil {
				return err
			}
			batch = lifecycle.Batch{}
		}
	}
	return nil
}
