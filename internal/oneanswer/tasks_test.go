package oneanswer

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"

	"fleetglass/api"
	"fleetglass/lifecycle"
	"fleetglass/views"
)

// text is what a reader sees of an element.
func text(s *goquery.Selection) string { return strings.Join(strings.Fields(s.Text()), " ") }

// stat is the value of a figure at the top of a page, by its label.
func stat(doc *goquery.Document, label string) string {
	found := doc.Find("#stats a").FilterFunction(func(_ int, s *goquery.Selection) bool { return text(s.Find(".k")) == label })
	return text(found.Find(".v"))
}

// badge is the count beside an entry of the navigation, without the words for readers who do not see it in place.
func badge(doc *goquery.Document, href string) string {
	n := doc.Find(`.nav a[href="` + href + `"] .n`).Clone()
	n.Find(".vh").Remove()
	return text(n)
}

// equal holds what a page shows to what the API answers.
func equal(t *testing.T, what string, page, answer any) {
	t.Helper()
	if diff := cmp.Diff(answer, page); diff != "" {
		t.Errorf("%s differ (-API +page):\n%s", what, diff)
	}
}

func TestTheFixtureHasEverything(t *testing.T) {
	t.Parallel()
	b := newBoth(t)
	snapshot, err := b.ask.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range lifecycle.States() {
		if snapshot.Counts.Of(s) == 0 {
			t.Errorf("no task is %s", s)
		}
	}
	for _, k := range lifecycle.StaleKinds() {
		if !slices.ContainsFunc(snapshot.InFlight.Leases, func(l lifecycle.Lease) bool { return l.Stale == k }) {
			t.Errorf("no lease is %s", k)
		}
	}
	if len(snapshot.Gaps) < 3 || len(snapshot.AgentNames) < 7 {
		t.Errorf("%d gaps, %d agents", len(snapshot.Gaps), len(snapshot.AgentNames))
	}
}

func TestPageAndAPIListTheSameTasks(t *testing.T) {
	t.Parallel()
	b := newBoth(t)
	for _, query := range []string{"", "?state=dead_lettered", "?agent=cto&sort=published", "?from=24h", "?q=PR"} {
		var page, want []string
		b.page("/tasks" + query).Find("#rows tr[data-id]").Each(func(_ int, row *goquery.Selection) {
			cells := row.Find("td")
			page = append(page, fmt.Sprintln(row.AttrOr("data-id", ""), text(row.Find(".state").First()), text(cells.Eq(4)), text(row.Find("[data-label=attempt]"))))
		})
		for _, r := range answer[api.List[api.TaskRow]](b, "/tasks"+query).Data {
			_, _, word := views.StateLook(lifecycle.State(r.State))
			attempt := fmt.Sprint(int(r.Attempt))
			if r.MaxDeliver > 0 && r.Attempt > 0 {
				attempt += "/" + fmt.Sprint(int(r.MaxDeliver))
			}
			if r.Attempt == 0 {
				attempt = attemptOfPage(b, query, r.TaskID)
			}
			want = append(want, fmt.Sprintln(r.TaskID, word, string(r.Agent), attempt))
		}
		equal(t, "rows of /tasks"+query, page, want)
	}
}

// attemptOfPage is what the page writes where no attempt is known: words of its own.
func attemptOfPage(b both, query, id string) string {
	row := b.page("/tasks" + query).Find("#rows tr[data-id]").FilterFunction(func(_ int, s *goquery.Selection) bool { return s.AttrOr("data-id", "") == id })
	return text(row.Find("[data-label=attempt]"))
}

func TestPageAndAPICountTheSameTasks(t *testing.T) {
	t.Parallel()
	b := newBoth(t)
	counts := answer[api.TaskCounts](b, "/tasks/counts")
	doc := b.page("/tasks")
	for _, s := range lifecycle.States() {
		equal(t, "tasks that are "+string(s), text(doc.Find(`#states a[href$="state=`+string(s)+`"] .n`)), views.Count(counts.Counts[string(s)]))
	}
	open := answer[api.List[api.Entry]](b, "/dlq?status=open&limit=200")
	equal(t, "open dead letters in the navigation", badge(doc, "/dlq?status=open"), fmt.Sprint(len(open.Data)))
}

