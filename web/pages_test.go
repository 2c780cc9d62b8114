package web_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"fleetglass/internal/health"
	"fleetglass/web"
	"fleetglass/web/webtest"
)

// wants are selectors with the text that their first match must contain, or with a count written as "=3".
type wants map[string]string

func (want wants) check(t *testing.T, doc *goquery.Document) {
	t.Helper()
	for selector, value := range want {
		found := doc.Find(selector)
		if n, counted := strings.CutPrefix(value, "="); counted {
			if got := fmt.Sprint(found.Length()); got != n {
				t.Errorf("%s: got %s matches, want %s", selector, got, n)
			}
			continue
		}
		if found.Length() == 0 {
			t.Errorf("%s: no match, want %q", selector, value)
			continue
		}
		if got := text(found.First()); !strings.Contains(got, value) {
			t.Errorf("%s: got %q, want it to contain %q", selector, got, value)
		}
	}
}

func TestPagesOfARichFleet(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	for path, want := range map[string]wants{
		"/": {
			"h1": "Overview", "title": "Overview · Fleetglass", `.nav a[aria-current="page"]`: "Overview", ".env": "test", "#freshness summary": "Data as of 1 s ago",
			"#stats .v": "6", "#stats a:nth-child(2) .d": "1 presumed dead, 1 past deadline, 1 stuck, 1 expiring", "#attention li:first-child .what": "is presumed dead", "#agents li": "=8", "#throughput svg rect": "",
			"#causes tbody tr:first-child": "llm_provider_timeout", "#unfinished tbody tr:first-child": "published", ".banner.gap": "Not observed from 11:41:38 to 11:42:28 (50 s).",
		},
		"/?range=30d": {"#throughput thead th:first-child": "Day", "#throughput tbody tr": "=30", `.btn-group [aria-current]`: "30 d"},
		"/tasks": {
			"#rows tr": "=50", "#states a:first-child": "All 627", "#summary": "627 tasks, newest first by last event", `th[aria-sort="descending"]`: "Last event",
			`.pager a[rel="next"]`: "Older", `.pager a[rel="prev"]`: "=0", `#facets input[name="agent"]`: "=8", "#words option": "",
		},
		"/tasks?state=dead_lettered&state=exhausted&state=terminated": {"#rows tr": "=11", "#rows .notes .reason": "dependency_unavailable", `#states a[aria-current="page"]`: "Exhausted"},
		"/tasks?q=" + url.QueryEscape(`agent:cto review`):             {"#q[value='agent:cto review']": "", "#rows tr td:nth-child(3)": "Review"},
		"/tasks?sort=published":                                       {`th[aria-sort="ascending"]`: "Published"},
		"/tasks?has=duplicate":                                        {"#chips [aria-current]": "a publish caught as duplicate", "#rows .badge.dup": "1"},
		"/tasks?from=1h":                                              {`#range option[selected]`: "Last hour", `[data-copy-link][href*="from=2026-11-20T11"][href*="to=2026-11-20T12"]`: "Copy link"},
		"/tasks?q=id:tsk-7f3a91":                                      {"#rows tr": "=1", "#rows .last": "ack confirmed"},
		"/tasks?q=id:tsk-91b6c4":                                      {"#rows tr": "=1", "#rows .last": "heartbeat"},
		"/tasks?anomaly=orphaned":                                     {"#rows tr": "=1", "#rows .badge.warn": "orphaned"},
		"/tasks?q=blog&state=completed&state=failed":                  {"#rows tr": "=1"},
		"/tasks?state=failed&agent=ceo&from=1h":                       {"#rows .say": "No task matches state:failed agent:ceo in the last hour."},
		"/tasks?q=blog&state=failed":                                  {"#rows .say": "No task matches", "#rows a.btn": "All states", ".empty.wait": ""},
		"/tasks?state=failed":                                         {"#rows .say": "All healthy: no task is failed.", "#rows .empty.ok p:not(.say)": "every collector is up to date"},
		"/in-flight":                                                  {"#presumed_dead tr.kind": "Presumed dead 1", "#stale .kind": "Stale 1", "#stuck": "Architecture note", "#expiring": "Fix focus order", "#healthy .kind": "Healthy 2", "#lede": "6 leases, 4 with something wrong", "#presumed_dead .left": "−1m 48s", "#healthy td:nth-child(4) small": "mkt-9f21-4", ".lease[role=img]": "=6"},
		"/agents":                                                     {"#rows tr": "=8", "#summary": "8 agents, 6 busy, 1 silent", "#rows a.title[href='/agents/backend']": "backend"},
		"/agents/marketing":                                           {"h1": "marketing", "#stats .v": "1", "#holds .doing": "Draft launch thread", "#recent tbody tr": "=20", "#consumers td.grow": "genbrain.agents.marketing.tasks.>"},
		"/dlq?status=all":                                             {"#rows tr": "", "#groups li:first-child .name": "", "#stats a:first-child .k": "Open", ".lede": "Messages that died", "#statistics tbody tr:first-child th": "November 2026", "#rows a.title[href^='/dlq/']": ""},
		"/dlq?detail=llm_provider_timeout":                            {"#rows tr": "=4", "#chips .chip": "detail is llm_provider_timeout"},
		"/dlq?q=agent:marketing":                                      {"#rows td:nth-child(4)": "marketing", "#states a": "All"},
		"/duplicates":                                                 {"#ledger tbody tr:first-child th": "November 2026", "#ledger .sum td:nth-child(4)": "38", "#cases tbody tr": "=10", "#cases small": "Published more often than stored"},
		"/duplicates?bucket=hour&layer=idempotency":                   {"#ledger thead th:first-child": "Hour", "#cases tbody tr": "=1", "#cases .title": "Charge the card"},
		"/capture":                                                    {"#parts tbody tr": "=8", "#gaps tbody tr": "=2", "#gaps .state.ok": "read again", "#quarantine tbody tr": "=2", "#consumers tbody tr": "=7"},
		"/statistics?range=24h":                                       {"figure.plotted": "", "#heat table tbody tr": "", "#run-0 thead": "95th percentile", "#queue table tbody tr": "", "#died table tbody tr": ""},
		"/preferences?tz=local&back=%2Ftasks%3Fstate%3Dfailed":        {"h1": "Time zone", "#tz option": "UTC", "input[name=back][value='/tasks?state=failed']": ""},
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			want.check(t, s.get(t, path, 200))
		})
	}
}

