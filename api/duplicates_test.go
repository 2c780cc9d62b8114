package api

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fleetglass/duplicates"
	"fleetglass/lifecycle"
)

func TestTheDescriptionNamesEveryStoreOfRecords(t *testing.T) {
	t.Parallel()
	var names []string
	for _, s := range duplicates.RecordStores() {
		names = append(names, string(s))
	}
	field, _ := reflect.TypeFor[Protection]().FieldByName("Records")
	if got, want := field.Tag.Get("enum"), strings.Join(names, ","); got != want {
		t.Errorf("enum of records in the description of the API: %q, want %q", got, want)
	}
}

// season is a month of a real fleet, as it was published.
type season struct {
	month                time.Time
	published, completed int
	stream, idempotency  int
}

func seasons() []season {
	at := func(y int, m time.Month) time.Time { return time.Date(y, m, 1, 0, 0, 0, 0, time.UTC) }
	return []season{
		{month: at(2025, 10), published: 2847, completed: 2841, stream: 3, idempotency: 7},
		{month: at(2025, 11), published: 2923, completed: 2918, stream: 2, idempotency: 11},
		{month: at(2025, 12), published: 2654, completed: 2649, stream: 4, idempotency: 8},
		{month: at(2026, 1), published: 1834, completed: 1831, stream: 1, idempotency: 5},
	}
}

// live tells what a month's tasks do: from the first hour to the last, some publish twice, some lose an acknowledgement after they
// recorded completion, some are never completed, and what is published in the last hour completes in the month that follows.
func (s season) live(f *fixture, seq *uint64) {
	step := s.month.AddDate(0, 1, 0).Sub(s.month) / time.Duration(s.published)
	var late []func()
	for i := range s.published {
		*seq++
		id, agent, n := fmt.Sprintf("%s-%d", s.month.Format("Jan06"), i), fmt.Sprint("agent-", i%7), *seq
		f.set(s.month.Add(time.Duration(i) * step))
		f.tried(id, agent)
		f.published(id, agent, n)
		if i < s.stream {
			f.tried(id, agent)
		}
		switch {
		case i < s.idempotency:
			f.caughtByRecord(id, agent, n)
		case i < s.idempotency+s.published-s.completed:
			f.unfinished(id, agent, n, i)
		case i > s.published-5:
			late = append(late, func() { f.did(lifecycle.Acked, id, agent, n, 1) })
		default:
			f.did(lifecycle.Acked, id, agent, n, 1)
		}
		if len(f.batch.Events) > 4000 {
			f.commit()
		}
	}
	f.set(s.month.AddDate(0, 1, 0).Add(time.Hour))
	for _, complete := range late {
		complete()
	}
	f.commit()
}

func (w *teller) set(t time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = lifecycle.MicrosOf(t)
}

// tried tells of a publish.
func (w *teller) tried(task, agent string) {
	w.tell(lifecycle.Event{Kind: lifecycle.PublishAttempted, TaskID: task, Agent: agent, Detail: lifecycle.Detail{Naming: lifecycle.Naming{MsgID: task, Type: "content_creation"}}})
}

// recorded tells of an idempotency record.
func (w *teller) recorded(task, agent string) {
	w.tell(lifecycle.Event{
		Kind: lifecycle.CompletionRecorded, Provenance: lifecycle.Recorded, TaskID: task, Agent: agent,
		Detail: lifecycle.Detail{Naming: lifecycle.Naming{IdempotencyKey: task + "-1"}},
	})
}

// caughtByRecord tells of a worker that died between record and acknowledgement: the second attempt is acknowledged at once.
func (w *teller) caughtByRecord(task, agent string, seq uint64) {
	w.delivered(task, agent, seq, 1)
	w.recorded(task, agent)
	w.pass(30 * time.Second)
	w.delivered(task, agent, seq, 2)
	w.did(lifecycle.Acked, task, agent, seq, 2)
}

// unfinished tells of a task that waits, is in hand, or is in the dead-letter queue.
func (w *teller) unfinished(task, agent string, seq uint64, i int) {
	switch i % 3 {
	case 1:
		w.delivered(task, agent, seq, 1)
	case 2:
		w.died(task, agent, seq)
	}
}

