package web_test

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"fleetglass/duplicates"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
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
		"/preferences?tz=local&back=%2Ftasks%3Fstate%3Dfailed":        {"h1": "Time zone", "#tz option": "UTC", "input[name=back][value='/tasks?state=failed']": ""},
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			want.check(t, s.get(t, path, 200))
		})
	}
}

func TestPagesOfATask(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	weird := "/tasks/" + url.PathEscape("orders/2026/11 weird id?&#%")
	for path, want := range map[string]wants{
		"/tasks/tsk-7f3a91": {
			"h1": "Write blog post on retry semantics", "#task-state": "completed", "#facts": "4 attempts in 2 messages", "#answers .say": "Nobody: its worker acknowledged it", "#timeline .lane-names": "terminated, 4m 18s, $1.12", "#cost": "$1.12 reported for 1 of 4 attempts, 212,431 tokens in",
			".lane-names .msg": "=2", ".lane-names > div:not(.msg, .axis-row)": "=4", ".lanes .running": "", ".lanes .silent": "=1", ".lanes .waiting": "", ".lanes .tick": "",
			"#timeline details tbody tr": "=4", "#events tr.group": "Message 1 · TASKS:48601", "#events tr[id^=ev-] a.ev": "publish attempt", "#event h2": "ack confirmed",
			".banner.gap b": "Part of this task's time was not observed.", `#views a[aria-current="page"]`: "Timeline",
		},
		"/tasks/tsk-7f3a91?scale=work":                                              {"#timeline .btn": "Show waiting to scale", ".lanes .running": ""},
		"/tasks/tsk-7f3a91?tab=compare":                                             {"#compare thead th": "=4", "#compare input[checked]": "=2", "#compare tbody .differs": "", `#views a[aria-current="page"]`: "Compare"},
		"/tasks/tsk-7f3a91?tab=compare&attempt=TASKS:48601/2&attempt=TASKS:48601/3": {"#compare tbody tr:nth-child(6)": "llm_provider_rate_limit", "#compare tbody": "not reported", "#compare tbody tr:nth-child(12)": "$1.12"},
		"/tasks/tsk-77d0ab?tab=compare":                                             {"#compare .empty": "There is nothing to compare."},
		"/tasks/tsk-7f3a91?tab=events":                                              {"#events tbody tr": "=45", "#events thead th": "=6", "#events .chip[aria-current]": "all"},
		"/tasks/tsk-7f3a91?tab=events&known=reported":                               {"#events tbody tr[id]": "=7", "#events .prov": "reported"},
		"/tasks/tsk-7f3a91?tab=payload":                                             {"pre.payload": `"what <b>not</b> to promise"`, ".badge.warn": "untrusted text", `.chip[aria-current]`: "Message 2", "dt.mono": "Nats-Msg-Id"},
		"/tasks/tsk-7f3a91?tab=payload&message=TASKS:48601":                         {`.chip[aria-current]`: "Message 1"},
		"/tasks/tsk-7f3a91?tab=idempotency":                                         {"#rec-h": "Completion record", "section[aria-labelledby=rec-h] .kv": "tsk-7f3a91-1", "section[aria-labelledby=led-h] tbody": "caught by the stream", "section[aria-labelledby=pub-h] tbody tr": "=2"},
		"/tasks/tsk-7f3a91?tab=related":                                             {"section[aria-labelledby=msg-h] tbody tr": "=2", `section[aria-labelledby=msg-h] a[href="/tasks/tsk-7f3a91"]`: "TASKS:48601", "section[aria-labelledby=near-h] tbody tr": ""},
		"/tasks/tsk-7f3a91?tab=json":                                                {".empty .say": "The API has it.", `a[href="/api/v1/tasks/tsk-7f3a91"]`: ""},
		"/tasks/tsk-91b6c4":                                                         {"#facts .badge.warn": "stuck", "#facts [data-deadline]": "20 s", ".lanes .now": "=1", "#events a.ev": ""},
		"/tasks/tsk-77d0ab":                                                         {"#task-state": "published", ".lane-names > div:last-child": "waiting", ".lanes .waiting": "=1"},
		"/tasks/tsk-refused":                                                        {".empty .say": "No stored message is known.", "#facts .badge": "not stored"},
		"/tasks/tsk-nobody?tab=payload":                                             {"pre.payload": "binary", "#facts .badge": "orphaned"},
		weird:                                                                       {"h1": "An id with slashes <script>alert(1)</script>", "#task-id": "orders/2026/11 weird id?&#%", "h1 script": "=0"},
		weird + "?tab=related":                                                      {`#views a[href^="/tasks/orders%2F2026%2F11%20weird%20id%3F&%23%25"]`: "Timeline"},
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			want.check(t, s.get(t, path, 200))
		})
	}
}

