package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"fleetglass/internal/health"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/reconcile"
	"fleetglass/web/webtest"
)

// reconciling gives a site a service over its store that keeps reports and makes none.
func reconciling(c *setup) {
	runner, err := reconcile.New(reconcile.Config{Store: c.Store.(reconcile.Store), Now: c.Now})
	if err != nil {
		panic(err)
	}
	c.Reconcile = runner
}

// reported gives it some reports besides.
func reported(c *setup) {
	reconciling(c)
	story := webtest.NewStory(noon)
	story.RecordOnly()
	if _, err := c.Store.(lifecycle.Appender).Append(context.Background(), story.Batch); err != nil {
		panic(err)
	}
	if err := webtest.Reports(context.Background(), c.Store.(reconcile.RunStore), c.Now()); err != nil {
		panic(err)
	}
}

func TestThePageOfReconciliations(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, reported)
	for path, want := range map[string]wants{
		"/reconciliation": {
			"h1": "Reconciliation", `.nav a[aria-current="page"]`: "Reconciliation", "#nav-reconciliation.bad": "40 discrepancies",
			"#pending [data-running]": "Judging messages: 1,200 of about 4,800 messages.", "#equation .verdict.bad": "3 messages are unexplained.",
			"#equation .sub.push": "requested by ceo, as of 2 h ago",
			".equation li":        "=8", ".equation li:first-child": "Published", ".equation li:nth-child(2) .term": "Completed", ".equation li:last-child.bad .op": "+",
			".equation li:last-child a[href='#outcome_unexplained']": "Unexplained 3", ".equation li:nth-child(7).bad": "Exhausted 1",
			".balance tbody tr": "=8", ".balance tbody tr:first-child th": "agent not known", ".balance tfoot th": "Total", ".balance a[href='/agents/cso']": "cso",
			"#completed_not_acked h2": "Completed, not acknowledged 31", "#completed_not_acked tbody tr": "=15", "#completed_not_acked footer": "And 16 more.",
			"#completed_not_acked .what": "What to do:", "#acked_not_recorded a.title[href='/tasks/orders%2F2026%2F11%20weird%20id%3F&%23%25']": "orders/2026",
			"#recorded_unpublished script": "=0", "#recorded_unpublished .title": `HYPERLINK("http://evil.example")<script>`, "#never_seen .dim": "2 messages", "#never_seen td .mono": "TASKS:46500–46501",
			"#outcome_unexplained small": "It left the stream between two polls", "#clean li": "=1", "#clean .say": "=0",
			"#compared dd": "Sequences 45902 to 48748, 2,845 known here; compared with the stream, which holds 17 of them.", "#compared .note": "What happened in the last minute",
			"#earlier tbody tr": "=4", "#earlier tr.on": "13 Nov 2026 09:00 to 20 Nov 2026 09:00", "#earlier tbody tr:nth-child(3) .state": "failed",
			`form[action="/reconciliation"] button[type="submit"]`: "Reconcile now", `a[download][href$="c?format=csv"]`: "CSV", `a[download][href$="c?format=json"]`: "JSON file",
			"#curl": "/api/v1/reconciliations/c'", ".banner.bad": "=0",
		},
		"/reconciliation?id=a": {
			"#equation .verdict.ok": "Balanced: every message is accounted for.", "#clean .say": "All healthy: nothing is wrong with 2,923 messages.", "#clean li": "=10",
			"#pending .banner.warn": "This is an earlier report.", "#report section[id$=acked]": "=0", ".equation li:last-child.ok": "Unexplained 0",
		},
		"/reconciliation?id=b":     {"#report .empty.bad .say": "This reconciliation failed", "#report .empty a": "The newest report", `a[download]`: "=0"},
		"/reconciliation?id=d":     {"#report .empty.run .say": "This reconciliation is not done yet."},
		"/reconciliation?before=c": {"#earlier tbody tr": "=2", "#earlier a[rel='prev']": "Newer", "#earlier a[rel='next']": "=0"},
		"/":                        {"#attention": "40 discrepancies between published and completed work", "#attention footer": "Reconciliation 2 h ago: 40 discrepancies."},
		"/duplicates": {
			"main a[href='/reconciliation']": "reconciliation", "#balance .verdict.bad": "3 messages are unexplained.", "#balance .equation li": "=8", "#balance .sub": "as of 2 h ago",
			"#balance li:last-child.bad a[href='/reconciliation#outcome_unexplained']": "Unexplained 3", "#balance a[href='/dlq?status=all']": "In DLQ",
		},
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			want.check(t, s.get(t, path, 200))
		})
	}
	wants{"h1": "No such reconciliation"}.check(t, s.get(t, "/reconciliation?id=nowhere", 404))
}

func TestAFailureAfterTheNewestReportIsShown(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, reconciling)
	keeper := s.store.(reconcile.RunStore)
	later := reconcile.Run{ID: "z", Slot: "z", Status: reconcile.StatusFailed, Failure: "<b>The store went away.</b>"}
	if _, _, err := keeper.CreateReconciliation(t.Context(), later); err != nil {
		t.Fatal(err)
	}
	wants{"#pending .banner.bad[role=alert]": "<b>The store went away.</b>", "#report .say": "No reconciliation has been made yet."}.check(t, s.get(t, "/reconciliation", 200))
}

