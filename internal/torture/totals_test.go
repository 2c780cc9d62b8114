//go:build linux

package torture

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"

	"github.com/google/go-cmp/cmp"
)

// counts compares what the API counts with what it lists: by state, in all and per agent. Every task must be listed once. After losses it
// may be listed under the name that is made up for a message of which no line names the task; only when its publish attempt has been called
// not stored; and not at all where no line says that there is a message, or was to be one.
func counts(t *testing.T, c client, truth map[string]*told, after *aftermath) {
	t.Helper()
	var rows []seenRow
	testkit.Eventually(t, patience, func() (err error) {
		if rows, err = list[seenRow](t.Context(), c, "/api/v1/tasks"); err == nil {
			err = listedOnce(rows, truth, after)
		}
		return err
	})
	listed := map[string]map[string]int64{"": {}}
	for _, row := range rows {
		for _, agent := range slices.Compact([]string{"", row.Agent}) { // A message of which no line names the task has no agent.
			if listed[agent] == nil {
				listed[agent] = map[string]int64{}
			}
			listed[agent][row.State]++
		}
	}
	for agent, want := range listed {
		var got struct{ Counts map[string]int64 }
		path := "/api/v1/tasks/counts"
		if agent != "" {
			path += "?agent=" + agent
		}
		if err := c.get(t.Context(), path, &got); err != nil {
			t.Fatal(err)
		}
		maps.DeleteFunc(got.Counts, func(_ string, n int64) bool { return n == 0 })
		if diff := cmp.Diff(want, got.Counts); diff != "" {
			t.Errorf("counts of %q (-list +counts):\n%s", agent, diff)
		}
	}
	var quarantine page[struct{}]
	if err := c.get(t.Context(), "/api/v1/quarantine", &quarantine); err != nil {
		t.Fatal(err)
	}
	var refused int64
	if after != nil {
		refused = int64(len(after.wires.refused))
	}
	if quarantine.Total != refused {
		t.Errorf("%d lines are quarantined, want %d", quarantine.Total, refused)
	}
}

// listedOnce errors unless the rows are the fleet's tasks.
func listedOnce(rows []seenRow, truth map[string]*told, after *aftermath) error {
	var wrong []error
	madeUp := map[string]string{}
	for id, told := range truth {
		madeUp[fmt.Sprintf("TASKS:%d", told.Seq)] = id
	}
	listed, found := map[string]bool{}, map[string]bool{}
	for _, row := range rows {
		id := row.TaskID
		made := after != nil && madeUp[id] != ""
		if listed[id] || (truth[id] == nil && !made) {
			wrong = append(wrong, fmt.Errorf("%s is listed, and is not a task of the fleet that is listed once", id))
		}
		listed[id] = true
		if made {
			id = madeUp[id]
		}
		found[id] = true
	}
	for id, told := range truth {
		if !found[id] && (after == nil || after.tells(told)) {
			wrong = append(wrong, fmt.Errorf("%s is not listed", id))
		}
	}
	return errors.Join(wrong...)
}

// held lists the tasks that the board says some worker holds. When everything is quiet nobody holds anything.
func held(t *testing.T, c client) []string {
	t.Helper()
	rows, err := list[seenRow](t.Context(), c, "/api/v1/in-flight")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, row := range rows {
		ids = append(ids, row.TaskID+" ("+row.State+")")
	}
	return ids
}

// content is what a store answers, but for events.
type content struct {
	Rollups map[string]int64
	Tasks   map[string]lifecycle.TaskRecord
}

func contentOf(ctx context.Context, store lifecycle.Reader, truth map[string]*told) (content, error) {
	out := content{Rollups: map[string]int64{}, Tasks: map[string]lifecycle.TaskRecord{}}
	tally, err := store.Rollups(ctx, lifecycle.Metrics(), 0, lifecycle.MicrosOf(time.Now().Add(time.Hour)), true)
	if err != nil {
		return out, err
	}
	for cell, n := range tally {
		if n != 0 {
			out.Rollups[fmt.Sprintf("%s %d %s %s", cell.Metric, cell.Bucket, cell.Agent, cell.Label)] = n
		}
	}
	for id := range truth {
		switch out.Tasks[id], err = store.Task(ctx, id); {
		case errors.Is(err, lifecycle.ErrNotFound): // Whether it had to be known was asked before.
		case err != nil:
			return out, fmt.Errorf("task %s: %w", id, err)
		}
	}
	return out, nil
}

