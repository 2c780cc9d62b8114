package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fleetglass/lifecycle"
	"fleetglass/reconcile"
)

// recorded is the record of a task, which ends at the given time.
func recordOf(task string, at, expires lifecycle.Micros) lifecycle.Event {
	return lifecycle.Event{
		ID: lifecycle.NewEventID("recorded", task), At: at, Kind: lifecycle.CompletionRecorded, Provenance: lifecycle.Recorded, TaskID: task, Agent: "cto",
		Source: "bucket", Detail: lifecycle.Detail{OutcomeReport: lifecycle.OutcomeReport{ExpiresAt: expires}},
	}
}

// withRecords is a store of six tasks with records, the second of which has two messages, and the runner's configuration for it.
func withRecords(t *testing.T) (reconcile.Config, *[]string) {
	t.Helper()
	s := stocked(t, newSQLite(t), 6)
	now := lifecycle.MicrosOf(time.Now())
	begin := now.Add(-time.Hour)
	again := published(7, begin.Add(time.Minute))
	again.TaskID, again.Detail.Generation = "task 2", 1
	events := []lifecycle.Event{again, recordOf("alone", begin, now.Add(time.Hour))}
	for seq := 1; seq <= 4; seq++ {
		events = append(events, recordOf(fmt.Sprintf("task %d", seq), begin.Add(time.Second), now.Add(time.Hour)))
	}
	events = append(events, recordOf("task 5", begin.Add(time.Second), now.Add(-time.Minute)), recordOf("task 6", begin.Add(time.Second), 0))
	if _, err := s.Append(t.Context(), lifecycle.Batch{Events: events}); err != nil {
		t.Fatal(err)
	}
	var asked []string
	cfg := quiet(s)
	cfg.Records = func(_ context.Context, refs []lifecycle.RecordRef) ([]lifecycle.RecordAnswer, error) {
		var out []lifecycle.RecordAnswer
		for _, r := range refs {
			asked = append(asked, r.TaskID)
			answer := lifecycle.RecordThere
			if r.TaskID == "task 2" || r.TaskID == "alone" {
				answer = lifecycle.RecordGone
			}
			out = append(out, answer)
		}
		return out, nil
	}
	return cfg, &asked
}

func missing(r reconcile.Report) (tasks []string) {
	for _, d := range r.List(reconcile.RecordMissing).Rows {
		tasks = append(tasks, d.TaskID)
	}
	return tasks
}

func TestEachRecordThatMustExistIsLookedForOnce(t *testing.T) {
	t.Parallel()
	cfg, asked := withRecords(t)
	report := reconciled(t, cfg)
	slices.Sort(*asked)
	if want := []string{"alone", "task 1", "task 2", "task 3", "task 4"}; !slices.Equal(*asked, want) {
		t.Errorf("looked for %v, want %v: one has expired, of one it is not known how long it is kept", *asked, want)
	}
	if got, want := missing(report), []string{"alone", "task 2"}; !slices.Equal(got, want) {
		t.Errorf("missing: %v, want %v", got, want)
	}
	if r := report.Records; !r.Checked || r.Asked != 5 || !strings.Contains(r.Why, "Of 1 records") {
		t.Errorf("records %+v, want five checked and one of which the end is not known", r)
	}
}

func TestHowLongTheBucketKeepsRecordsCountsToo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kept time.Duration
		want int64
	}{{0, 6}, {30 * time.Minute, 0}, {72 * time.Hour, 6}} {
		cfg, _ := withRecords(t)
		cfg.RecordsKept = func(context.Context) (time.Duration, bool) { return c.kept, true }
		if r := reconciled(t, cfg).Records; r.Asked != c.want || r.Why != "" {
			t.Errorf("kept for %s: %+v, want %d looked for", c.kept, r, c.want)
		}
	}
}

func TestRecordsThatWereNotLookedForAreSaid(t *testing.T) {
	t.Parallel()
	cfg, asked := withRecords(t)
	cfg.RecordLimit = 2
	if r := reconciled(t, cfg).Records; r.Asked != 2 || len(*asked) != 2 || !strings.Contains(r.Why, "Only the first 2") {
		t.Errorf("beyond the limit: %+v after looking for %v; want two", r, *asked)
	}
	cfg, _ = withRecords(t)
	cfg.Records = func(context.Context, []lifecycle.RecordRef) ([]lifecycle.RecordAnswer, error) {
		return nil, errors.New("no answer")
	}
	report := reconciled(t, cfg)
	if r := report.Records; r.Checked || !strings.Contains(r.Why, "no answer") || len(missing(report)) != 0 {
		t.Errorf("without an answer: %+v and missing %v; want not checked, why, and none missing", r, missing(report))
	}
	cfg, _ = withRecords(t)
	cfg.Records = func(_ context.Context, refs []lifecycle.RecordRef) ([]lifecycle.RecordAnswer, error) {
		return make([]lifecycle.RecordAnswer, len(refs)), nil
	}
	if r := reconciled(t, cfg).Records; r.Asked != 0 || !strings.Contains(r.Why, "5 records came from a source") {
		t.Errorf("records of a source that is not configured now: %+v", r)
	}
}