func TestAnyBytesMayBeATaskID(t *testing.T) {
	t.Parallel()
	ids := []string{"a//b", "..", ".", "a/../b", "x/", "/x", "é ü", "\x00\xff\xfe", "%2F", "a?tab=json", "<img src=x onerror=alert(1)>", "counts", strings.Repeat("long/", 60)}
	story := webtest.NewStory(noon)
	for _, id := range ids {
		story.Publish(id, "cto", "code_review", "title of "+id, -time.Minute, "")
	}
	s := newSite(t, story.Batch)
	links := map[string]string{}
	s.get(t, "/tasks", 200).Find("#rows tr").Each(func(_ int, r *goquery.Selection) {
		links[r.AttrOr("data-id", "")] = r.Find("a.title").AttrOr("href", "")
	})
	if len(links) < len(ids)-1 { // Bytes that are not text cannot be an attribute.
		t.Errorf("listed %d tasks, want %d", len(links), len(ids))
	}
	for _, id := range ids {
		path := "/tasks/" + url.PathEscape(id)
		if id == "." || id == ".." {
			path = "/task?id=" + url.QueryEscape(id)
		}
		if href, ok := links[id]; ok && href != path {
			t.Errorf("link to %q: got %s, want %s", id, href, path)
		}
		doc := s.get(t, path, 200)
		for _, tab := range []string{"events", "payload", "idempotency", "related", "json"} {
			href := doc.Find(fmt.Sprintf(`#views a[href$="tab=%s"]`, tab)).Last().AttrOr("href", "")
			shown := s.get(t, href, 200).Find(`#views a[aria-current="page"]`)
			shown.Find(".n").Remove()
			if got := text(shown); !strings.EqualFold(got, tab) {
				t.Errorf("%q: link to %s leads to %q", id, tab, got)
			}
		}
	}
}

func TestAFleetThatWasNeverSeen(t *testing.T) {
	t.Parallel()
	s := newSite(t, lifecycle.Batch{}, func(c *setup) { c.Server = "nats://127.0.0.1:4222" })
	for path, selector := range map[string]string{"/": "#stats", "/tasks": "#rows", "/in-flight": "#leases", "/agents": "#rows", "/dlq?status=open": "#rows", "/duplicates": ".panel"} {
		wants{selector + " .say": "Listening. Nothing has crossed the task stream yet.", selector + " pre": "nats --server nats://127.0.0.1:4222 pub genbrain.agents.cto.tasks.code_review"}.check(t, s.get(t, path, 200))
	}
	wants{"#gaps .say": "No gap is known in the last 30 days.", "#quarantine .say": "No line is in quarantine.", "#consumers .say": "No worker's consumer is known."}.check(t, s.get(t, "/capture", 200))
}

func TestAFleetThatIsHealthy(t *testing.T) {
	t.Parallel()
	story := webtest.NewStory(noon)
	m := story.Publish("done", "cto", "code_review", "Done", -time.Hour, "")
	story.Deliver(m, 1, -50*time.Minute)
	story.Say(lifecycle.Acked, m, 1, -40*time.Minute, lifecycle.Detail{})
	s := newSite(t, story.Batch)
	wants{"#attention .say": "All healthy: nothing needs attention.", ".banner": "=0"}.check(t, s.get(t, "/", 200))
	wants{"#leases .say": "All healthy: no task is in flight"}.check(t, s.get(t, "/in-flight", 200))
	wants{"#restarts .say": "No restart with messages in flight is known."}.check(t, s.get(t, "/restarts", 200))
	wants{"#rows .say": "All healthy: no message is dead."}.check(t, s.get(t, "/dlq?status=all", 200))
}