func TestPagesThatAreNotThere(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	for path, status := range map[string]int{"/tasks/none": 404, "/tasks/": 404, "/task": 404, "/agents/none": 404, "/nowhere": 404, "/tasks?state=lost": 400, "/tasks?q=%22open": 400,
		"/tasks?from=yesterdayish": 400, "/tasks?cursor=damaged": 400, "/dlq?status=lost": 400, "/dlq/TASKS:999999": 404, "/payload?message=TASKS:1": 404, "/payload?message=x": 400} {
		if doc := s.get(t, path, status); doc.Find("main .say").Length() != 1 {
			t.Errorf("%s: does not say what is wrong", path)
		}
	}
	wants{"main h1": "No such agent", "main .say": "“none”", "main a.btn[href='/agents']": "All agents"}.check(t, s.get(t, "/agents/none", 404))
	wants{"main h1": "No such dead letter", "main .say": "“TASKS:1”", "main a.btn[href='/dlq']": "DLQ", "main a.btn.primary[href^='/search?q=']": "Search for it"}.check(t, s.get(t, "/dlq/TASKS:1", 404))
	wants{"main a.btn[href='/in-flight']": "In flight"}.check(t, s.get(t, "/in-flight?kind=nothing", 400))
	wants{"#problem": `state: "lost" is not a state.`, "#q[aria-invalid]": ""}.check(t, s.get(t, "/tasks?state=lost", 400))
}

func TestAPageNamesEverythingThatIsWrongInItsAddress(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	for path, wrong := range map[string]string{
		"/tasks?state=lost&from=soon&cursor=x":        "state from cursor",
		"/dlq?status=x&kind=y&cursor=z":               "status kind cursor",
		"/alerts?severity=bad&state=worse":            "severity state",
		"/statistics?from=soon&to=late":               "from to",
		"/audit?outcome=x&from=soon&to=late&cursor=y": "outcome from to cursor",
		"/in-flight?kind=nothing&from=-1":             "kind from",
		"/search?q=state:lost+attempt:x":              "state attempt",
	} {
		status := 400
		if strings.HasPrefix(path, "/search") { // What has a place in words is found all the same.
			status = 200
		}
		page := text(s.get(t, path, status).Find("#problem, main .empty"))
		for _, name := range strings.Fields(wrong) {
			if !strings.Contains(page, name+": ") {
				t.Errorf("%s: does not say what is wrong with %s: %s", path, name, page)
			}
		}
	}
}

