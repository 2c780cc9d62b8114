package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"fleetglass/lifecycle"
)

// dies tells of a task that its worker gave up, and of what the rules say of it.
func (f *fixture) dies(task, agent string, seq uint64, reason, category, detail string) {
	f.published(task, agent, seq)
	f.delivered(task, agent, seq, 1)
	f.did(lifecycle.Terminated, task, agent, seq, 1, func(e *lifecycle.Event) { e.Detail.Reason = reason })
	if category != "" {
		f.did(lifecycle.Classified, task, agent, seq, 0, func(e *lifecycle.Event) {
			e.ConsumerSeq, e.Provenance = 0, lifecycle.Inferred
			e.Detail.Category, e.Detail.CategoryDetail, e.Detail.Actor, e.Detail.Rule = category, detail, "rules", "rule-"+detail
			e.Detail.Evidence = []lifecycle.Evidence{{Source: "term_reason", Text: reason}}
		})
	}
}

func entryIDs(rows []Entry) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = r.ID
	}
	return out
}

func TestDeadLettersAreListedWithWhyAndWhatNext(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		f.dies("slow", "cto", 1, "provider: status 529, overloaded", "transient", "llm_provider_timeout")
		f.dies("forbidden", "cso", 2, `not allowed: <script>alert(1)</script>`, "permanent", "authority_exceeded")
		f.completed("fine", "cto", 3)
		f.commit()
		list := get[List[Entry]](f, "/api/v1/dlq")
		if !slices.Equal(entryIDs(list.Data), []string{"TASKS:2", "TASKS:1"}) {
			t.Fatalf("entries %v, want the one that died last first", entryIDs(list.Data))
		}
		forbidden, slow := list.Data[0], list.Data[1]
		if slow.Path != "terminated" || slow.Category != "transient" || slow.Detail != "llm_provider_timeout" || slow.Status != "open" || slow.Revision != "0" ||
			slow.Stream != "TASKS" || slow.Seq != 1 || slow.DLQSeq != 0 || slow.Reason != "provider: status 529, overloaded" || slow.Deliveries != 1 ||
			slow.AgeMS < 60_000 || slow.Classification.By != "rules" || slow.Classification.Evidence[0].Text != string(slow.Reason) {
			t.Errorf("slow = %+v", slow)
		}
		if slow.Plan.DelayMS != 30_000 || slow.Plan.TargetAgent != "cto" {
			t.Errorf("the plan of a transient failure: %+v", slow.Plan)
		}
		if forbidden.Plan.Eligible || forbidden.Plan.TargetAgent != "ceo" || len(forbidden.Plan.Blocked) == 0 {
			t.Errorf("the plan of a permanent failure: %+v", forbidden.Plan)
		}
		raw := f.do("GET", "/api/v1/dlq", "")
		if strings.Contains(string(raw.body), "<script>") || !strings.Contains(string(raw.body), `"dlq_seq":null`) || !strings.Contains(string(raw.body), `"seq":"1"`) {
			t.Errorf("on the wire: %s", raw.body)
		}
		if len(list.Gaps) == 0 || list.Gaps[len(list.Gaps)-1].Source != "dead letters" {
			t.Errorf("gaps %+v, want one that says that the queue was not read", list.Gaps)
		}
	})
}

func TestDeadLettersAreSelectedAndPaged(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		for i := range 7 {
			f.dies(fmt.Sprint("t", i), []string{"cto", "cso"}[i%2], uint64(i+1), fmt.Sprintf("status %d", 500+i%3), "transient", "network_transient")
			f.pass(time.Second)
		}
		f.commit()
		var walked []string
		for target := "/api/v1/dlq?limit=3"; target != ""; {
			page := get[List[Entry]](f, target)
			walked = append(walked, entryIDs(page.Data)...)
			target = ""
			if page.Page.Next != "" {
				target = "/api/v1/dlq?limit=3&cursor=" + string(page.Page.Next)
			}
		}
		if len(walked) != 7 || walked[0] != "TASKS:7" || walked[6] != "TASKS:1" {
			t.Errorf("walked through %v", walked)
		}
		if got := get[List[Entry]](f, "/api/v1/dlq?agent=cso&q=status"); len(got.Data) != 3 {
			t.Errorf("of one agent: %v", entryIDs(got.Data))
		}
		if got := get[List[Entry]](f, "/api/v1/dlq?category=permanent&category=transient&path=terminated&status=open&kind="); len(got.Data) != 7 {
			t.Errorf("alternatives and an empty field: %v", entryIDs(got.Data))
		}
		if got := get[List[Entry]](f, "/api/v1/dlq?q="+url.QueryEscape("agent:cto id:t2")); !slices.Equal(entryIDs(got.Data), []string{"TASKS:3"}) {
			t.Errorf("by the search box: %v", entryIDs(got.Data))
		}
		for _, wrong := range []string{"?bogus=1", "?status=closed", "?kind=odd", "?from=soon", "?cursor=x", "/groups?by=colour", "/stats?bucket=week"} {
			if a := f.do("GET", "/api/v1/dlq"+wrong, ""); a.status != http.StatusBadRequest {
				t.Errorf("GET /dlq%s: %d %s", wrong, a.status, a.body)
			}
		}
	})
}