func TestPageAndAPIAndNavigationShowTheSameLeases(t *testing.T) {
	t.Parallel()
	b := newBoth(t)
	list := answer[api.InFlightList](b, "/in-flight?limit=200")
	doc := b.page("/in-flight")
	page, want := map[string]string{}, map[string]string{}
	doc.Find("#leases tbody").Each(func(_ int, group *goquery.Selection) {
		group.Find("tr[data-id]").Each(func(_ int, row *goquery.Selection) {
			deadline := row.Find("[data-deadline]").AttrOr("data-deadline", "")
			p95 := strings.TrimPrefix(text(row.Find("[data-label=held] small")), "p95 ≈ ")
			page[row.AttrOr("data-id", "")] = fmt.Sprintln(group.AttrOr("id", ""), text(row.Find("[data-label=attempt]")), deadline, p95)
		})
	})
	for _, l := range list.Data {
		kind, attempt, deadline, p95 := string(l.StaleKind), fmt.Sprint(int(l.Attempt)), "", ""
		if kind == "" {
			kind = "healthy"
		}
		if l.MaxDeliver > 0 {
			attempt += "/" + fmt.Sprint(int(l.MaxDeliver))
		}
		if l.DeadlineAt != 0 {
			deadline = lifecycle.Micros(l.DeadlineAt).Time().Format("2006-01-02T15:04:05.000Z")
		}
		if l.Typical.Value != nil {
			p95 = lifecycle.Lasting(time.Duration(l.Typical.Value.P95MS) * time.Millisecond)
		}
		want[l.TaskID] = fmt.Sprintln(kind, attempt, deadline, p95)
	}
	equal(t, "leases", page, want)
	figures := answer[api.FleetStats](b, "/stats/fleet").Figures
	held := fmt.Sprint(*figures.InFlight.Value)
	equal(t, "leases in the navigation", badge(doc, "/in-flight"), held)
	overview := b.page("/")
	equal(t, "leases on the overview", stat(overview, "In flight"), held)
	equal(t, "stale leases", stat(overview, "Stale"), fmt.Sprint(*figures.StaleInFlight.Value))
}

func TestPageAndAPISayTheSameOfAgents(t *testing.T) {
	t.Parallel()
	b := newBoth(t)
	doc := b.page("/agents")
	var names, want []string
	doc.Find("#rows tr[data-id]").Each(func(_ int, row *goquery.Selection) { names = append(names, row.AttrOr("data-id", "")) })
	for _, a := range answer[api.List[api.Agent]](b, "/agents?limit=200").Data {
		want = append(want, a.Agent)
		row := doc.Find("#rows tr[data-id]").FilterFunction(func(_ int, s *goquery.Selection) bool { return s.AttrOr("data-id", "") == a.Agent })
		for label, n := range map[string]int64{
			"waiting": a.States["published"], "published": a.Throughput.PublishedDay, "completed": a.Throughput.CompletedDay,
			"failed attempts": a.Failures.AttemptsDay, "died": a.Failures.DiedDay,
		} {
			equal(t, a.Agent+" "+label, text(row.Find(`[data-label="`+label+`"]`)), views.Count(n))
		}
		one := b.page("/agents/" + url.PathEscape(a.Agent))
		equal(t, a.Agent+" in hand", stat(one, "In flight"), fmt.Sprint(a.InFlight))
		if d := a.Durations.Value; d != nil {
			equal(t, a.Agent+" p50", text(row.Find("[data-label=p50]")), views.Approximately(time.Duration(d.P50MS)*time.Millisecond))
			equal(t, a.Agent+" run time", stat(one, "Median run time"), views.Approximately(time.Duration(d.P50MS)*time.Millisecond))
		}
	}
	equal(t, "agents", names, want)
	equal(t, "agents in the navigation", badge(doc, "/agents"), fmt.Sprint(len(want)))
}

func TestPageAndAPIGiveTheSameAnswersAboutATask(t *testing.T) {
	t.Parallel()
	b := newBoth(t)
	ids := []string{"tsk-lost"}
	for _, s := range lifecycle.States() {
		for _, r := range answer[api.List[api.TaskRow]](b, "/tasks?limit=3&state="+string(s)).Data {
			ids = append(ids, r.TaskID)
		}
	}
	for _, id := range ids {
		trace := answer[api.Trace](b, "/tasks/"+url.PathEscape(id))
		doc := b.page("/tasks/" + url.PathEscape(id))
		_, _, word := views.StateLook(lifecycle.State(trace.State))
		equal(t, id+": state", text(doc.Find("#task-state .state")), word)
		var said []string
		doc.Find("#answers .why").Each(func(_ int, s *goquery.Selection) { said = append(said, text(s)) })
		equal(t, id+": answers", said, []string{trace.Answers.Ownership.Text, trace.Answers.LastReceipt.Text, trace.Answers.Recovery.Text})
		equal(t, id+": gaps", doc.Find(".banner.gap").Length() > 0, len(trace.Gaps) > 0)
		facts := text(doc.Find("#facts"))
		for _, span := range []int64{trace.RunningMS, trace.WaitingMS} { // The page leaves out what is zero.
			if d := lifecycle.Lasting(time.Duration(span) * time.Millisecond); span != 0 && !strings.Contains(facts, d) {
				t.Errorf("%s: the page does not say %s: %s", id, d, facts)
			}
		}
	}
}

