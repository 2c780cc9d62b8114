package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fleetglass/lifecycle"
)

func taskIDs(rows []TaskRow) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = r.TaskID
	}
	return out
}

func TestTasksAreListedWithTheirFacts(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		f.worker("marketing")
		f.published("blog", "marketing", 7, func(e *lifecycle.Event) { e.Detail.Title = `<script>alert("1")</script>` })
		f.delivered("blog", "marketing", 7, 1)
		f.did(lifecycle.Heartbeat, "blog", "marketing", 7, 1)
		f.completed("post", "cto", 8)
		f.commit()
		list := get[List[TaskRow]](f, "/api/v1/tasks")
		if diff := cmp.Diff([]string{"post", "blog"}, taskIDs(list.Data)); diff != "" {
			t.Fatalf("order (-want +got):\n%s", diff)
		}
		blog := list.Data[1]
		if blog.State != "processing" || blog.Attempt != 1 || blog.MaxDeliver != 3 || blog.Seq != 7 || blog.Stream != "TASKS" || blog.CompletedAt != 0 {
			t.Errorf("blog = %+v", blog)
		}
		post := list.Data[0]
		if post.State != "completed" || post.CompletedAt == 0 || post.MaxDeliver != 0 || post.RunningMS < 20_000 {
			t.Errorf("post = %+v", post)
		}
		if list.AsOf == 0 || list.Page.Next != "" || list.Page.Prev != "" {
			t.Errorf("envelope = %+v", list)
		}
		raw := f.do("GET", "/api/v1/tasks", "")
		if strings.Contains(string(raw.body), "<script>") {
			t.Errorf("markup of the fleet is not escaped: %s", raw.body)
		}
	})
}

func TestWhatIsNotKnownIsNullAndEveryFieldIsThere(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		f.did(lifecycle.Acked, "", "cto", 9, 0, func(e *lifecycle.Event) { e.ConsumerSeq = 0 })
		f.commit()
		list := get[struct {
			Data []map[string]any `json:"data"`
		}](f, "/api/v1/tasks")
		if len(list.Data) != 1 {
			t.Fatalf("tasks = %v", list.Data)
		}
		for _, name := range []string{"published_at", "attempt", "max_deliver", "title", "type", "category"} {
			if v, ok := list.Data[0][name]; !ok || v != nil {
				t.Errorf("%s = %v (there: %v), want null", name, v, ok)
			}
		}
	})
}

func TestTimesAreUTCWithFractionsAndSequencesAreStrings(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		const seq = 1<<63 - 25
		f.published("far", "cto", seq)
		f.commit()
		body := string(f.do("GET", "/api/v1/tasks", "").body)
		if want := fmt.Sprintf(`"seq":"%d"`, uint64(seq)); !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, body)
		}
		if !regexp.MustCompile(`"published_at":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"`).MatchString(body) {
			t.Errorf("published_at has another form in %s", body)
		}
	})
}

func TestFiltersAreThoseOfThePages(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		f.published("a-1", "cto", 1)
		f.published("a-2", "marketing", 2, func(e *lifecycle.Event) { e.Detail.Type = "code_review" })
		f.completed("b-1", "cto", 3)
		f.commit()
		cases := map[string][]string{
			"":                                       {"b-1", "a-2", "a-1"},
			"sort=published":                         {"a-1", "a-2", "b-1"},
			"agent=cto":                              {"b-1", "a-1"},
			"agent=cto&agent=marketing":              {"b-1", "a-2", "a-1"},
			"agent=cto&state=completed":              {"b-1"},
			"q=state%3Apublished+type%3Acode_review": {"a-2"},
			"id=a-*":                                 {"a-2", "a-1"},
			"q=title+b-1":                            {"b-1"},
			"q=-state%3Acompleted+-a-1":              {"a-2"},
			"q=TASKS%3A2":                            {"a-2"},
			"q=published%3A%3C2h+attempt%3A%3C1":     {"a-2", "a-1"},
			"from=1h":                                {"b-1", "a-2", "a-1"},
			"to=1h":                                  {},
			"state=":                                 {"b-1", "a-2", "a-1"},
		}
		for query, want := range cases {
			if diff := cmp.Diff(want, taskIDs(get[List[TaskRow]](f, "/api/v1/tasks?"+query).Data)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", query, diff)
			}
		}
	})
}

func TestCountsHaveEveryState(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		f.published("a", "cto", 1)
		f.completed("b", "cto", 2)
		f.completed("c", "marketing", 3)
		f.commit()
		all := get[TaskCounts](f, "/api/v1/tasks/counts")
		if all.Total != 3 || all.Counts["completed"] != 2 || all.Counts["published"] != 1 || len(all.Counts) != len(lifecycle.States()) {
			t.Errorf("all = %+v", all)
		}
		cto := get[TaskCounts](f, "/api/v1/tasks/counts?agent=cto&state=published")
		if cto.Total != 2 || cto.Counts["completed"] != 1 {
			t.Errorf("cto = %+v", cto)
		}
	})
}

