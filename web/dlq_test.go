package web_test

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"fleetglass/lifecycle"
	"fleetglass/web/webtest"
)

func TestADeadLetterHasAPageOfItsOwn(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	list := s.get(t, "/dlq?detail=llm_provider_timeout", 200)
	href, _ := list.Find("#rows a.title").First().Attr("href")
	wants{".banner.warn b": "was not read yet"}.check(t, list)
	if !strings.HasPrefix(href, "/dlq/TASKS:") {
		t.Fatalf("the first row leads to %q", href)
	}
	page := s.get(t, href, 200)
	wants{
		"#why": "llm provider timeout", "#plan .state": "retry after 30", "#history": "Nothing yet.", "#timeline tbody tr": "", "#timeline": "published", "#timeline a[href*='#ev-']": "",
		".lede a[href^='/tasks/']": "", `[data-copy-link]`: "Copy link",
	}.check(t, page)
	task, _ := page.Find(".lede a[href^='/tasks/']").Attr("href")
	if n := s.get(t, task, 200).Find("#recovery").Length(); n != 0 {
		t.Error("the task of a message that died is shown a recovery, should its worker be gone")
	}
}

// The evidence of a class says how it is known, and leads to the event that says it; what agents reported to have used stands beside it.
func TestAnEntrySaysHowItsEvidenceIsKnownAndWhatWasUsed(t *testing.T) {
	t.Parallel()
	story := webtest.Rich(noon)
	m := story.Publish("tsk-used", "cto", "review", "Review the rollout", -20*time.Minute, "{}")
	for n, use := range []lifecycle.ModelUse{{Model: "sonnet-180k", InputTokens: 1000, OutputTokens: 50, CostUSD: 0.25}, {Model: "sonnet-180k", InputTokens: 2000, CostUSD: 0.5}} {
		story.Deliver(m, n+1, time.Duration(-19+5*n)*time.Minute)
		for range 2 { // A report may come twice.
			story.Report(lifecycle.ReportFailed, m, n+1, time.Duration(-18+5*n)*time.Minute, lifecycle.Detail{Ending: lifecycle.Ending{Reason: "llm_provider_timeout: 504"}, ModelUse: use})
		}
	}
	story.Say(lifecycle.Terminated, m, 2, -12*time.Minute, lifecycle.Detail{Ending: lifecycle.Ending{Reason: "llm_provider_timeout: no first token"}})
	story.Tell(lifecycle.Classified, lifecycle.Inferred, m, 2, -11*time.Minute, lifecycle.Detail{DeadLetter: lifecycle.DeadLetter{Category: "transient"}, Classification: lifecycle.Classification{
		Rule:     "names-its-detail",
		Evidence: []lifecycle.Evidence{{Source: "term_reason", Text: "llm_provider_timeout"}, {Source: "error_text", Text: "504"}, {Source: "reported_error", Text: "not in any event"}, {Source: "error_text", Text: "nobody said this"}, {Source: "rules", Text: "No rule matches what is known of the death."}},
	}})
	s := newSite(t, story.Batch)
	page := s.get(t, s.get(t, "/dlq?q=tsk-used", 200).Find("#rows a.title").AttrOr("href", ""), 200)
	got := page.Find("#why .evidence").Map(func(_ int, e *goquery.Selection) string {
		return text(e.Find(".prov, .dim")) + " " + strconv.Itoa(e.Find("a[href*='/tasks/tsk-used#ev-']").Length())
	})
	if want := []string{"observed 1", "reported 1", "reported 0", "who said it is not known 0", "inferred 0"}; !slices.Equal(got, want) {
		t.Errorf("the evidence is known as %q, want %q", got, want)
	}
	wants{"#used": "sonnet-180k, 3,000 tokens in, 50 tokens out, $0.75", "#why .kv dd": "transient"}.check(t, page)
	if got := text(s.get(t, s.get(t, "/dlq?q=tsk-7f3a91", 200).Find("#rows a.title").AttrOr("href", ""), 200).Find("#used")); !strings.HasPrefix(got, "sonnet-180k, 212,431 tokens in, $1.12") {
		t.Errorf("what nobody reported is written as a figure: %q", got)
	}
}

