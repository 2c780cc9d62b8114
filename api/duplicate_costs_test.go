package api

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fleetglass/duplicates"
	"fleetglass/lifecycle"
)

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
