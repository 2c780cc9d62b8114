package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

// earlier is what an earlier program answered just before it was stopped. What it left behind is packed beside it.
type earlier struct {
	Program     string              // Its release or commit.
	Tasks       map[string]keptTask // By task id.
	DeadLetters []string            // Ids of entries.
	Audit       []string            // Ids of records.
	Ledger      map[string]string   // Sums of one year, as JSON.
}

// keptTask is what an upgrade must not change.
type keptTask struct {
	State      string         `json:"state"`
	Rule       string         `json:"rule"`
	Attempts   int            `json:"attempts"`
	Duplicates keptDuplicates `json:"duplicates"`
}

// keptDuplicates are the counts of a task's ledger.
type keptDuplicates struct {
	CaughtByStream      int `json:"caught_by_stream"`
	CaughtByIdempotency int `json:"caught_by_idempotency"`
	ReachedExecution    int `json:"reached_execution"`
	Unknown             int `json:"unknown"`
	KeyConflicts        int `json:"key_conflicts"`
	Semantic            int `json:"semantic"`
}

// movesWithTime says which open states become which others while nothing but time passes. Every other state must stay: the test's fleet is away,
// the monitor and auto-triage are off, retries that were decided are not sent (read-only), and TASKS of the stored directory keeps messages for ever.
var movesWithTime = map[string][]string{
	"delivered":   {"failed", "exhausted"}, // The lease ran out; exhausted where it was the last attempt.
	"processing":  {"failed", "exhausted"},
	"redelivered": {"failed", "exhausted"},
	"failed":      {"exhausted"}, // The last attempt's lease ran out since.
}

// judgedOtherwise names the verdicts of the stored servers that today's rules change, as they should. Every other one stays.
var judgedOtherwise = map[string]struct{ was, is string }{
	"kept-recorded-as-removed": {"completed", "outcome_unknown"}, // A record within two seconds of a removal proves nothing since f8771ec.
}

// An upgrade from what an earlier program left behind keeps every verdict, loses nothing and doubles nothing; then the program goes on.
func TestAnUpgradeFromAnEarlierProgramKeepsEveryVerdict(t *testing.T) {
	t.Parallel()
	for _, store := range earlierStores {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			var before earlier
			text, err := os.ReadFile(earlierAnswers(store))
			if err == nil {
				err = json.Unmarshal(text, &before)
			}
			if err != nil {
				t.Fatal(err)
			}
			before.upgrade(t, startEarlierAgain(t, store))
		})
	}
}

// startEarlierAgain starts this program on what an earlier one left behind, and waits until it has judged all tasks by its own rules.
func startEarlierAgain(t *testing.T, store string) *running {
	t.Helper()
	args := append([]string{"--read-only"}, quietly...)
	database := ""
	if store == "postgres" {
		database = testkit.Postgres(t)
		args = append(args, "--database-url", database)
	}
	cfg := settings(t, args...)
	unpackDirectory(t, earlierDirectory(store), cfg.DataDir)
	if database != "" {
		testkit.RestorePostgres(t, database, filepath.Join(cfg.DataDir, databaseDump))
	}
	log := &output{}
	r := startWith(t, cfg, slog.New(slog.NewTextHandler(log, nil)))
	r.judgedAnew(log)
	return r
}

// upgrade compares what a server says now, and wants the waiting tasks of its broker to be there to be done, and new ones to be taken.
func (before earlier) upgrade(t *testing.T, r *running) {
	t.Helper()
	before.compare(t, asked(t, r.get))
	archivist := connectArchivist(t, r.AgentsURL())
	archivist.publish("after-the-upgrade")
	work, err := archivist.consumer.Consume(func(m jetstream.Msg) { _ = m.Ack() }) // Also what became due again since.
	archivist.do(err)
	defer work.Stop()
	for _, id := range []string{"kept-published", "after-the-upgrade"} {
		archivist.until(r.get, id, "completed")
	}
}

// judgedAnew waits until the program is ready and has judged all tasks by its own rules.
func (r *running) judgedAnew(log *output) {
	r.t.Helper()
	testkit.Eventually(r.t, patience, func() error {
		if err := r.get("/readyz", &struct{}{}); err != nil {
			return err
		}
		if want := fmt.Sprintf(`all tasks are judged by the new rules" version=%d`, lifecycle.FoldVersion); !strings.Contains(log.String(), want) {
			return errLog(log.String())
		}
		return nil
	})
}

