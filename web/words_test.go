package web_test

import (
	"strings"
	"testing"

	"fleetglass/web/webtest"
)

// wordedPages are pages whose words are read by these tests.
var wordedPages = []string{"/", "/tasks", "/tasks/tsk-7f3a91", "/in-flight", "/agents", "/agents/marketing", "/dlq?status=all", "/duplicates", "/reconciliation", "/capture", "/search?q=review", "/statistics", "/map", "/alerts", "/dlq/stats"}

func TestPagesUseTheUsualTerms(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	for path, want := range map[string]wants{
		"/":                 {"#throughput table th:last-child": "failed attempts, % of all", "#agents .foot": "failed attempts", `#agents li:has([href="/agents/legal"]) .state`: "silent"},
		"/tasks":            {".facets-btn": "Filters", "#facets[aria-label=Filters]": "", `#states a[title="Acknowledged."]`: "Completed"},
		"/tasks/tsk-7f3a91": {"#timeline .btn": "Compress waiting"},
		"/in-flight":        {".page-head": "with something wrong; nearest deadline first", "#leases thead th:last-child": "What happens next", "#leases tbody tr:nth-child(2) td:last-child": "attempts ran out"},
		"/agents/marketing": {"#cons-h": "Consumer", "#stats a:first-child .k": "In flight", "#holds .state[title]": ""},
		"/dlq?status=all":   {"#rows .why .class.alone": "llm provider timeout", "#stats a:nth-child(5) .k": "No response", ".lede": "Messages that died", "#rows td[title*='registry.internal']": "dependency_unavailable: registry.internal not classified yet"},
		"/duplicates":       {"#protection": "Industry figure"},
		"/agents":           {"#summary": "busy, ", `#rows tr[data-id="legal"] .state`: "silent"},
		"/search?q=review":  {"#found li:first-child span": "tsk-"},
	} {
		want.check(t, s.get(t, path, 200))
	}
}

func TestPagesSayNothingTwiceOrInRiddles(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	for _, path := range wordedPages {
		words := text(s.get(t, path, 200).Find("body"))
		for _, retired := range []string{"not part of this version", "not offered here yet", "Squeeze", "Facets", "of all ends", "Died in silence", "The field, for", "Next by itself",
			"Its consumer", "or odd", "in nobody's hands", "This is not silence", "work in hand", " done, ", " in hand", "workers' hands", "Resolved alone", "months of UTC", "looks after these", "The same as a table", "beyond the stored",
			"Known as", "not a whole step", "unfinished step", "newest tries", "What came of it", "resolved alone", "By a person", "Lanes and evidence", "stands at the search box", "the fuller a cell"} {
			if strings.Contains(words, retired) {
				t.Errorf("%s still says %q", path, retired)
			}
		}
	}
}

func TestTheNavigationTheOverviewAndTheListCountTheSameDeadLetters(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	doc := s.get(t, "/", 200)
	nav := text(doc.Find("#nav-dlq [aria-hidden]"))
	card := doc.Find(`#stats a[href="/dlq?status=open"]`)
	if got := text(card.Find(".v")); nav == "" || got != nav {
		t.Errorf("the card says %q dead letters, the navigation %q", got, nav)
	}
	if got := text(s.get(t, "/dlq?status=open", 200).Find("#states a[aria-current] .n")); got != nav {
		t.Errorf("the list says %q open ones, the navigation %q", got, nav)
	}
}