// rebuild judges everything anew from the stored events and compares: nothing may change. Fleetglass must have been stopped.
func rebuild(t *testing.T, g *glass, open func(*testing.T) lifecycle.Store, truth map[string]*told) {
	t.Helper()
	read := func() content {
		store := open(t)
		c, err := contentOf(t.Context(), store, truth)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	before := read()
	g.run("rebuild")
	if diff := cmp.Diff(before, read()); diff != "" {
		t.Errorf("a rebuild changes answers (-before +after):\n%.4000s", diff)
	}
}

// recount compares the rollups with the journal of the fleet.
func recount(t *testing.T, store lifecycle.Reader, truth map[string]*told) {
	t.Helper()
	tally, err := store.Rollups(t.Context(), lifecycle.Metrics(), 0, lifecycle.MicrosOf(time.Now().Add(time.Hour)), false)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for cell, n := range tally {
		switch cell.Metric {
		case lifecycle.MetricFailedAttempts, lifecycle.MetricDied, lifecycle.MetricState:
			got[string(cell.Metric)+" "+cell.Label] += n
		case lifecycle.MetricDuplicates, lifecycle.MetricDuplicatesMonth:
			if cell.Label == string(lifecycle.LayerStream) {
				got[string(cell.Metric)+" stream"] += n
			}
		case lifecycle.MetricRunning, lifecycle.MetricRunningDay, lifecycle.MetricRunningMin, lifecycle.MetricRecordWait, lifecycle.MetricRecordWaitMonth:
		case lifecycle.MetricRecorded, lifecycle.MetricRecordedMonth: // The journal does not tell when a record was stored twice.
		case lifecycle.MetricGiven: // Nor who published a task.
		case lifecycle.MetricRenewalsFailed, lifecycle.MetricKeysReused, lifecycle.MetricNoReceipt, lifecycle.MetricSentAgain, lifecycle.MetricMissed:
		default:
			got[string(cell.Metric)] += n
		}
	}
	for id := range truth {
		task, err := store.Task(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range task.Facts.Publishes { // Caught, but for all that Fleetglass can tell refused.
			got["duplicates stream"] += int64(p.Unclear())
			got["duplicates_mo stream"] += int64(p.Unclear())
		}
	}
	maps.DeleteFunc(got, func(_ string, n int64) bool { return n == 0 })
	if diff := cmp.Diff(rollupsOf(truth), got); diff != "" {
		t.Errorf("rollups (-the fleet +Fleetglass):\n%s", diff)
	}
}

// rollupsOf is what the rollups must add up to.
func rollupsOf(truth map[string]*told) map[string]int64 {
	want := map[string]int64{}
	for _, t := range truth {
		state, _ := stateOf(t)
		want["state "+string(state)]++
		want["published"]++
		want["published_m"]++
		want["given_m"]++
		want["tasks"]++
		want["tasks_mo"]++
		want["duplicates stream"] += int64(t.Duplicates)
		want["duplicates_mo stream"] += int64(t.Duplicates)
		want["reported"] += int64(t.Reports["completed"] + t.Reports["failed"] + t.Reports["duplicate_caught"])
		cost := int64(0)
		for _, c := range t.Costs {
			cost += c
		}
		if cost > 0 {
			want["cost"] += cost
			want["costed"]++
		}
		switch state {
		case lifecycle.StateCompleted:
			want["completed"]++
			want["completed_m"]++
			want["done_m"]++
		case lifecycle.StateExhausted, lifecycle.StateTerminated:
			want["died "+string(state)]++
			want["died_m"]++
		default:
			want["queue"]++
			want["queue_mo"]++
			want["queue_m"]++
		}
		for n := range t.Attempts {
			switch end := endOf(t, n); end {
			case lifecycle.EndNacked, lifecycle.EndTerminated, lifecycle.EndTimedOut:
				want["failed_attempts "+string(end)]++
				want["failed_m"]++
			}
		}
	}
	maps.DeleteFunc(want, func(_ string, n int64) bool { return n == 0 })
	return want
}