func TestListsGoOnAndBack(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	ids := func(doc *goquery.Document) string {
		return strings.Join(doc.Find("#rows tr").Map(func(_ int, r *goquery.Selection) string { return r.AttrOr("data-id", "") }), " ")
	}
	seen := map[string]bool{}
	path, first := "/tasks?state=completed", ""
	var pages []string
	for path != "" {
		doc := s.get(t, path, 200)
		pages = append(pages, ids(doc))
		for _, id := range strings.Split(ids(doc), " ") {
			if seen[id] {
				t.Fatalf("%s comes twice", id)
			}
			seen[id] = true
		}
		if len(pages) == 2 {
			first = doc.Find(`.pager a[rel="prev"]`).AttrOr("href", "")
		}
		path = doc.Find(`.pager a[rel="next"]`).AttrOr("href", "")
	}
	if len(pages) < 12 {
		t.Errorf("got %d pages, want at least 12", len(pages))
	}
	if got := ids(s.get(t, first, 200)); got != pages[0] {
		t.Errorf("the page before the second one is not the first:\n%s\n%s", got, pages[0])
	}
}

func TestPagesCarryNoInlineScriptOrStyle(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, reported, issuing)
	for _, path := range everyPage {
		answer := s.fetch(t, path, nil)
		doc, err := goquery.NewDocumentFromReader(answer.Body)
		_ = answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if got := answer.Header.Get("Content-Security-Policy"); !strings.HasPrefix(got, "default-src 'none'; script-src 'self';") || strings.Contains(got, "unsafe") {
			t.Errorf("%s: policy %q", path, got)
		}
		doc.Find("script:not([src]), style, [style]").Each(func(_ int, e *goquery.Selection) {
			t.Errorf("%s: inline script or style: %s", path, goquery.NodeName(e))
		})
		for _, n := range doc.Find("*").Nodes {
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") || strings.HasPrefix(strings.ToLower(strings.TrimSpace(a.Val)), "javascript:") {
					t.Errorf("%s: %s has %s=%q", path, n.Data, a.Key, a.Val)
				}
			}
		}
		ids := map[string]bool{}
		doc.Find("[id]").Each(func(_ int, e *goquery.Selection) {
			if id := e.AttrOr("id", ""); ids[id] {
				t.Errorf("%s: id %q comes twice", path, id)
			} else {
				ids[id] = true
			}
		})
	}
}

func TestAStoreThatIsAwayIsToldOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, func(c *setup) {
		c.Health = health.ReporterFunc(func() []health.Part {
			return []health.Part{
				{Name: "store", Kind: "store", State: health.Down, Detail: "the database does not answer"},
				{Name: "nats", Kind: "broker", State: health.OK},
				{Name: "brokersync", Kind: "collector", State: health.Down, Detail: "read open messages: the store is unable"},
				{Name: "retries", Kind: "pipeline", State: health.Down, Detail: "claim effects: the store is unable"},
			}
		})
	})
	page := s.get(t, "/tasks", 200)
	wants{".banner.bad": "=1", ".banner.bad .msg": "We are blind: the store is down (the database does not answer). Nothing is taken in, and most pages cannot answer. Fleetglass goes on by itself once the store is back."}.check(t, page)
	if said := page.Find(".banner.bad").Text(); strings.Contains(said, "claim effects") {
		t.Errorf("the banner repeats what follows from the store: %s", said)
	}
}

func TestAStoreThatFailsGivesAProblemPage(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, func(c *setup) { c.Health = health.ReporterFunc(func() []health.Part { return nil }) })
	if err := s.store.Close(); err != nil {
		t.Fatal(err)
	}
	wants{"h1": "Not available", ".say": "Fleetglass cannot answer this now.", "a.btn.primary": "Try again", "#nav": "Overview", "#nav .n": "=0"}.check(t, s.get(t, "/tasks", 503))
}

func TestNewChecksItsConfiguration(t *testing.T) {
	t.Parallel()
	if _, err := web.New(web.Config{}); err == nil {
		t.Error("a configuration without a store is accepted")
	}
}

func TestAPageThatMayNotBeHad(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	wants{"h1": "Scope missing", ".empty.warn .say": "lacks the scope", ".empty use[href$='#lock']": "", "main .table": "=0"}.check(t, s.get(t, "/refused", 403))
}