// compare finds what changed and may not.
func (before earlier) compare(t *testing.T, now earlier) {
	t.Helper()
	for id := range now.Tasks {
		if _, ok := before.Tasks[id]; !ok {
			t.Errorf("task %s was not known before", id)
		}
	}
	for id, was := range before.Tasks {
		is, ok := now.Tasks[id]
		if moved := slices.Contains(movesWithTime[was.State], is.State); moved {
			was.State, was.Rule = is.State, is.Rule
		}
		if other, named := judgedOtherwise[id]; named {
			if was.State != other.was || is.State != other.is {
				t.Errorf("task %s was %s and is %s, want %s and %s", id, was.State, is.State, other.was, other.is)
			}
			was.State, was.Rule = is.State, is.Rule
		}
		if !ok || is != was {
			t.Errorf("task %s was %+v, is %+v", id, was, is)
		}
	}
	if !slices.Equal(before.Audit, now.Audit) {
		t.Errorf("audit records were %d, are %d: %v, %v", len(before.Audit), len(now.Audit), before.Audit, now.Audit)
	}
	before.compareEntries(t, now)
	want := before.ledgerNow(t)
	if want["published"] == "0" || !maps.Equal(want, now.Ledger) {
		t.Errorf("the ledger is %v, want %v", now.Ledger, want)
	}
}

// ledgerNow are the sums of the ledger as they must be now: they count the verdicts of today's rules.
func (before earlier) ledgerNow(t *testing.T) map[string]string {
	t.Helper()
	completed, err := strconv.Atoi(before.Ledger["completed"])
	if err != nil {
		t.Fatal(err)
	}
	for _, verdict := range judgedOtherwise {
		if verdict.was == "completed" {
			completed--
		}
		if verdict.is == "completed" {
			completed++
		}
	}
	out := maps.Clone(before.Ledger)
	out["completed"] = strconv.Itoa(completed)
	return out
}

// compareEntries wants every dead letter once, and new ones only of tasks whose attempts time has used up.
func (before earlier) compareEntries(t *testing.T, now earlier) {
	t.Helper()
	dead := map[string]int{}
	for _, id := range now.DeadLetters {
		dead[id]++
	}
	for _, id := range before.DeadLetters {
		dead[id]--
	}
	exhausted := 0
	for id, is := range now.Tasks {
		if is.State == "exhausted" && before.Tasks[id].State != "exhausted" {
			exhausted++
		}
	}
	for id, n := range dead {
		if n != 0 {
			exhausted -= n
			t.Logf("dead letter %s: %+d", id, n)
		}
		if n < 0 || n > 1 {
			t.Errorf("dead letter %s is there %+d times", id, n)
		}
	}
	if exhausted != 0 {
		t.Errorf("dead letters were %d, are %d: %d differ from the tasks that ran out of attempts", len(before.DeadLetters), len(now.DeadLetters), exhausted)
	}
}

// asked asks a server for everything that an upgrade must keep.
func asked(t *testing.T, get func(string, any) error) (out earlier) {
	t.Helper()
	out = earlier{Tasks: map[string]keptTask{}, Ledger: map[string]string{}}
	for _, id := range everyID(t, get, "/api/v1/tasks", "task_id") {
		var task keptTask
		if err := get("/api/v1/tasks/"+url.PathEscape(id), &task); err != nil {
			t.Fatal(err)
		}
		out.Tasks[id] = task
	}
	out.DeadLetters = everyID(t, get, "/api/v1/dlq", "id")
	out.Audit = everyID(t, get, "/api/v1/audit", "id")
	var table struct {
		Totals map[string]json.RawMessage `json:"totals"`
	}
	if err := get("/api/v1/duplicates?bucket=month&from=2026-01-01&to=2027-01-01", &table); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"published", "completed", "caught_by_stream", "caught_by_idempotency", "reached_execution", "unknown"} {
		out.Ledger[name] = string(table.Totals[name])
	}
	return out
}

// everyID reads a list to its end; an id that comes twice fails the test.
func everyID(t *testing.T, get func(string, any) error, path, field string) []string {
	t.Helper()
	ids := map[string]bool{}
	for cursor := ""; ; {
		var page struct {
			Data []map[string]any `json:"data"`
			Page struct {
				Next string `json:"next"`
			} `json:"page"`
		}
		if err := get(path+"?limit=200"+cursor, &page); err != nil {
			t.Fatal(err)
		}
		for _, row := range page.Data {
			id := row[field].(string)
			if ids[id] {
				t.Errorf("%s lists %s twice", path, id)
			}
			ids[id] = true
		}
		if page.Page.Next == "" {
			return slices.Sorted(maps.Keys(ids))
		}
		cursor = "&cursor=" + url.QueryEscape(page.Page.Next)
	}
}