func TestWhenCaptureIsDown(t *testing.T) {
	t.Parallel()
	s := newSite(t, lifecycle.Batch{}, broken)
	wants{
		".banner.bad[role=alert]": "We may be blind: collector acks is down.", ".banner.warn": "Collector advisories is behind. Catches up by 20 lines a second: about 1 m left at that speed. It is 4m 12s behind its source.", ".banner.run": "Read-only mode.",
		"#freshness summary.bad": "", "#rows .empty.warn .say": "Nothing can be seen: collector acks is down.",
	}.check(t, s.get(t, "/tasks", 200))
	unprovisioned := func(c *setup) {
		c.Health = health.ReporterFunc(func() []health.Part {
			return []health.Part{
				{Name: "streams", Kind: "broker", State: health.Down, Detail: "streams TASKS, OBS_ACK are missing; run fleetglass provision --apply", Lacks: []string{"TASKS", "OBS_ACK"}},
				{Name: "acks", Kind: "collector", State: health.Down, Detail: "OBS_ACK: capture stream does not exist", Lacks: []string{"OBS_ACK"}},
				{Name: "retries", Kind: "pipeline", State: health.Down, Detail: "stream RETRY is missing; run fleetglass provision --apply", Lacks: []string{"RETRY"}},
				{Name: "firestore", Kind: "collector", State: health.NotConfigured},
			}
		})
	}
	since := lifecycle.Gap{Source: "OBS_ACK", From: lifecycle.MicrosOf(noon.Add(-time.Minute)), Reason: "capture stream OBS_ACK does not exist"}
	s = newSite(t, lifecycle.Batch{Gaps: []lifecycle.Gap{since}}, unprovisioned)
	stopped := webtest.Rich(noon).Batch
	stopped.Gaps = []lifecycle.Gap{since}
	wants{".banner.gap": "Not observed since 11:59:00."}.check(t, newSite(t, stopped, unprovisioned).get(t, "/", 200))
	away := newSite(t, lifecycle.Batch{}, func(c *setup) {
		c.Health = health.ReporterFunc(func() []health.Part {
			return []health.Part{
				{Name: "store", Kind: "store", State: health.OK}, {Name: "nats", Kind: "broker", State: health.Down, Detail: "not connected to the broker"}, {Name: "acks", Kind: "collector", State: health.Down, Detail: "context deadline exceeded"},
				{Name: "retries", Kind: "pipeline", State: health.Down, Detail: "context deadline exceeded"}, {Name: "firestore", Kind: "collector", State: health.Down, Detail: "no credentials"},
			}
		})
	}).get(t, "/", 200)
	wants{
		".banner.bad": "=2", ".banner.bad:nth-child(1) .msg": "We are blind: the broker does not answer. What waits for it goes on by itself once it is back. Pages show the last known state", ".banner.bad:nth-child(2) .msg": "We may be blind: collector firestore is down. no credentials.",
	}.check(t, away)
	capture := s.get(t, "/capture", 200)
	wants{
		".banner.bad": "=1", ".banner.bad .msg": "We may be blind: the broker lacks streams TASKS, OBS_ACK and RETRY. Nothing is seen there. fleetglass provision shows what it would make, and makes it with --apply. Pages show the last known state", ".banner.bad a[href='/doctor']": "Doctor",
		"#parts tr:nth-child(2) [data-label=waiting]": "not known", "#parts tr:nth-child(2) [data-label=handled]": "0",
	}.check(t, capture)
	for _, path := range []string{"/", "/tasks", "/in-flight", "/dlq?status=open", "/duplicates", "/agents", "/map", "/statistics"} {
		wants{
			".empty.warn .say": "Nothing can be seen: the broker lacks streams TASKS, OBS_ACK and RETRY.", ".empty.warn pre": "fleetglass provision --apply", ".empty.warn a[href='/doctor']": "Doctor", ".banner.warn": "=0", ".banner.gap": "=0",
		}.check(t, s.get(t, path, 200))
	}
	for row, label := range map[int]string{1: "handled", 4: "waiting"} { // Neither takes anything in: zero would be a count.
		if got := text(capture.Find(fmt.Sprintf("#parts tr:nth-child(%d) [data-label=%s]", row, label))); got != "" {
			t.Errorf("%s of part %d: got %q, want nothing", label, row, got)
		}
	}
	s = newSite(t, lifecycle.Batch{}, func(c *setup) {
		c.Health = health.ReporterFunc(func() []health.Part {
			return []health.Part{
				{Name: "acks", Kind: "collector", State: health.Down, Detail: "nothing can be stored"},
				{Name: "quota", Kind: "quota", State: health.Down, Detail: "The store holds 2.1 MB of 2.0 MB. Nothing is taken in until there is room."},
			}
		})
	})
	wants{".banner.bad": "=1", ".banner.bad .msg": "The storage quota is reached. Down with it: collector acks. quota: The store holds 2.1 MB of 2.0 MB. Nothing is taken in until there is room. " +
		"acks: nothing can be stored. Pages show the last known state"}.check(t, s.get(t, "/tasks", 200))
	s = newSite(t, webtest.Rich(noon).Batch, broken)
	wants{"#rows .empty.wait": "No task matches"}.check(t, s.get(t, "/tasks?state=failed", 200))
	s = newSite(t, lifecycle.Batch{}, func(c *setup) { c.Health = nil })
	wants{"#freshness": "No collector reports to these pages."}.check(t, s.get(t, "/", 200))
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

func TestPreferencesAreKept(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	for query, want := range map[string]struct{ cookie, location string }{
		"theme=dark&back=/tasks":                     {"fleetglass_theme=dark", "/tasks"},
		"tz=Europe%2FBerlin&back=%2Ftasks%3Fq%3Dx":   {"fleetglass_tz=Europe", "/tasks?q=x"},
		"tz=No%2FWhere&back=/":                       {"", "/"},
		"theme=dark&back=https%3A%2F%2Fevil.example": {"fleetglass_theme=dark", "/"},
		"theme=dark&back=%2F%2Fevil.example":         {"fleetglass_theme=dark", "/"},
		"theme=dark&back=%2F%5Cevil.example":         {"fleetglass_theme=dark", "/"},
		"theme=dark&back=%2F%0Aevil":                 {"fleetglass_theme=dark", "/"},
		"theme=%22%3E%3Cscript%3E&back=/":            {"", "/"},
	} {
		answer := s.fetch(t, "/preferences?"+query, nil)
		_ = answer.Body.Close()
		if got := answer.Header.Get("Location"); answer.StatusCode != 303 || got != want.location {
			t.Errorf("%s: got %d to %q, want 303 to %q", query, answer.StatusCode, got, want.location)
		}
		if got := answer.Header.Get("Set-Cookie"); !strings.HasPrefix(got, want.cookie) || (want.cookie == "") != (got == "") {
			t.Errorf("%s: cookie %q, want %q", query, got, want.cookie)
		}
	}
	wants{`html[data-theme="dark"]`: "", "#rows time[title$='CET']": "", `.prefs [value="local"][aria-pressed="true"]`: ""}.check(t,
		s.get(t, "/tasks", 200, "fleetglass_theme=dark", "fleetglass_tz=Europe%2FBerlin"))
	wants{"html[data-theme]": "=0", "#rows time[title$='UTC']": ""}.check(t, s.get(t, "/tasks", 200, "fleetglass_theme=<b>", "fleetglass_tz=../../etc/passwd"))
}

func TestTimesOfFormsAreInTheReadersZone(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	doc := s.get(t, "/tasks?from=2026-11-20T12:30&to=2026-11-20T13:00", 200, "fleetglass_tz=Europe%2FBerlin")
	wants{`[data-copy-link][href*="from=2026-11-20T11%3A30%3A00Z"]`: "", `#own-from[value="2026-11-20T12:30"]`: ""}.check(t, doc)
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

func TestThePayloadIsNeverRun(t *testing.T) {
	t.Parallel()
	story := webtest.NewStory(noon)
	m := story.Publish("evil", "cto", "code_review", "x", -time.Minute, `<html><script>alert(1)</script></html>`)
	s := newSite(t, story.Batch)
	answer := s.fetch(t, "/payload?message="+m.Key.String(), nil)
	defer func() { _ = answer.Body.Close() }()
	body, _ := io.ReadAll(answer.Body)
	if got := answer.Header.Get("Content-Type"); got != "text/plain; charset=utf-8" || answer.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("content type %q, options %q", got, answer.Header.Get("X-Content-Type-Options"))
	}
	if !strings.Contains(answer.Header.Get("Content-Security-Policy"), "sandbox") || !strings.Contains(string(body), "<script>") {
		t.Errorf("policy %q, body %q", answer.Header.Get("Content-Security-Policy"), body)
	}
}

func TestTheJSONTabShowsWhatTheAPISays(t *testing.T) {
	t.Parallel()
	asked := ""
	s := newSite(t, webtest.Rich(noon).Batch, func(c *setup) {
		c.TaskJSON = func(_ context.Context, id string) ([]byte, error) {
			asked = id
			return []byte(`{"task_id":"orders/2026/11","nested":{"a":[]}}`), nil
		}
	})
	doc := s.get(t, "/tasks/tsk-7f3a91?tab=json", 200)
	if got := doc.Find("pre.payload").Text(); got != "{\n  \"task_id\": \"orders/2026/11\",\n  \"nested\": {\n    \"a\": []\n  }\n}" {
		t.Errorf("JSON: got %s", got)
	}
	if asked != "tsk-7f3a91" {
		t.Errorf("asked for %q", asked)
	}
}

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

// TestTasksWithoutATypeHaveAName has a task without a type complete: its chart says so, and no chip chooses it.
func TestTasksWithoutATypeHaveAName(t *testing.T) {
	t.Parallel()
	story := webtest.NewStory(noon)
	m := story.Publish("tsk-plain", "cto", "", "Without a type", -10*time.Minute, "")
	story.Deliver(m, 1, -9*time.Minute)
	story.Say(lifecycle.Acked, m, 1, -8*time.Minute, lifecycle.Detail{})
	page := newSite(t, story.Batch).get(t, "/statistics?range=1h", 200)
	wants{".multiples h3": "no type 1 task", ".multiples h3 a": "=0"}.check(t, page)
	page.Find("nav.chips a").Each(func(_ int, chip *goquery.Selection) {
		if text(chip) == "" {
			t.Error("a chip has no name")
		}
	})
}