// Nothing was looked at where the query cannot be read: no figure is shown.
func TestAQueryThatCannotBeReadShowsNoFigures(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	page := s.get(t, "/dlq?q=foo:bar", 400)
	wants{".find": `The search has no field "foo"`, "#rows .say": "The query cannot be read.", "#stats": "=0", "#groups": "=0", "#statistics": "=0", "#filters": "=0", "#states": "=0"}.check(t, page)
	if counts := text(s.get(t, "/dlq?agent=cto", 200).Find("#filters .n")); counts != "" {
		t.Errorf("beside a filter the choices count %q, and lead to fewer", counts)
	}
}

func TestEachGroupLeadsToItsOwnEntries(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	for by, parameter := range map[string]string{"": "fingerprint", "cause": "category", "agent": "agent"} {
		eachGroup(t, s, by, parameter)
	}
}

func TestCausesStandUnderTheirCategoryAndTheGroupingIsKept(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	page := s.get(t, "/dlq?by=cause&status=open&agent=cto", 200)
	wants{
		"#groups .btn-group a[aria-current]": "Cause", "#groups h3": "", "#query input[name=by][value=cause]": "", "#filters input[name=by][value=cause]": "", "#filters input[name=status][value=open]": "",
		"#filters input[type=hidden][name=agent]": "=0", `#states a[href*="by=cause"]`: "", `#groups .btn-group a[href="/dlq?agent=cto&by=agent&status=open"]`: "Agent", `[data-copy-link][href*="by=cause"]`: "",
	}.check(t, page)
	open := page.Find("#stats a:first-child")
	if all := s.get(t, open.AttrOr("href", ""), 200).Find("#rows tr").Length(); text(open.Find(".v")) != strconv.Itoa(all) {
		t.Errorf("%s are open, and the link leads to %d", text(open.Find(".v")), all)
	}
	seen := map[string]bool{}
	page.Find("#groups h3").Each(func(_ int, h *goquery.Selection) {
		if seen[h.Text()] {
			t.Errorf("%q stands above two parts", h.Text())
		}
		seen[h.Text()] = true
	})
	all := text(page.Find("#groups li").First().Find("b"))
	if rows := page.Find("#rows tr").Length(); all != strconv.Itoa(rows) {
		t.Errorf("all groups have %s, the list %d", all, rows)
	}
}

// eachGroup looks at the lists of all groups of the list that is grouped in one way.
func eachGroup(t *testing.T, s *site, by, parameter string) {
	t.Helper()
	page := s.get(t, "/dlq?by="+by, 200)
	links := page.Find("#groups .group a")
	if links.Length() < 2 {
		t.Fatalf("%d groups", links.Length())
	}
	if bars := page.Find("#groups svg.deaths"); bars.Length() != page.Find("#groups .group").Length() || bars.Find("rect.f-dead").Length() < bars.Length() {
		t.Errorf("%d groups draw %d times when they died, with %d bars", page.Find("#groups .group").Length(), bars.Length(), bars.Find("rect.f-dead").Length())
	}
	seen := map[string]bool{}
	for i := range links.Length() {
		link := links.Eq(i)
		href, _ := link.Attr("href")
		if u, err := url.Parse(href); err != nil || u.Query().Get(parameter) == "" || u.Query().Get("by") != by || seen[href] {
			t.Errorf("group %d leads to %q, which names no such group, or is that of another group", i, href)
		}
		seen[href] = true
		got := s.get(t, href, 200)
		if rows, want := got.Find("#rows tr").Length(), strings.TrimSpace(link.Find("b").Text()); want != strconv.Itoa(rows) {
			t.Errorf("group %q says %s, its list has %d", link.Find(".name").Text(), want, rows)
		}
		if got.Find("#groups li a[aria-current]").Length() != 1 {
			t.Errorf("the group of %q is not marked", href)
		}
	}
}

