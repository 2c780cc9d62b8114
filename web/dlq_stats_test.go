package web_test

import (
	"strconv"
	"strings"
	"testing"

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
	if href := s.get(t, "/dlq", 200).Find("#statistics header a").AttrOr("href", ""); !strings.HasPrefix(href, "/dlq/stats") {
		t.Errorf("the list leads to %q", href)
	}
}