func TestWrongRequestsSayWhatIsWrong(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		cases := []struct{ query, code, pointer string }{
			{"colour=red", "unknown_parameter", "/query/colour"},
			{"a%2Fb=1", "unknown_parameter", "/query/a~1b"},
			{"state=lost", "invalid_parameter", "/query/state"},
			{"limit=0", "invalid_parameter", "/query/limit"},
			{"limit=201", "invalid_parameter", "/query/limit"},
			{"limit=ten", "invalid_parameter", "/query/limit"},
			{"limit=1&limit=2", "invalid_parameter", "/query/limit"},
			{"from=yesterday", "invalid_parameter", "/query/from"},
			{"sort=agent", "invalid_parameter", "/query/sort"},
			{"q=%22open", "invalid_parameter", "/query/q"},
			{"q=stat:failed", "invalid_parameter", "/query/q"},
			{"q=-state:dead", "invalid_parameter", "/query/state"},
			{"q=duration:30s", "invalid_parameter", "/query/duration"},
			{"anomaly=odd", "invalid_parameter", "/query/anomaly"},
			{"cursor=zzzz", "invalid_cursor", "/query/cursor"},
			{"x=%ff%00", "unknown_parameter", "/query/x"},
		}
		for _, c := range cases {
			p := f.refused(f.do("GET", "/api/v1/tasks?"+c.query, ""), 400, c.code)
			fields, _ := p["errors"].([]any)
			if len(fields) != 1 || fields[0].(map[string]any)["pointer"] != c.pointer {
				t.Errorf("%s: errors = %v, want %s", c.query, fields, c.pointer)
			}
		}
		f.refused(f.do("GET", "/api/v1/tasks?x=%zz", ""), 400, "bad_request")
		f.refused(f.do("GET", "/api/v1/in-flight?stale_kind=odd", ""), 400, "invalid_parameter")
		f.refused(f.do("GET", "/api/v1/tasks/none?verbose=1", ""), 400, "unknown_parameter")
	})
}

// walk reads a list to its end by one of its links, and returns the rows in the order of the pages.
func walk(f *fixture, target, rel string, between func(page int)) (rows []TaskRow, lastTarget string) {
	f.t.Helper()
	for page := 0; ; page++ {
		if page > 100 {
			f.t.Fatal("the walk does not end")
		}
		a := f.do("GET", target, "")
		if a.status != 200 {
			f.t.Fatalf("GET %s: %d %s", target, a.status, a.body)
		}
		rows = append(rows, parse[List[TaskRow]](f.t, a.body).Data...)
		next := linkOf(a.header.Get("Link"), rel)
		if next == "" {
			return rows, target
		}
		target = next
		between(page)
	}
}

func linkOf(header, rel string) string {
	for part := range strings.SplitSeq(header, ", <") {
		address, params, _ := strings.Cut(strings.TrimPrefix(part, "<"), ">")
		if strings.Contains(params, `rel="`+rel+`"`) {
			return address
		}
	}
	return ""
}

func TestAWalkIsCompleteWithoutRepeatsWhileRowsAreInserted(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		want := []string{}
		for i := range 23 {
			id := fmt.Sprintf("old-%02d", i)
			f.published(id, "cto", uint64(i+1))
			want = append([]string{id}, want...)
		}
		f.commit()
		next := uint64(1000)
		insert := func(int) {
			f.published(fmt.Sprintf("new-%d", next), "cto", next)
			next++
			f.commit()
		}
		forward, last := walk(f, "/api/v1/tasks?limit=5&agent=cto", "next", insert)
		if diff := cmp.Diff(want, taskIDs(forward)); diff != "" {
			t.Fatalf("forward (-want +got):\n%s", diff)
		}
		backward, _ := walk(f, last, "prev", insert)
		got := taskIDs(backward)
		slices.Sort(got)
		if len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Errorf("backward repeats rows: %v", got)
		}
		for _, id := range want {
			if !slices.Contains(got, id) {
				t.Errorf("backward misses %s", id)
			}
		}
	})
}

func TestACursorBelongsToItsList(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		for i := range 5 {
			f.published(fmt.Sprint("t", i), "cto", uint64(i+1))
		}
		f.commit()
		cursor := string(get[List[TaskRow]](f, "/api/v1/tasks?limit=2&agent=cto&agent=ceo").Page.Next)
		ok := get[List[TaskRow]](f, "/api/v1/tasks?limit=3&agent=ceo&agent=cto&state=&cursor="+cursor)
		if len(ok.Data) != 3 {
			t.Errorf("the same filter in other words: %d rows, want 3", len(ok.Data))
		}
		flipped := "A" + cursor[1:]
		if flipped == cursor {
			flipped = "B" + cursor[1:]
		}
		for name, target := range map[string]string{
			"another filter": "/api/v1/tasks?agent=cto&cursor=" + cursor,
			"another order":  "/api/v1/tasks?agent=cto&agent=ceo&sort=published&cursor=" + cursor,
			"another call":   "/api/v1/in-flight?agent=cto&agent=ceo&cursor=" + cursor,
			"tampered":       "/api/v1/tasks?agent=cto&agent=ceo&cursor=" + flipped,
			"cut":            "/api/v1/tasks?agent=cto&agent=ceo&cursor=" + cursor[:len(cursor)-2],
			"long":           "/api/v1/tasks?agent=cto&agent=ceo&cursor=" + strings.Repeat("A", 5000),
		} {
			if p := f.refused(f.do("GET", target, ""), 400, "invalid_cursor"); p["retryable"] != false {
				t.Errorf("%s: retryable", name)
			}
		}
	})
}