func TestAFreshDeathDoesNotReadUnclassifiedBeforeItWasLookedAt(t *testing.T) {
	t.Parallel()
	story := webtest.NewStory(noon)
	m := story.Publish("tsk-fresh", "cto", "review", "Just died", -20*time.Second, "")
	story.Deliver(m, 1, -10*time.Second)
	story.Say(lifecycle.Terminated, m, 1, -time.Second, lifecycle.Detail{})
	s := newSite(t, story.Batch)
	list := s.get(t, "/dlq?status=all", 200)
	wants{"#rows td.why": "its worker terminated it and said no reason not classified yet"}.check(t, list)
	entry := s.get(t, list.Find("#rows a.title").AttrOr("href", ""), 200)
	wants{"#why .body": "its worker terminated it and said no reason"}.check(t, entry)
	for where, words := range map[string]string{"list": text(list.Find("#rows")), "entry": text(entry.Find("#why"))} {
		if strings.Contains(words, "unclassified") {
			t.Errorf("the %s says %q", where, words)
		}
	}
}

func TestAnEntrySaysWhatIsKnownOfEffects(t *testing.T) {
	t.Parallel()
	story := webtest.NewStory(noon)
	quiet := story.Publish("tsk-quiet", "cto", "review", "Without a word", -30*time.Minute, "")
	loud := story.Publish("tsk-loud", "cto", "deployment", "With two steps", -30*time.Minute, "")
	for _, m := range []webtest.Message{quiet, loud} {
		story.Deliver(m, 1, -29*time.Minute)
	}
	for i, kind := range []lifecycle.Kind{lifecycle.ReportStepIntent, lifecycle.ReportStepReceipt, lifecycle.ReportStepIntent} {
		story.Report(kind, loud, 1, -28*time.Minute+time.Duration(i)*time.Second, lifecycle.Detail{StepReport: lifecycle.StepReport{StepID: []string{"a", "a", "b"}[i], StepClass: "unsafe", Tool: "kubectl"}})
	}
	for _, m := range []webtest.Message{quiet, loud} {
		story.Say(lifecycle.Terminated, m, 1, -20*time.Minute, lifecycle.Detail{Ending: lifecycle.Ending{Reason: "dependency_unavailable: registry"}})
	}
	untaken := story.Publish("tsk-untaken", "legal", "review", "For nobody", -30*time.Minute, "")
	story.Tell(lifecycle.Orphaned, lifecycle.Broker, untaken, 0, -25*time.Minute, lifecycle.Detail{})
	story.Tell(lifecycle.DeadLettered, lifecycle.Recorded, untaken, 0, -24*time.Minute, lifecycle.Detail{DeadLetter: lifecycle.DeadLetter{Category: "unclassified", Path: "filter_rejected", Entry: "DLQ:9"}})
	s := newSite(t, story.Batch)
	page := s.get(t, "/dlq/"+untaken.Key.String(), 200)
	wants{"#entry-state": "after nobody took it for 5 m", "#plan header .state": "start the agent first", "#plan dl": "Strategystart the agent, then retry once",
		"#plan .body p:first-child": "No consumer took its subject. Until one does, a retry dies the same way: start the agent, or reassign it."}.check(t, page)
	wants{"#rows tr[data-id='" + untaken.Key.String() + "'] .next .state": "start the agent first"}.check(t, s.get(t, "/dlq?status=open", 200))
	wants{"#facts": "5 m waiting", "#timeline": "No attempt"}.check(t, s.get(t, "/tasks/tsk-untaken", 200))
	for m, want := range map[webtest.Message]string{quiet: "none was seen in a report or a log", loud: "2 steps announced, 1 of them not confirmed"} {
		page := s.get(t, "/dlq/"+m.Key.String(), 200)
		wants{"#plan .kv": want, "#entry-state": "after 1 delivery, 9 m of work"}.check(t, page)
	}
}