func TestADeadLetterTellsItsWholeStory(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		f.dies("blog", "marketing", 9, "prompt is too long: 214,311 tokens", "conditionally_recoverable", "context_window_overflow")
		f.batch.Payloads[0].Headers = map[string][]string{"X-Task-ID": {"blog"}}
		f.batch.Payloads[0].Body = []byte(`{"taskId":"blog","payload":{"n":1}}`)
		f.commit()
		answer := f.do("GET", "/api/v1/dlq/TASKS:9", "")
		if answer.status != http.StatusOK || !strings.HasPrefix(answer.header.Get("ETag"), `W/"0-`) {
			t.Fatalf("%d, ETag %q: %s", answer.status, answer.header.Get("ETag"), answer.body)
		}
		e := get[EntryDetail](f, "/api/v1/dlq/TASKS:9")
		if e.Path != "context_overflow" || e.Original.PayloadEncoding != "json" || !strings.Contains(string(e.Original.Payload), `"n":1`) || e.Original.Headers["X-Task-ID"][0] != "blog" {
			t.Errorf("entry %+v, original %+v", e.Entry, e.Original)
		}
		if len(e.Timeline) != 4 || e.Timeline[0].Kind != "published" || e.History == nil {
			t.Errorf("timeline of %d events, history %v", len(e.Timeline), e.History)
		}
		if e.Plan.Eligible != true || len(e.Plan.Modifications) == 0 {
			t.Errorf("plan %+v", e.Plan)
		}
		if again := f.do("GET", "/api/v1/dlq/TASKS:9", "", "If-None-Match", answer.header.Get("ETag")); again.status != http.StatusNotModified {
			t.Errorf("asked again with the tag: %d", again.status)
		}
		if gone := f.do("GET", "/api/v1/dlq/TASKS:10", ""); gone.status != http.StatusNotFound {
			t.Errorf("an entry that is not there: %d", gone.status)
		}
		if odd := f.do("GET", "/api/v1/dlq/odd", ""); odd.status != http.StatusNotFound {
			t.Errorf("an id that names nothing: %d", odd.status)
		}
	})
}

// sumOf adds what is known.
func sumOf(counts []*int64) (sum int64) {
	for _, n := range counts {
		if n != nil {
			sum += *n
		}
	}
	return sum
}

func TestGroupsOfDeadLettersLeadToTheirEntries(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		for i := range 9 {
			f.dies(fmt.Sprint("t", i), []string{"cto", "cso"}[i%2], uint64(i+1), fmt.Sprintf(`status %d of "%d"`, 500+i%3, i), []string{"transient", "permanent", ""}[i%3], "")
		}
		f.dies("mute", "cto", 20, "", "", "")
		f.commit()
		for _, by := range []string{"category,agent", "fingerprint", "detail", "kind", "status,path,type,detail,agent"} {
			groups := get[EntryGroups](f, "/api/v1/dlq/groups?by="+by)
			links, total := map[string]bool{}, int64(0)
			for _, g := range groups.Data {
				links[g.Links.Entries] = true
				total += g.Count
				if got := get[List[Entry]](f, g.Links.Entries); int64(len(got.Data)) != g.Count {
					t.Errorf("by %s, group %v: %d entries behind the link %s, want %d", by, g.Values, len(got.Data), g.Links.Entries, g.Count)
				}
				if n := sumOf(g.Trend.Counts); n != g.Trend.Last24h+g.Trend.Before24h || len(g.Trend.Counts) != 24 || g.Trend.StepMS != 2*3600*1000 {
					t.Errorf("by %s, group %v: the trend is %+v", by, g.Values, g.Trend)
				}
				if g.Trend.Direction != "new" || g.Trend.Last24h != g.Count || g.FirstAt == 0 || g.LastAt < g.FirstAt || g.Open != g.Count {
					t.Errorf("by %s, group %+v", by, g)
				}
			}
			if len(links) != len(groups.Data) || total != 10 {
				t.Errorf("by %s: %d groups of %d entries with %d links", by, len(groups.Data), total, len(links))
			}
		}
	})
}