// The lines of one publish may be stored some time apart, so a gap just before it concerns it: whether it was stored is not known then.
func TestAGapJustBeforeAPublishForbidsToPublishItAgain(t *testing.T) {
	t.Parallel()
	b := newBoth(t)
	for what, said := range map[string]string{
		"page": text(b.page("/tasks/tsk-lost").Find("#answers")), "API": answer[api.Trace](b, "/tasks/tsk-lost").Answers.Recovery.Text,
		"report": b.get("/api/v1/tasks/tsk-lost/report").Body.String(),
	} {
		if !strings.Contains(strings.ToLower(said), "look for its effect") {
			t.Errorf("the %s says: %s", what, said)
		}
	}
	if n := len(answer[api.List[api.Event]](b, "/tasks/tsk-lost/events").Gaps); n != 1 {
		t.Errorf("the events name %d gaps, want 1", n)
	}
}

func TestTheJSONTabIsTheAnswerOfTheAPI(t *testing.T) {
	t.Parallel()
	b := newBoth(t)
	shown := b.page("/tasks/tsk-7f3a91?tab=json").Find("pre.payload").Text()
	pretty, _ := views.PrettyJSON(b.get("/api/v1/tasks/tsk-7f3a91").Body.Bytes(), 256<<10)
	equal(t, "JSON", shown, pretty)
}

func TestPageAndAPIShowTheSameFigures(t *testing.T) {
	t.Parallel()
	b := newBoth(t)
	f, doc := answer[api.FleetStats](b, "/stats/fleet"), b.page("/")
	equal(t, "reached execution", strings.TrimSuffix(stat(doc, "Reached execution"), " seen"), views.Count(int64(*f.Figures.DuplicatesExecuted.Value)))
	equal(t, "caught", stat(doc, "Duplicates caught"), views.Count(int64(*f.Figures.DuplicatesCaughtByStream.Value)))
	open := answer[api.List[api.Entry]](b, "/dlq?status=open&limit=200")
	equal(t, "open dead letters", stat(doc, "Dead letters open"), views.Count(int64(len(open.Data))))
	equal(t, "dead, not in DLQ", stat(doc, "Dead, not in DLQ"), views.Count(f.States["exhausted"]+f.States["terminated"]))
}

func TestPageAndAPIShowTheSameDuplicatesAndGaps(t *testing.T) {
	t.Parallel()
	b := newBoth(t)
	for _, bucket := range []string{"month", "day", "hour"} {
		totals := answer[api.DuplicateTable](b, "/duplicates?bucket="+bucket).Totals
		var page []string
		b.page("/duplicates?bucket=" + bucket).Find("#ledger .sum td").Each(func(_ int, c *goquery.Selection) { page = append(page, text(c)) })
		want := []string{}
		for _, n := range []int64{totals.Published, totals.Completed, totals.CaughtByStream, totals.CaughtByIdempotency, totals.ReachedExecution, totals.Unknown, totals.InFlightOrDLQ} {
			want = append(want, views.Count(n))
		}
		equal(t, "totals by "+bucket, page[:min(len(page), len(want))], want)
	}
	var sources, named []string
	b.page("/capture").Find("#gaps tbody tr").Each(func(_ int, row *goquery.Selection) { sources = append(sources, text(row.Find("th, td").First())) })
	for _, g := range answer[api.List[api.Gap]](b, "/gaps").Data {
		named = append(named, g.Source)
	}
	slices.Sort(sources)
	slices.Sort(named)
	equal(t, "gaps", sources, named)
}

func TestTheOverviewNamesWhatNobodyTakes(t *testing.T) {
	t.Parallel()
	b := newBoth(t)
	items := b.page("/").Find("#attention ol.attention").Text()
	if !strings.Contains(items, ": no consumer") {
		t.Errorf("the overview says %q", items)
	}
}
