package api

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fleetglass/lifecycle"
)

func TestCasesShowTheEvidenceOfTheirLayerOnly(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		f.tried("twice", "cto")
		f.published("twice", "cto", 1)
		f.tried("twice", "cto")
		f.caughtByRecord("twice", "cto", 1)
		f.published("ran", "ceo", 2)
		f.delivered("ran", "ceo", 2, 1)
		f.recorded("ran", "ceo")
		f.delivered("ran", "ceo", 2, 2)
		f.pass(20 * time.Second)
		f.recorded("ran", "ceo")
		f.did(lifecycle.Acked, "ran", "ceo", 2, 2)
		f.completed("plain", "ceo", 3)
		f.commit()
		for layer, want := range map[string][2]string{
			"stream":      {"twice", "Published more often"},
			"idempotency": {"twice", "without a sign of work"},
			"execution":   {"ran", "recorded more than once"},
		} {
			list := get[List[CaseTask]](f, "/api/v1/duplicates/cases?layer="+layer)
			if len(list.Data) != 1 || list.Data[0].TaskID != want[0] || len(list.Data[0].Cases) != 1 {
				t.Errorf("%s: %+v, want one case of %s", layer, list.Data, want[0])
				continue
			}
			c := list.Data[0].Cases[0]
			if c.Layer != layer || c.Count != 1 || c.At == 0 || !strings.Contains(c.Why, want[1]) {
				t.Errorf("%s: %+v, want evidence with %q", layer, c, want[1])
			}
		}
		caught := get[List[CaseTask]](f, "/api/v1/duplicates/cases?layer=idempotency&agent=cto&q=twi").Data
		if len(caught) != 1 || caught[0].Cases[0].Seq != 1 || caught[0].Cases[0].Attempt != 2 || caught[0].Cases[0].Stream != "TASKS" {
			t.Errorf("the second delivery of message 1 was caught, got %+v", caught)
		}
		if none := get[List[CaseTask]](f, "/api/v1/duplicates/cases?layer=idempotency&agent=ceo").Data; len(none) != 0 {
			t.Errorf("cases of another agent: %+v", none)
		}
		if both := get[List[CaseTask]](f, "/api/v1/duplicates/cases?layer=idempotency&has=duplicate").Data; len(both) != 1 {
			t.Errorf("caught twice: %+v", both)
		}
		for query, want := range map[string]string{
			"layer=idempotency&layer=execution":                           "ran twice",
			"layer=stream&layer=execution&sort=published":                 "twice ran",
			"layer=stream&layer=idempotency&layer=stream":                 "twice",
			"layer=stream&layer=execution&agent=ceo":                      "ran",
			"layer=execution&anomaly=reached_execution":                   "ran",
			"layer=stream&layer=execution&q=-anomaly:reached_execution":   "twice",
			"layer=stream&layer=execution&anomaly=caught_by_idempotency":  "twice",
			"layer=semantic&layer=conflict&anomaly=caught_by_idempotency": "",
		} {
			if got := strings.Join(caseTasks(f, query), " "); got != want {
				t.Errorf("%s: tasks %q, want %q", query, got, want)
			}
		}
		both := get[List[CaseTask]](f, "/api/v1/duplicates/cases?layer=stream&layer=idempotency").Data
		if len(both) != 1 || len(both[0].Cases) != 2 {
			t.Errorf("cases of both layers: %+v, want the two of the task", both)
		}
		row := lastRow(f)
		one := 1 / float64(3)
		if row.ReachedExecution != 1 || row.NetRate == nil || *row.NetRate != one || row.CaughtByStream != 1 || row.CaughtByIdempotency != 1 {
			t.Errorf("row = %+v", row)
		}
	})
}

func caseTasks(f *fixture, query string) []string {
	var ids []string
	for _, c := range get[List[CaseTask]](f, "/api/v1/duplicates/cases?"+query).Data {
		ids = append(ids, c.TaskID)
	}
	return ids
}

func TestCasesArePagedLikeTasks(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	for i := range uint64(5) {
		id := fmt.Sprint("task-", i)
		f.tried(id, "cto")
		f.published(id, "cto", i+1)
		f.tried(id, "cto")
	}
	f.commit()
	var got []string
	target := "/api/v1/duplicates/cases?layer=stream&limit=2"
	for next := ""; ; {
		list := get[List[CaseTask]](f, target+next)
		for _, c := range list.Data {
			got = append(got, c.TaskID)
		}
		if list.Page.Next == "" {
			break
		}
		next = "&cursor=" + string(list.Page.Next)
	}
	if diff := cmp.Diff([]string{"task-4", "task-3", "task-2", "task-1", "task-0"}, got); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
}

// A row of the past is not over: what completes later, and what turns out to have been a duplicate, corrects it.
func TestLateFactsCorrectTheRowOfTheirTask(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		f.set(time.Date(2026, 4, 30, 23, 0, 0, 0, time.UTC))
		f.published("late", "cto", 1)
		f.commit()
		april := func() DuplicateSums {
			return get[DuplicateTable](f, "/api/v1/duplicates?from=2026-04-01&to=2026-05-01").Data[0].DuplicateSums
		}
		if got := april(); got.Published != 1 || got.Completed != 0 || got.InFlightOrDLQ != 1 {
			t.Errorf("before: %+v", got)
		}
		f.set(time.Date(2026, 5, 9, 0, 0, 0, 0, time.UTC))
		f.died("late", "cto", 1)
		f.commit()
		if got := april(); got.Completed != 0 || got.InFlightOrDLQ != 1 {
			t.Errorf("dead: %+v", got)
		}
		f.published("late", "cto", 2, func(e *lifecycle.Event) { e.Detail.Generation, e.Detail.MsgID = 1, "late:r1" })
		f.did(lifecycle.Acked, "late", "cto", 2, 1)
		f.commit()
		if got := april(); got.Published != 1 || got.Completed != 1 || got.InFlightOrDLQ != 0 {
			t.Errorf("after a retry in May completed: %+v", got)
		}
		if may := lastRow(f); may.Published != 0 || may.Completed != 0 {
			t.Errorf("May counts a task of April: %+v", may)
		}
	})
}
