package web_test

import (
	"slices"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/chromedp/chromedp"

	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/web/webtest"
)

// bare names the columns of tables that have a heading and nothing in any row.
const bare = `[...document.querySelectorAll("main table:not(.cards.resolved)")].filter((t) => t.checkVisibility()).flatMap((t) => [...t.querySelectorAll("thead th")]
  .filter((h) => h.checkVisibility() && ![...t.querySelectorAll("tbody tr")].some((r) => r.cells[h.cellIndex]?.textContent.trim())).map((h) => h.textContent)).join()`

func TestNoOperationHasAnEmptyColumn(t *testing.T) {
	t.Parallel()
	s, work := newOperating(t)
	work()
	const dry = "/operations/new?select=all&filter=category%3Dtransient%26status%3Dopen&action="
	b := openTab(t, testkit.Browser(t), s)
	b.do(t, "resize", chromedp.EmulateViewport(1440, 900))
	done := s.run(t, dry+"discard", map[string]string{"reason": "an outage that is over", "rate": ""})
	s.ended(t, done)
	for _, path := range []string{"/operations/new?select=all&filter=status%3Dopen&action=retry", "/operations/new?select=all&filter=status%3Dopen&action=defer", done} {
		b.open(t, path)
		b.until(t, `!!document.querySelector("#rows a.title")`)
		if found := eval[string](t, b, bare); found != "" {
			t.Errorf("%s: empty columns: %s", path, found)
		}
	}
}

func TestStatisticsOfDeadLettersFillBothColumns(t *testing.T) {
	t.Parallel()
	s, _ := newOperating(t)
	b := openTab(t, testkit.Browser(t), s)
	b.do(t, "resize", chromedp.EmulateViewport(1440, 900))
	b.open(t, "/dlq/stats")
	const uneven = `(() => { const all = [...document.querySelectorAll("main section[id^=by-]")], ends = {};
	  for (const p of all) { const r = p.getBoundingClientRect(); ends[r.left] = Math.max(ends[r.left] ?? 0, r.bottom); }
	  const [a, b, ...more] = Object.values(ends); return b === undefined || more.length > 0 || Math.abs(a - b) > Math.max(...all.map((p) => p.offsetHeight)) / 2; })()`
	if eval[bool](t, b, uneven) {
		t.Error("one column of the statistics is much longer than the other")
	}
}

// wideTables names the tables that scroll sideways, with how much of each is out of sight. Those of text that is not broken, such as a log, are none.
const wideTables = `[...document.querySelectorAll("main .table-wrap")].filter((w) => w.checkVisibility() && w.scrollWidth > w.clientWidth)
  .map((w) => (w.getAttribute("aria-label") || w.id) + " by " + (w.scrollWidth - w.clientWidth) + " px").join(", ")`

// The ledger of duplicates is never wider than its box: its last columns would be out of sight.
func TestTheLedgerFitsEveryWindow(t *testing.T) {
	t.Parallel()
	b := openTab(t, testkit.Browser(t), newSite(t, webtest.Rich(noon).Batch))
	b.open(t, "/duplicates")
	for _, width := range []int64{360, 600, 700, 768, 900, 1024, 1100, 1180, 1279} {
		b.do(t, "resize", chromedp.EmulateViewport(width, 900))
		if wide := eval[string](t, b, wideTables); wide != "" {
			t.Errorf("at %d px: %s", width, wide)
		}
	}
}

// The page of duplicates begins with the months, then their chart and cases; what the protection costs comes last.
func TestDuplicatesComeBeforeWhatTheProtectionCosts(t *testing.T) {
	t.Parallel()
	page := newSite(t, webtest.Rich(noon).Batch).get(t, "/duplicates", 200)
	got := page.Find("#ledger, #cases, #protection").Map(func(_ int, e *goquery.Selection) string { return e.AttrOr("id", "") })
	if want := []string{"ledger", "cases", "protection"}; !slices.Equal(got, want) {
		t.Errorf("the page has %q, want %q", got, want)
	}
}

// What stands under the agents explains the columns that are shown, and no others.
func TestTheNoteUnderTheAgentsSpeaksOfTheColumnsThatThereAre(t *testing.T) {
	t.Parallel()
	story := webtest.NewStory(noon)
	m := story.Publish("tsk-used", "cto", "review", "Review the rollout", -20*time.Minute, "{}")
	story.Deliver(m, 1, -19*time.Minute)
	story.Report(lifecycle.ReportCompleted, m, 1, -18*time.Minute, lifecycle.Detail{ModelUse: lifecycle.ModelUse{Model: "sonnet-180k", CostUSD: 0.25}})
	b := openTab(t, testkit.Browser(t), newSite(t, story.Batch))
	const differ = `(() => { const note = document.querySelector("main .under-table").innerText;
	  return ["Cost", "p50"].filter((name) => note.includes(name) !== [...document.querySelectorAll("main thead th")].some((h) => h.textContent === name && h.checkVisibility())).join(); })()`
	for _, width := range []int64{700, 768, 1024, 1440, 1920} {
		b.do(t, "resize", chromedp.EmulateViewport(width, 900))
		b.open(t, "/agents")
		if found := eval[string](t, b, differ); found != "" {
			t.Errorf("at %d px the table has the column or the note has the word, not both: %s", width, found)
		}
	}
}
