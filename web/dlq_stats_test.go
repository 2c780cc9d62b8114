package web_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"fleetglass/lifecycle"
	"fleetglass/web/webtest"
)

func TestTheStatisticsOfDeadLettersLeadToTheMessages(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	page := s.get(t, "/dlq/stats", 200)
	wants{"h1": "DLQ statistics", "#statistics tbody th": "November 2026", "#by-category tbody th": "", "#by-path tbody th": "", "#by-agent tbody th": "", "#by-type tbody th": "", "#deaths-chart svg rect": "",
		".btn-group [aria-current]": "Months", ".nav a[aria-current]": "DLQ"}.check(t, page)
	total := 0
	rows := page.Find("#by-detail tbody tr")
	for i := range rows.Length() {
		row := rows.Eq(i)
		n, err := strconv.Atoi(text(row.Find("td").First()))
		if err != nil {
			t.Fatal(err)
		}
		total += n
		href := row.Find("a.title").AttrOr("href", "")
		if got := s.get(t, href, 200).Find("#rows tr").Length(); got != n {
			t.Errorf("%s: the statistics say %d, its list has %d", href, n, got)
		}
	}
	if died := text(page.Find("#statistics tbody tr:last-child td:nth-child(3)")); died != strconv.Itoa(total) {
		t.Errorf("details sum up to %d, the total is %s", total, died)
	}
	wants{".btn-group [aria-current]": "Hours", "#statistics thead th": "Hour"}.check(t, s.get(t, "/dlq/stats?bucket=hour", 200))
	if href := s.get(t, "/dlq?status=all", 200).Find("#statistics header a").AttrOr("href", ""); !strings.HasPrefix(href, "/dlq/stats") {
		t.Errorf("the list leads to %q", href)
	}
}

func TestTheStatisticsDenyNoDeadLetterThatRetentionDeleted(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	cutoff := lifecycle.MicrosOf(noon.Add(24 * time.Hour))
	if _, err := s.store.Append(t.Context(), lifecycle.Batch{Watermarks: map[string]string{lifecycle.WatermarkRetained: strconv.FormatInt(int64(cutoff), 10)}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.store.Retain(t.Context(), cutoff, cutoff); err != nil {
		t.Fatal(err)
	}
	page := s.get(t, "/dlq/stats?bucket=hour", 200)
	rows := page.Find("#statistics tbody tr")
	for i := range rows.Length() - 1 {
		if died, rate := text(rows.Eq(i).Find("td").Eq(1)), text(rows.Eq(i).Find("td").Eq(2)); died == "0" || rate != "–" {
			t.Errorf("%s: %s died, rate %s; want that it is not kept", text(rows.Eq(i).Find("th")), died, rate)
		}
	}
	if rows.Length() < 2 {
		t.Error("no hour is shown")
	}
}

// The story began in November. Of the months before nothing is known.
func TestChartsOfMonthsHatchWhatWasNotObserved(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	for path, chart := range map[string]string{"/dlq/stats": "#deaths-chart", "/duplicates": "#duplicates-chart"} {
		rows := s.get(t, path, 200).Find(chart + " tbody tr")
		if n := rows.Length(); n != 12 {
			t.Fatalf("%s: %d rows behind the chart", path, n)
		}
		if got := text(rows.First()); !strings.Contains(got, "not observed") {
			t.Errorf("%s: a month before anything was seen reads %q", path, got)
		}
		if got := text(rows.Last()); strings.Contains(got, "not observed") {
			t.Errorf("%s: this month reads %q", path, got)
		}
	}
}

func TestNoDeathIsDeniedOfTimeThatNobodyObserved(t *testing.T) {
	t.Parallel()
	story := webtest.NewStory(noon)
	story.Deliver(story.Publish("tsk-fine", "cto", "review", "Fine", -30*time.Hour, ""), 1, -29*time.Hour)
	s := newSite(t, story.Batch)
	wants{".say": "No message is known to have died in the last 12 months, UTC.", ".empty p:not(.say)": "Part of that time was not observed."}.check(t, s.get(t, "/dlq/stats", 200))
	wants{".say": "No message died in the last 24 hours."}.check(t, s.get(t, "/dlq/stats?bucket=hour", 200))
	wants{".say": "Nothing was observed in the last 24 hours."}.check(t, newSite(t, lifecycle.Batch{}).get(t, "/dlq/stats?bucket=hour", 200))
}
