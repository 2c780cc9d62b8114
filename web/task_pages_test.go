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

	"fleetglass/lifecycle"
	"fleetglass/web/webtest"
)

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