func TestTheStatisticsOfDeadLetters(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		f.dies("a", "cto", 1, "status 529", "transient", "llm_provider_timeout")
		f.pass(10 * time.Second)
		f.published("a", "cto", 2, func(e *lifecycle.Event) { e.Detail.Generation, e.Detail.RetryOf, e.Detail.MsgID = 1, "TASKS:1", "a:r1" })
		f.delivered("a", "cto", 2, 1)
		f.did(lifecycle.Acked, "a", "cto", 2, 1)
		f.did(lifecycle.Triaged, "a", "cto", 1, 0, func(e *lifecycle.Event) {
			e.ConsumerSeq, e.Detail.Revision, e.Detail.Outcome, e.Detail.Via, e.Detail.Actor = 0, 1, lifecycle.OutcomeRetried, "auto", "policy"
		})
		f.dies("b", "cso", 3, "no", "permanent", "authority_exceeded")
		f.did(lifecycle.Triaged, "b", "cso", 3, 0, func(e *lifecycle.Event) {
			e.ConsumerSeq, e.Detail.Revision, e.Detail.Outcome, e.Detail.Via, e.Detail.Actor = 0, 1, lifecycle.OutcomeDiscarded, "page", "ann"
		})
		f.dies("c", "cso", 4, "no", "", "")
		f.completed("d", "cto", 5)
		f.commit()
		stats := get[EntryStatistics](f, "/api/v1/dlq/stats?bucket=month")
		got := stats.Totals
		if got.Messages != 4 || got.Entries != 3 || got.AutoResolved != 1 || got.HumanRequired != 1 || got.Resolved != 2 || got.Rate == nil || *got.Rate != 0.75 {
			t.Errorf("totals %+v", got)
		}
		if len(stats.Data) != 12 || stats.Data[11].Entries != 3 || stats.Data[11].Messages != 4 || stats.Data[0].Rate != nil {
			t.Errorf("rows %+v", stats.Data)
		}
		if len(stats.ByCategory) != 3 || len(stats.ByAgent) != 2 || stats.ByAgent[0].Agent != "cso" || stats.ByAgent[0].Entries != 2 || len(stats.ByPath) != 1 || len(stats.ByType) == 0 {
			t.Errorf("groups %+v", stats)
		}
		first := get[List[Entry]](f, "/api/v1/dlq?id=TASKS:1").Data[0]
		if first.Outcome != "resolved" || first.Next.Value == nil || first.Next.Value.MessageID != "a:r1" || first.Status != "retried" || first.ResolvedAt == 0 {
			t.Errorf("the entry that was retried: %+v", first)
		}
		if *stats.ByDetail[slices.IndexFunc(stats.ByDetail, func(g EntryStatisticsGroup) bool { return g.Detail == "llm_provider_timeout" })].MedianResolutionMS < 10_000 {
			t.Errorf("median %+v", stats.ByDetail)
		}
	})
}