func TestWhyThereIsNoReport(t *testing.T) {
	t.Parallel()
	rich := webtest.Rich(noon).Batch
	for name, tt := range map[string]struct {
		batch lifecycle.Batch
		edit  func(*setup)
		want  wants
	}{
		"none made": {rich, reconciling, wants{"#report .empty.run .say": "No reconciliation has been made yet.", "#earlier": "=0", ".nav a[href='/reconciliation'] .n": "=0"}},
		"no fleet":  {lifecycle.Batch{}, reconciling, wants{"#report .empty.run": "No task is stored, so there is nothing to compare."}},
		"none here": {rich, func(*setup) {}, wants{"#report .empty.warn .say": "This server makes no reconciliations.", "form[method=post]": "=0"}},
		"read-only": {rich, func(c *setup) { reported(c); c.Access.ReadOnly = true }, wants{"#equation .verdict": "unexplained", "form[method=post]": "=0"}},
		"the store is down": {rich, func(c *setup) {
			reconciling(c)
			c.Health = health.ReporterFunc(func() []health.Part { return []health.Part{{Name: "store", Kind: "store", State: health.Down}} })
		}, wants{"#report .empty.warn .say": "No report can be made: the store is down.", "#report .empty a": "Capture"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.want.check(t, newSite(t, tt.batch, tt.edit).get(t, "/reconciliation", 200))
		})
	}
}

// post sends the form and returns the answer without following it.
func (s *site) post(t *testing.T, form url.Values, cookies ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/reconciliation", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Cookie", strings.Join(cookies, "; "))
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer
}

func TestTheFormAsksOnceForItsPeriod(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, reconciling)
	form := url.Values{"key": {s.get(t, "/reconciliation", 200).Find(`input[name="key"]`).AttrOr("value", "")}, "from": {"2026-11-01T00:00"}, "to": {"2026-11-02T00:00"}}
	first, again := s.post(t, form, "fleetglass_tz=Europe%2FBerlin"), s.post(t, form, "fleetglass_tz=Europe%2FBerlin")
	to := first.Header.Get("Location")
	if first.StatusCode != http.StatusSeeOther || !strings.HasPrefix(to, "/reconciliation?id=") || again.Header.Get("Location") != to {
		t.Fatalf("first %d to %q, again %d to %q", first.StatusCode, to, again.StatusCode, again.Header.Get("Location"))
	}
	wants{"#pending .banner.run": "A reconciliation is queued.", "#report .say": "This reconciliation is not done yet."}.check(t, s.get(t, to, 200))
	made, err := s.store.(reconcile.RunStore).Reconciliations(t.Context(), "", 10)
	if err != nil || len(made) != 1 {
		t.Fatalf("%d were asked for, %v; want 1", len(made), err)
	}
	if got, want := made[0].Period.From.Time(), time.Date(2026, 10, 31, 23, 0, 0, 0, time.UTC); !got.Equal(want) {
		t.Errorf("from %s, want %s: the form is in the reader's zone", got, want)
	}
	for name, bad := range map[string]struct {
		form   url.Values
		status int
	}{
		"another period": {url.Values{"key": form["key"]}, 422},
		"empty period":   {url.Values{"from": {"2026-11-02T00:00"}, "to": {"2026-11-01T00:00"}}, 400},
		"future":         {url.Values{"from": {"2027-11-02T00:00"}}, 400},
		"no time":        {url.Values{"from": {"yesterday"}}, 400},
		"large":          {url.Values{"from": {strings.Repeat("x", 20_000)}}, 400},
	} {
		if got := s.post(t, bad.form); got.StatusCode != bad.status {
			t.Errorf("%s: got %d, want %d", name, got.StatusCode, bad.status)
		}
	}
}

func TestReadOnlyPagesTakeNoForm(t *testing.T) {
	t.Parallel()
	s := newSite(t, lifecycle.Batch{}, reconciling, func(c *setup) { c.Access.ReadOnly = true })
	if got := s.post(t, url.Values{}); got.StatusCode != http.StatusForbidden {
		t.Errorf("got %d, want 403", got.StatusCode)
	}
}

func TestThePageFollowsARunningReconciliation(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, reconciling)
	b := openTab(t, testkit.Browser(t), s)
	b.open(t, "/reconciliation")
	b.press(t, "gr")
	b.click(t, `form[action="/reconciliation"] button[type="submit"]`)
	b.until(t, `location.search.startsWith("?id=") && !!document.querySelector("#pending [data-running]")`)
	keeper := s.store.(reconcile.RunStore)
	made, err := keeper.Reconciliations(t.Context(), "", 1)
	if err != nil || len(made) != 1 {
		t.Fatalf("got %d reconciliations, %v", len(made), err)
	}
	r := made[0]
	r.Status, r.Report = reconcile.StatusDone, &reconcile.Report{AsOf: lifecycle.MicrosOf(noon), Period: r.Period, Total: reconcile.Balance{Published: 5, Completed: 5}}
	if err := keeper.SaveReconciliation(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	b.until(t, `document.querySelector("#equation .verdict")?.textContent.includes("Balanced")`)
	if got := eval[string](t, b, `document.querySelector(".equation").textContent.replace(/\s+/g, " ").trim()`); !strings.HasPrefix(got, "Published 5= Completed 5+ In flight 0") {
		t.Errorf("equation: %q", got)
	}
	b.do(t, "wait", chromedp.WaitReady(chromedp.CSS("#earlier tr.on")))
	if n := fmt.Sprint(eval[int](t, b, `document.querySelectorAll("#pending .banner").length`)); n != "0" {
		t.Errorf("%s banners are left", n)
	}
}