// TestTheFiguresOfARealFleet is the history that SPEC 4 measures itself by: it goes in as events and comes out as the same table.
func TestTheFiguresOfARealFleet(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		var seq uint64
		want := []DuplicateRow{}
		for _, s := range seasons() {
			s.live(f, &seq)
			want = append(want, DuplicateRow{Bucket: Instant(lifecycle.MicrosOf(s.month)), Observed: "all", DuplicateSums: s.sums()})
		}
		table := get[DuplicateTable](f, "/api/v1/duplicates?from=2025-10-01&to=2026-02-01")
		if diff := cmp.Diff(want, table.Data); diff != "" {
			t.Errorf("months (-want +got):\n%s", diff)
		}
		total := season{published: 10258, completed: 10239, stream: 10, idempotency: 31}
		if diff := cmp.Diff(total.sums(), table.Totals); diff != "" {
			t.Errorf("totals (-want +got):\n%s", diff)
		}
		for _, bucket := range []string{"day", "hour"} {
			for _, s := range seasons() {
				span := fmt.Sprintf("&from=%s&to=%s", s.month.Format(time.DateOnly), s.month.AddDate(0, 1, 0).Format(time.DateOnly))
				days := get[DuplicateTable](f, "/api/v1/duplicates?bucket="+bucket+span)
				if diff := cmp.Diff(s.sums(), days.Totals); diff != "" {
					t.Errorf("%s by %s (-want +got):\n%s", s.month.Format("January"), bucket, diff)
				}
				checkBalance(t, days)
			}
		}
		for layer, n := range map[string]int{"stream": 10, "idempotency": 31, "execution": 0, "unknown": 0, "conflict": 0, "semantic": 0} {
			if got := len(get[List[CaseTask]](f, "/api/v1/duplicates/cases?limit=200&layer="+layer).Data); got != n {
				t.Errorf("%d tasks with cases of %s, want %d", got, layer, n)
			}
		}
	})
}

// sums are the numbers of the row, with savings at the usual cost.
func (s season) sums() DuplicateSums {
	caught := s.stream + s.idempotency
	return DuplicateSums{
		Published: int64(s.published), Completed: int64(s.completed), InFlightOrDLQ: int64(s.published - s.completed),
		CaughtByStream: int64(s.stream), CaughtByIdempotency: int64(s.idempotency), NetRate: new(float64),
		Saved: Saved{LowUSD: float64(caught*30) / 100, HighUSD: float64(caught*350) / 100, Minutes: float64(caught * 14)},
	}
}

func TestAMonthBeforeAnythingWasSeenIsNotAMonthOfNothing(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		f.set(time.Date(2026, 3, 10, 12, 30, 0, 0, time.UTC))
		f.completed("done", "cto", 1)
		f.commit()
		f.set(time.Date(2026, 5, 20, 12, 30, 0, 0, time.UTC))
		gap := lifecycle.Gap{Source: "acks", From: lifecycle.MicrosOf(time.Date(2026, 5, 3, 0, 0, 0, 0, time.UTC)), To: lifecycle.MicrosOf(time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC)), Reason: "test"}
		f.batch.Gaps = append(f.batch.Gaps, gap)
		f.commit()
		want := map[string]string{"2026-01": "none", "2026-02": "none", "2026-03": "all", "2026-04": "all", "2026-05": "part"}
		duplicates, dead := get[DuplicateTable](f, "/api/v1/duplicates?from=2026-01-01"), get[EntryStatistics](f, "/api/v1/dlq/stats?from=2026-01-01")
		month := func(at Instant) string { return lifecycle.Micros(at).Time().Format("2006-01") }
		got, gotDead := map[string]string{}, map[string]string{}
		for i, r := range duplicates.Data {
			got[month(r.Bucket)] = r.Observed
			if unknown := r.Observed == "none"; unknown != (r.NetRate == nil) {
				t.Errorf("%s, of which %s was observed: net rate %v", month(r.Bucket), r.Observed, r.NetRate)
			}
			gotDead[month(dead.Data[i].Bucket)] = dead.Data[i].Observed
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("duplicates (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, gotDead); diff != "" || dead.Totals.Observed != "part" {
			t.Errorf("dead letters, %s in all (-want +got):\n%s", dead.Totals.Observed, diff)
		}
	})
}

func checkBalance(t *testing.T, table DuplicateTable) {
	t.Helper()
	var sum int64
	for i, r := range table.Data {
		if r.Published != r.Completed+r.InFlightOrDLQ || r.Completed < 0 || r.InFlightOrDLQ < 0 {
			t.Errorf("row %d does not balance: %+v", i, r)
		}
		sum += r.Published
	}
	if sum != table.Totals.Published || sum == 0 {
		t.Errorf("rows add up to %d, totals say %d", sum, table.Totals.Published)
	}
}

