package api

import (
	"context"
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

func lastRow(f *fixture) DuplicateRow {
	rows := get[DuplicateTable](f, "/api/v1/duplicates").Data
	return rows[len(rows)-1]
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

func TestTheCostOfADuplicateIsConfigured(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	f.duplicates.Cost = &duplicates.Cost{LowUSD: 1, HighUSD: 2.5}
	f.build(Options{})
	f.tried("twice", "cto")
	f.published("twice", "cto", 1)
	f.tried("twice", "cto")
	f.commit()
	table := get[DuplicateTable](f, "/api/v1/duplicates")
	if want := (Saved{LowUSD: 1, HighUSD: 2.5}); table.Totals.Saved != want || table.Cost != (DuplicateCost{LowUSD: 1, HighUSD: 2.5}) {
		t.Errorf("saved %+v at %+v, want %+v", table.Totals.Saved, table.Cost, want)
	}
}

func TestWhatTheProtectionCostsIsBesideTheSavings(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		live, failing := duplicates.Retention{Known: true, DuplicateWindow: time.Hour}, error(nil)
		f.duplicates.Retention = func(context.Context) (duplicates.Retention, error) { return live, failing }
		f.duplicates.Records, f.duplicates.Prices = duplicates.RecordsFirestore, &duplicates.RecordPrices{ReadsUSD: 100, WritesUSD: 1000}
		f.build(Options{})
		f.published("open", "cto", 1)
		f.completed("done", "cto", 2)
		f.published("caught", "cto", 3)
		f.caughtByRecord("caught", "cto", 3)
		f.commit()
		table := get[DuplicateTable](f, "/api/v1/duplicates")
		if c := table.Totals.Costs; *c.Reads != 3 || *c.Writes != 1 || *c.USD != 0.013 {
			t.Errorf("2 completed, 1 caught, 1 record seen: %d reads, %d writes, $%v", *c.Reads, *c.Writes, *c.USD)
		}
		if d := table.Protection.Dedupe; *d.IDs != 3 || *d.Bytes != 3*duplicates.DedupeBytesPerID || *d.WindowMS != 3_600_000 || !strings.Contains(d.Formula, "3 messages") {
			t.Errorf("3 messages within the window: %+v", d)
		}
		if l := table.Protection.Latency; l.MS != nil || l.P50MS != nil || l.P95MS != nil || l.Sample != 0 || !strings.Contains(l.Why, "Not known") || table.Protection.Field != (FieldFigures{4.2, 3, 8}) {
			t.Errorf("latency %+v, field %+v", l, table.Protection.Field)
		}
		f.pass(2 * time.Hour)
		if d := get[DuplicateTable](f, "/api/v1/duplicates").Protection.Dedupe; *d.IDs != 0 {
			t.Errorf("after the window: %+v", d)
		}
		failing = fmt.Errorf("no broker")
		if d := get[DuplicateTable](f, "/api/v1/duplicates").Protection.Dedupe; d.Bytes != nil || d.IDs != nil || d.WindowMS != nil || d.Formula == "" {
			t.Errorf("the broker is away: %+v", d)
		}
		f.duplicates.Records = duplicates.RecordsKV
		f.build(Options{})
		if c := get[DuplicateTable](f, "/api/v1/duplicates").Totals.Costs; c.Reads != nil || c.USD != nil {
			t.Errorf("a bucket that nobody could look for: %+v", c)
		}
		failing = nil
		if c := get[DuplicateTable](f, "/api/v1/duplicates").Totals.Costs; *c.Reads != 3 || *c.USD != 0 {
			t.Errorf("a bucket costs nothing: %+v", c)
		}
	})
}

func TestWhatDeliveriesWaitedForRecordsIsMeasured(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		for i := range uint64(20) {
			id, wait := fmt.Sprint("task-", i), 3*time.Millisecond
			if i == 19 {
				wait = 2 * time.Second // Beyond the 95th percentile of twenty.
			}
			f.published(id, "cto", i+1)
			f.tell(lifecycle.Event{
				Kind: lifecycle.ReportCompleted, Provenance: lifecycle.Reported, TaskID: id, Agent: "cto", Attempt: 1,
				Detail: lifecycle.Detail{Naming: lifecycle.Naming{MsgID: id}, OutcomeReport: lifecycle.OutcomeReport{RecordsWait: wait}},
			})
		}
		f.commit()
		for _, bucket := range []string{"month", "day", "hour"} {
			l := get[DuplicateTable](f, "/api/v1/duplicates?bucket="+bucket).Protection.Latency
			if l.Sample != 20 || l.P50MS == nil || l.P95MS == nil || *l.P50MS < 3 || *l.P50MS > 3*1.19 || *l.P95MS != *l.P50MS || *l.MS != *l.P50MS {
				t.Errorf("%s: nineteen of twenty waited 3 ms: %+v", bucket, l)
			}
			if !strings.Contains(l.Why, "own clocks") {
				t.Errorf("%s: %s", bucket, l.Why)
			}
		}
		f.pass(48 * time.Hour)
		if l := get[DuplicateTable](f, "/api/v1/duplicates?bucket=hour").Protection.Latency; l.Sample != 0 || l.P50MS != nil {
			t.Errorf("two days later: %+v", l)
		}
	})
}

func TestTheRetentionOfRecordsIsChecked(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	f.worker("cto")
	f.commit()
	if got := get[DuplicateTable](f, "/api/v1/duplicates").Retention; got.Verdict != "unknown" || got.Advice == "" || len(got.Windows) != 0 {
		t.Errorf("nobody reads the configuration: %+v", got)
	}
	live, failing := duplicates.Retention{Known: true, Records: 72 * time.Hour, MaxAge: 7 * 24 * time.Hour, DuplicateWindow: time.Hour}, error(nil)
	f.duplicates.Retention = func(context.Context) (duplicates.Retention, error) { return live, failing }
	f.build(Options{})
	got := get[DuplicateTable](f, "/api/v1/duplicates").Retention
	names := []string{}
	for _, w := range got.Windows {
		names = append(names, fmt.Sprint(w.Name, " ", *w.LengthMS, " ", w.Covered))
	}
	want := []string{"redelivery 450000 true", "late_arrival 604800000 false", "republish 3600000 true"}
	if diff := cmp.Diff(want, names); diff != "" || got.Verdict != "short" || *got.RecordsMS != 72*3600*1000 {
		t.Errorf("retention %+v (-want +got):\n%s", got, diff)
	}
	live.Records = 7 * 24 * time.Hour
	if got := get[DuplicateTable](f, "/api/v1/duplicates").Retention; got.Verdict != "enough" || got.Advice != "" {
		t.Errorf("records as long as messages: %+v", got)
	}
	failing = fmt.Errorf("no broker")
	if got := get[DuplicateTable](f, "/api/v1/duplicates").Retention; got.Verdict != "unknown" {
		t.Errorf("the broker is away: %+v", got)
	}
	f.conforms(reflect.TypeFor[DuplicateTable](), f.do("GET", "/api/v1/duplicates", "").body)
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