func TestARelativeRangeStandsStillDuringAWalk(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		for i := range 6 {
			f.published(fmt.Sprint("t", i), "cto", uint64(i+1))
		}
		f.commit()
		rows, _ := walk(f, "/api/v1/tasks?from=10m&limit=2", "next", func(int) { f.pass(5 * time.Minute) })
		if len(rows) != 6 {
			t.Errorf("walked %d rows, want 6: %v", len(rows), taskIDs(rows))
		}
	})
}

func TestEntityTags(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		f.worker("cto")
		f.published("a", "cto", 1)
		f.published("b", "cto", 2)
		f.delivered("a", "cto", 1, 1)
		f.did(lifecycle.Heartbeat, "a", "cto", 1, 1)
		f.commit()
		for _, target := range []string{"/api/v1/tasks?limit=1", "/api/v1/tasks/a", "/api/v1/tasks/counts", "/api/v1/agents", "/api/v1/agents/cto", "/openapi.json", "/api/docs"} {
			tag := f.do("GET", target, "").header.Get("ETag")
			f.pass(2 * time.Second)
			same := f.do("GET", target, "", "If-None-Match", `"other", `+tag)
			if tag == "" || same.status != http.StatusNotModified || len(same.body) != 0 || same.header.Get("ETag") != tag {
				t.Errorf("%s: tag %q: %d %s", target, tag, same.status, same.body)
			}
			if head := f.do("HEAD", target, ""); head.status != 200 || head.header.Get("ETag") != tag {
				t.Errorf("HEAD %s: %d %v", target, head.status, head.header)
			}
		}
		before := f.do("GET", "/api/v1/tasks/a", "").header.Get("ETag")
		f.did(lifecycle.Acked, "a", "cto", 1, 1)
		f.commit()
		if after := f.do("GET", "/api/v1/tasks/a", "", "If-None-Match", before); after.status != 200 {
			t.Errorf("after a change: %d", after.status)
		}
	})
}

func TestGapsAreShownWhereTheyOverlap(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		f.published("a", "cto", 1)
		at := lifecycle.MicrosOf(f.clock())
		f.batch.Gaps = append(f.batch.Gaps,
			lifecycle.Gap{Source: "OBS_ACK", From: at, FromSeq: 5, Reason: "was down"},
			lifecycle.Gap{Source: "OBS_PUB", From: at, To: at + 5, Repaired: true},
			lifecycle.Gap{Source: "OBS_OLD", From: at.Add(-48 * time.Hour), To: at.Add(-47 * time.Hour)})
		f.commit()
		want := []GapRef{{Source: "OBS_ACK", From: Instant(at), Reason: "was down"}}
		if diff := cmp.Diff(want, get[List[TaskRow]](f, "/api/v1/tasks").Gaps); diff != "" {
			t.Errorf("list (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, get[Trace](f, "/api/v1/tasks/a").Gaps); diff != "" {
			t.Errorf("trace (-want +got):\n%s", diff)
		}
		all := get[List[Gap]](f, "/api/v1/gaps")
		if len(all.Data) != 3 || all.Data[2].Source != "OBS_OLD" || !slices.ContainsFunc(all.Data, func(g Gap) bool { return g.Repaired }) {
			t.Errorf("gaps = %+v", all.Data)
		}
		first := get[List[Gap]](f, "/api/v1/gaps?limit=2&from=30d")
		rest := get[List[Gap]](f, "/api/v1/gaps?limit=2&from=30d&cursor="+url.QueryEscape(string(first.Page.Next)))
		if diff := cmp.Diff(all.Data, append(first.Data, rest.Data...)); diff != "" {
			t.Errorf("pages (-want +got):\n%s", diff)
		}
	})
}

func TestAListWithoutRowsIsAnEmptyList(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		for _, path := range []string{"/tasks", "/in-flight", "/agents", "/gaps", "/quarantine"} {
			a := f.do("GET", Base+path, "")
			var body map[string]json.RawMessage
			if err := json.Unmarshal(a.body, &body); err != nil || string(body["data"]) != "[]" || string(body["gaps"]) != "[]" {
				t.Errorf("%s: %d %s", path, a.status, a.body)
			}
		}
	})
}

// A field of the filter that the calls did not declare would be refused as an unknown parameter.
func TestTheCallsTakeEveryFieldOfTheFilter(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	for path, without := range map[string]string{"/tasks": "", "/tasks/counts": "sort", "/duplicates/cases": ""} {
		op := f.api.huma.OpenAPI().Paths[Base+path].Get
		for _, name := range lifecycle.FilterParameters() {
			if declared := queryParameter(op, name) != nil; declared == (name == without) {
				t.Errorf("%s declares %s: %v", path, name, declared)
			}
		}
	}
}