func TestDuplicatesWithoutParametersAreTheLastTwelveMonths(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		f.set(time.Date(2026, 3, 31, 23, 30, 0, 0, time.UTC))
		f.completed("done", "cto", 1)
		f.commit()
		for query, want := range map[string][3]string{
			"":                           {"12", "2025-04-01T00", "2026-03-01T00"},
			"?bucket=day":                {"31", "2026-03-01T00", "2026-03-31T00"},
			"?bucket=hour":               {"24", "2026-03-31T00", "2026-03-31T23"},
			"?bucket=hour&from=2h":       {"3", "2026-03-31T21", "2026-03-31T23"},
			"?from=2026-02-27T10:00:00Z": {"2", "2026-02-01T00", "2026-03-01T00"},
			"?to=2026-01-01":             {"12", "2025-01-01T00", "2025-12-01T00"},
			"?bucket=day&from=2026-02-28&to=2026-03-01T00:00:1Z": {},
			"?bucket=day&from=2026-02-28&to=2026-03-01T00:00Z":   {},
			"?bucket=day&from=2026-02-28&to=2026-03-01T00:00":    {"1", "2026-02-28T00", "2026-02-28T00"},
		} {
			if want[0] == "" {
				f.refused(f.do("GET", "/api/v1/duplicates"+query, ""), http.StatusBadRequest, "invalid_parameter")
				continue
			}
			rows := get[DuplicateTable](f, "/api/v1/duplicates"+query).Data
			hour := func(r DuplicateRow) string { return lifecycle.Micros(r.Bucket).Time().Format("2006-01-02T15") }
			if got := [3]string{fmt.Sprint(len(rows)), hour(rows[0]), hour(rows[len(rows)-1])}; got != want {
				t.Errorf("%q: %v, want %v", query, got, want)
			}
		}
	})
}

func TestDuplicatesRefuseWhatTheyCannotAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	for target, code := range map[string]string{
		"/duplicates?bucket=week":                        "invalid_parameter",
		"/duplicates?from=soon":                          "invalid_parameter",
		"/duplicates?from=2026-02-01&to=2026-01-01":      "invalid_parameter",
		"/duplicates?bucket=hour&from=90d":               "invalid_parameter",
		"/duplicates?from=0002-01-01":                    "invalid_parameter",
		"/duplicates?layer=stream":                       "unknown_parameter",
		"/duplicates/cases":                              "invalid_parameter",
		"/duplicates/cases?layer=all":                    "invalid_parameter",
		"/duplicates/cases?layer=":                       "invalid_parameter",
		"/tasks?layer=all":                               "invalid_parameter",
		"/duplicates/cases?layer=stream&layer=all":       "invalid_parameter",
		"/duplicates/cases?layer=execution&bucket=month": "unknown_parameter",
		"/duplicates/cases?layer=execution&limit=0":      "invalid_parameter",
		"/duplicates/cases?layer=execution&cursor=x":     "invalid_cursor",
	} {
		f.refused(f.do("GET", Base+target, ""), http.StatusBadRequest, code)
	}
}

func lastRow(f *fixture) DuplicateRow {
	rows := get[DuplicateTable](f, "/api/v1/duplicates").Data
	return rows[len(rows)-1]
}

func TestDuplicatesAreTagged(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	f.completed("done", "cto", 1)
	f.commit()
	first := f.do("GET", "/api/v1/duplicates", "")
	tag := first.header.Get("ETag")
	f.pass(time.Second)
	if again := f.do("GET", "/api/v1/duplicates", "", "If-None-Match", tag); again.status != http.StatusNotModified {
		t.Errorf("nothing happened: %d", again.status)
	}
	f.published("more", "cto", 2)
	f.commit()
	if again := f.do("GET", "/api/v1/duplicates", "", "If-None-Match", tag); again.status != http.StatusOK {
		t.Errorf("a task came: %d", again.status)
	}
}

func TestTheCasesSaySinceWhenTheirTasksAreKept(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		tellRetry(f)
		f.commit()
		const path = "/api/v1/duplicates/cases?layer=stream"
		if before := get[CaseTasks](f, path); len(before.Data) != 1 || before.KeptSince != 0 {
			t.Errorf("nothing was deleted: %d cases, kept since %v", len(before.Data), before.KeptSince)
		}
		cutoff := f.now.Add(time.Hour)
		if _, err := f.store.Append(t.Context(), lifecycle.Batch{Watermarks: map[string]string{lifecycle.WatermarkRetained: fmt.Sprint(int64(cutoff))}}); err != nil {
			t.Fatal(err)
		}
		if _, err := f.store.Retain(t.Context(), cutoff, cutoff); err != nil {
			t.Fatal(err)
		}
		if after := get[CaseTasks](f, path); len(after.Data) != 0 || after.KeptSince != Instant(cutoff) {
			t.Errorf("all was deleted: %d cases, kept since %v, want %v", len(after.Data), after.KeptSince, cutoff)
		}
	})
}
