package web_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"fleetglass/duplicates"
	"fleetglass/lifecycle"
	"fleetglass/web/webtest"
)

func TestThePageOfDuplicatesSaysWhenRecordsGoTooEarly(t *testing.T) {
	t.Parallel()
	records := 72 * time.Hour
	s := newSite(t, webtest.Rich(noon).Batch, func(c *setup) {
		c.Duplicates.Cost = &duplicates.Cost{LowUSD: 1, HighUSD: 2, Minutes: 3}
		c.Duplicates.Retention = func(context.Context) (duplicates.Retention, error) {
			return duplicates.Retention{Known: true, Records: records, MaxAge: 7 * 24 * time.Hour}, nil
		}
	})
	wants{
		"#protection dl > div:nth-child(4) .v": "3 d", "#protection dl > div:nth-child(4) .state.warn": "needs 7 d", "#windows li:first-child": "Consumer ", "#windows": "Retry by hand, without a limit",
		".banner.warn": "keep records at least that long", "main": "$1.00 to $2.00 and 3 minutes", "#ledger thead th:nth-child(8)": "In flight or DLQ",
	}.check(t, s.get(t, "/duplicates", 200))
	wants{"#protection .v": "not known", "#protection dl > div:nth-child(2) .v": "0 B"}.check(t, s.get(t, "/duplicates", 200))
	records = 7 * 24 * time.Hour
	wants{"#protection dl > div:nth-child(4) .state.ok": "needs 7 d"}.check(t, s.get(t, "/duplicates", 200))
	if text := s.get(t, "/duplicates", 200).Find("main").Text(); strings.Contains(text, "Records go") {
		t.Error("records that live as long as messages are said to go too early")
	}
}

func TestThePageOfDuplicatesSaysWhatTheProtectionCosts(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, func(c *setup) {
		c.Duplicates.Records, c.Duplicates.Prices = duplicates.RecordsFirestore, &duplicates.RecordPrices{ReadsUSD: 100, WritesUSD: 100}
		c.Duplicates.Retention = func(context.Context) (duplicates.Retention, error) {
			return duplicates.Retention{Known: true, DuplicateWindow: time.Hour}, nil
		}
	})
	wants{
		"#ledger .sum td:last-child": "$1.2", "#ledger thead th:last-child": "Cost", "#protection .v": "$1.2", "#protection dl > div:first-child": "At $100 for 100,000 reads",
		"#protection dl > div:nth-child(2)": "messages stored within the duplicate window of 1 h", "#protection dl > div:nth-child(3)": "no report of this span says",
		"#protection dl > div:nth-child(4) .v": "for ever", "#protection dl > div:nth-child(4)": "needs no end", "#protection dl > div:nth-child(5)": "$4.20 a month", "#protection details": "A lower bound where every agent",
	}.check(t, s.get(t, "/duplicates", 200))
}

func TestThePageOfDuplicatesSaysWhatDeliveriesWaitedForRecords(t *testing.T) {
	t.Parallel()
	story := webtest.NewStory(noon)
	for i := range 20 {
		m := story.Publish(fmt.Sprint("task-", i), "cto", "code_review", "Review", -time.Hour, "")
		story.Record(m, -50*time.Minute)
		story.Report(lifecycle.ReportCompleted, m, 1, -50*time.Minute, lifecycle.Detail{OutcomeReport: lifecycle.OutcomeReport{RecordsWait: time.Duration(1+i/10*60) * 700 * time.Microsecond}})
	}
	s := newSite(t, story.Batch, func(c *setup) {
		c.Duplicates.Records, c.Duplicates.Prices = duplicates.RecordsFirestore, &duplicates.RecordPrices{WritesUSD: 100}
	})
	wants{
		"#protection dl > div:nth-child(3) .v": "≈ 0.72 ms", "#protection dl > div:nth-child(3)": "Median of 20 deliveries. The p95 is ≈ 46 ms.",
		"#protection dl > div:nth-child(4) .v": "not known", "#windows": "=0", "#protection dl > div:nth-child(1)": "20 writes seen and ", "#protection .v": "$0.02",
	}.check(t, s.get(t, "/duplicates", 200))
}

// The counts of the table outlive the tasks behind them, whether some are left or none.
func TestTheLedgerSaysThatItsTasksWereDeleted(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	before := text(s.get(t, "/duplicates?layer=stream", 200).Find("#cases"))
	if strings.Contains(before, "deleted") {
		t.Errorf("nothing was deleted, and it says: %s", before)
	}
	cutoff := lifecycle.MicrosOf(noon.Add(24 * time.Hour))
	if _, err := s.store.Append(t.Context(), lifecycle.Batch{Watermarks: map[string]string{lifecycle.WatermarkRetained: strconv.FormatInt(int64(cutoff), 10)}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.store.Retain(t.Context(), cutoff, cutoff); err != nil {
		t.Fatal(err)
	}
	page := s.get(t, "/duplicates?layer=stream", 200)
	if n := page.Find("#ledger tbody tr").Length(); n == 0 {
		t.Error("the table is gone with the tasks")
	}
	if got := text(page.Find("#cases")); !strings.Contains(got, "may have been deleted") {
		t.Errorf("the cases say nothing of what is not kept: %s", got)
	}
}
