package web_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"fleetglass/internal/testkit"
	"fleetglass/web/webtest"
)

func TestWhatAgentsReportedAsCostIsSaidAndFound(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	for path, want := range map[string]wants{
		"/tasks/tsk-7f3a91":              {"#facts #cost": "$1.12 reported for 1 of 4 attempts, 212,431 tokens in", "#timeline #cost": "=0"},
		"/tasks/tsk-7f3a91?tab=events":   {"#facts #cost": "$1.12 reported for 1 of 4 attempts"},
		"/tasks/tsk-91b6c4":              {"#facts #cost": "cost not reported"},
		"/tasks?q=cost%3A%3E1":           {"#rows tr": "=1", "#rows a.title[href='/tasks/tsk-7f3a91']": "", "#rows td.cost": "$1.12", "#chips": "cost in USD over 1, as reported"},
		"/agents":                        {"#rows tr:has(a[href='/agents/marketing']) td.cost": "$1.12", "#rows td.cost span": "=1"},
		"/agents/marketing":              {"section[aria-labelledby=types-h] td.cost span": "$1.12", "section[aria-labelledby=types-h] .sub": "$1.12 reported for 1 task"},
		"/agents/cso":                    {"section[aria-labelledby=types-h] .sub": "cost not reported"},
		"/statistics?range=24h":          {"#costs": "$1.12", "#costs a.title": "=2", "#costs a[href='/tasks?q=cost%3A%3E0&type=content_creation']": ""},
		"/statistics?range=1h&agent=cso": {"#costs": "Not reported."},
		"/tasks?sort=-cost":              {"#rows tr": "=1", "th.cost[aria-sort=descending] a[href='/tasks?sort=cost']": "Cost", "#summary": "1 task, those with a cost, the dearest first"},
		"/tasks?sort=cost":               {"#rows tr": "=1", "th.cost[aria-sort=ascending] a[href='/tasks?sort=-cost']": "Cost", "#summary": "the cheapest first"},
		"/tasks?q=cost%3A%3C1":           {"#rows tr": "=0"}, // What was not reported is not zero.
	} {
		want.check(t, s.get(t, path, 200))
	}
}

// The column of costs is there where a row has one, in lists and in cards, and takes no place elsewhere.
func TestTheColumnOfCostsAppearsWithTheFirst(t *testing.T) {
	t.Parallel()
	b := openTab(t, testkit.Browser(t), newSite(t, webtest.Rich(noon).Batch))
	const shown = `[...document.querySelectorAll("th.cost, td.cost")].filter((c) => c.checkVisibility()).length`
	for _, tc := range []struct {
		path  string
		width int64
		want  int
	}{
		{"/tasks?id=tsk-7f3a91", 1440, 2}, {"/tasks?id=tsk-7f3a91", 360, 2}, {"/tasks?state=published", 1440, 0}, {"/tasks?state=published", 360, 0},
	} {
		b.do(t, "resize", chromedp.EmulateViewport(tc.width, 900))
		b.open(t, tc.path)
		if got := eval[int](t, b, shown); got != tc.want {
			t.Errorf("%s at %d px shows %d cells of costs, want %d", tc.path, tc.width, got, tc.want)
		}
		if wide := eval[string](t, b, wideTables); wide != "" {
			t.Errorf("%s at %d px: %s", tc.path, tc.width, wide)
		}
	}
}