func TestTheStatisticsDenyNoDeadLetterThatIsNotKept(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		f.dies("old", "cto", 1, "status 529", "transient", "llm_provider_timeout")
		f.did(lifecycle.Triaged, "old", "cto", 1, 0, func(e *lifecycle.Event) {
			e.ConsumerSeq, e.Provenance = 0, lifecycle.Recorded
			e.Detail.Revision, e.Detail.Outcome = 1, lifecycle.OutcomeDiscarded
		})
		f.commit()
		cutoff := f.now
		f.pass(2 * time.Hour)
		f.dies("young", "cto", 2, "status 529", "transient", "llm_provider_timeout")
		f.commit()
		if _, err := f.store.Append(t.Context(), lifecycle.Batch{Watermarks: map[string]string{lifecycle.WatermarkRetained: fmt.Sprint(int64(cutoff))}}); err != nil {
			t.Fatal(err)
		}
		if n, err := f.store.Retain(t.Context(), cutoff, f.now); err != nil || n != 1 {
			t.Fatalf("retain: %d tasks deleted, %v; want 1", n, err)
		}
		stats := get[EntryStatistics](f, "/api/v1/dlq/stats?bucket=hour")
		rows := slices.DeleteFunc(stats.Data, func(r EntryStatisticsRow) bool { return r.Messages == 0 })
		if len(rows) != 2 || rows[0].Entries != 0 || rows[0].Observed != "none" || rows[0].Rate != nil {
			t.Errorf("hours with messages: %+v; want that nothing is known of who died in the first", rows)
		} else if rows[1].Entries != 1 || rows[1].Observed != "all" || rows[1].Rate == nil || *rows[1].Rate != 1 {
			t.Errorf("the later hour: %+v; want that one of one died", rows[1])
		}
		if got := stats.Totals; got.Messages != 2 || got.Entries != 1 || got.Rate != nil {
			t.Errorf("totals %+v; want no rate", got)
		}
	})
}

// What nobody has looked at is not to be retried: a program that is told of a death at once would do it without the change that helps, or do what
// is permanent again.
func TestWhatNobodyHasLookedAtIsNotRetriedWhileAMonitorLooks(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	f.dies("fresh", "cto", 1, "context_window_overflow: 212431 tokens", "", "")
	f.commit()
	f.looks = func() bool { return true }
	list, one := get[List[Entry]](f, "/api/v1/dlq").Data, get[EntryDetail](f, "/api/v1/dlq/TASKS:1")
	for _, e := range []Entry{list[0], one.Entry} {
		if p := e.Plan; p.Eligible || len(p.Blocked) != 1 || p.Blocked[0].Code != "not_read_yet" || !strings.Contains(p.Blocked[0].Why, "has not read this message yet") {
			t.Errorf("the plan of what nobody looked at: %+v", e.Plan)
		}
		if c := e.Classification; e.Category != "unclassified" || c.Rule != "not_read_yet" || c.By != "" || c.At != 0 || len(c.Evidence) != 1 {
			t.Errorf("its classification: %s %+v", e.Category, c)
		}
	}
	p := f.refused(f.do("POST", "/api/v1/dlq/TASKS:1/actions", retryNow, "Idempotency-Key", "k1"), http.StatusUnprocessableEntity, "not_eligible")
	if blocked, _ := json.Marshal(p["blocked"]); !strings.Contains(string(blocked), `"code":"not_read_yet"`) {
		t.Errorf("blocked %s", blocked)
	}
	f.looks = nil // The monitor is away: nobody is going to look, and a person decides with what is known.
	if e := get[EntryDetail](f, "/api/v1/dlq/TASKS:1"); !e.Plan.Eligible || e.Classification.Rule != "" {
		t.Errorf("without a monitor: %+v %+v", e.Plan, e.Classification)
	}
	f.act("/api/v1/dlq/TASKS:1", "k1", retryNow)
}

// A program that acts as soon as it hears of a death gets the plan that fits: the monitor says why it died while the request waits.
func TestARetryWaitsUntilTheDeadLetterIsLookedAt(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	f.dies("fresh", "cto", 1, "503 overloaded", "", "")
	f.commit()
	asked := 0
	f.looks = func() bool {
		if asked++; asked == 1 {
			f.did(lifecycle.Classified, "fresh", "cto", 1, 0, func(e *lifecycle.Event) {
				e.ConsumerSeq, e.Provenance = 0, lifecycle.Inferred
				e.Detail.Category, e.Detail.CategoryDetail, e.Detail.Actor, e.Detail.Rule = "transient", "provider_overloaded", "rules", "overloaded"
			})
			f.commit()
		}
		return true
	}
	f.act("/api/v1/dlq/TASKS:1", "k1", `{"action":"retry","reason":"the provider is back"}`)
	if asked == 0 {
		t.Error("nobody asked whether somebody looks")
	}
}
