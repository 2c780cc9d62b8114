package api

import (
	"context"
	"encoding/csv"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fleetglass/lifecycle"
	"fleetglass/reconcile"
)

// shelf is a service that makes nothing: what is asked for stays queued until a test says otherwise.
type shelf struct {
	made  []reconcile.Run // Oldest first.
	keys  map[string]int
	asked []reconcile.Request
}

func (s *shelf) Create(_ context.Context, r reconcile.Request) (reconcile.Run, bool, error) {
	s.asked = append(s.asked, r)
	if r.Period.From.Known() && r.Period.To.Known() && r.Period.From >= r.Period.To {
		return reconcile.Run{}, false, fmt.Errorf("period: %w", reconcile.ErrPeriod)
	}
	if r.Key == "busy" {
		return reconcile.Run{}, false, fmt.Errorf("queue: %w", reconcile.ErrBusy)
	}
	if i, known := s.keys[r.Key]; known && r.Key != "" {
		if s.made[i].Asked != r.Period {
			return reconcile.Run{}, false, fmt.Errorf("key: %w", reconcile.ErrKeyReused)
		}
		return s.made[i], false, nil
	}
	made := exampleMade()
	made.ID, made.Asked, made.Actor = fmt.Sprintf("r%03d", len(s.made)), r.Period, r.Actor
	made.Status, made.StartedAt, made.EndedAt, made.Report = reconcile.StatusQueued, 0, 0, nil
	if s.keys == nil {
		s.keys = map[string]int{}
	}
	s.keys[r.Key] = len(s.made)
	s.made = append(s.made, made)
	return made, true, nil
}

func (s *shelf) Get(_ context.Context, id string) (reconcile.Run, error) {
	for _, r := range s.made {
		if r.ID == id {
			return r, nil
		}
	}
	return reconcile.Run{}, lifecycle.ErrNotFound
}

func (s *shelf) List(_ context.Context, before string, limit int) ([]reconcile.Run, error) {
	var out []reconcile.Run
	for _, r := range slices.Backward(s.made) {
		if (before == "" || r.ID < before) && len(out) < limit {
			out = append(out, r)
		}
	}
	return out, nil
}

func (s *shelf) Latest(context.Context) (reconcile.Run, error) {
	for _, r := range slices.Backward(s.made) {
		if r.Status == reconcile.StatusDone {
			return r, nil
		}
	}
	return reconcile.Run{}, lifecycle.ErrNotFound
}

func shelved(t *testing.T, made ...reconcile.Run) (*fixture, *shelf) {
	t.Helper()
	f, s := newFixture(t, sqliteStore), &shelf{made: made}
	f.reconcile = s
	f.build(Options{})
	return f, s
}

const reconciliationsPath = Base + "/reconciliations"

func TestAReconciliationIsQueuedAndThenReported(t *testing.T) {
	t.Parallel()
	f, s := shelved(t)
	a := f.do("POST", reconciliationsPath, "", "Idempotency-Key", "monday")
	if a.status != http.StatusAccepted {
		t.Fatalf("got %d %s", a.status, a.body)
	}
	queued := parse[Reconciliation](t, a.body)
	if a.header.Get("Location") != queued.Links.Self || queued.Status != "queued" || queued.Balance.Value != nil || queued.Unexplained != nil || queued.Discrepancies != nil {
		t.Errorf("location %q, answer %s", a.header.Get("Location"), a.body)
	}
	if before := get[ReconciliationDetail](f, queued.Links.Self); before.Status != "queued" || len(before.Lists) != 0 || before.Links != queued.Links {
		t.Errorf("queued: %+v", before)
	}
	id := s.made[0].ID
	s.made[0] = exampleMade()
	s.made[0].ID = id
	done := get[ReconciliationDetail](f, queued.Links.Self)
	if b := done.Balance.Value; b == nil || b.Published != b.Completed+b.InFlight+b.InDLQ+b.Terminated+b.Expired+b.Exhausted+b.Unexplained || !b.Balanced {
		t.Errorf("balance %+v", done.Balance.Value)
	}
	if *done.Unexplained != 1 || *done.Discrepancies != 1 || done.Counts["outcome_unexplained"] != 1 || done.Counts["never_seen"] != 0 {
		t.Errorf("unexplained %d, discrepancies %d, counts %v", *done.Unexplained, *done.Discrepancies, done.Counts)
	}
	var kinds []string
	for _, l := range done.Lists {
		kinds = append(kinds, l.Kind)
		if l.Title == "" || l.Meaning == "" || l.Advice == "" || l.Rows == nil {
			t.Errorf("list without words or rows: %+v", l)
		}
	}
	if len(kinds) != len(reconcile.DiscrepancyKinds()) || kinds[0] != "completed_not_acked" {
		t.Errorf("kinds = %v", kinds)
	}
	row := done.Lists[4].Rows[0]
	if row.Stream != "TASKS" || row.Seq != 1042 || row.ToSeq != 0 || row.Count != 1 || row.Links.Task != "/api/v1/tasks/blog-post-118" {
		t.Errorf("row = %+v", row)
	}
}

func TestSequencesBeyondWhatANumberHoldsAreStrings(t *testing.T) {
	t.Parallel()
	made := exampleMade()
	made.Report.Streams[0].ToSeq = 1<<63 + 1
	f, _ := shelved(t, made)
	if a := f.do("GET", reconciliationsPath+"/"+made.ID, ""); !strings.Contains(string(a.body), `"to_seq":"9223372036854775809"`) {
		t.Errorf("got %s", a.body)
	}
}

func TestTheSameKeyGivesTheSameReconciliation(t *testing.T) {
	t.Parallel()
	f, s := shelved(t)
	body := `{"from":"2026-11-01","to":"2026-11-08T00:00:00Z"}`
	first := parse[Reconciliation](t, f.do("POST", reconciliationsPath, body, "X-Idempotency-Key", "k").body)
	again := f.do("POST", reconciliationsPath, body, "Idempotency-Key", "k", "X-Idempotency-Key", "k")
	if got := parse[Reconciliation](t, again.body); again.status != http.StatusAccepted || got.ID != first.ID || len(s.made) != 1 {
		t.Errorf("again: %d %s", again.status, again.body)
	}
	f.refused(f.do("POST", reconciliationsPath, `{"from":"2026-11-02"}`, "Idempotency-Key", "k"), http.StatusUnprocessableEntity, "idempotency_key_reused")
	if other := parse[Reconciliation](t, f.do("POST", reconciliationsPath, body).body); other.ID == first.ID {
		t.Error("without a key every call asks for a new one")
	}
	want := reconcile.Period{
		From: lifecycle.MicrosOf(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)), To: lifecycle.MicrosOf(time.Date(2026, 11, 8, 0, 0, 0, 0, time.UTC)),
	}
	if got := s.asked[0]; got.Period != want || got.Key != "k" {
		t.Errorf("asked for %+v, want %+v", got, want)
	}
}

func TestWhatCannotBeReconciledIsRefused(t *testing.T) {
	t.Parallel()
	f, _ := shelved(t, exampleMade())
	for _, body := range []string{"[]", "{", `{"from":"2026-11-01"} {}`, `{"since":"2026-11-01"}`, `{"from":7}`, `{"from":"1h"}`, `{"to":""}`, `{"from":"2026-11-02","to":"2026-11-01"}`} {
		f.refused(f.do("POST", reconciliationsPath, body), http.StatusBadRequest, "invalid_body")
	}
	f.refused(f.do("POST", reconciliationsPath, "", "Idempotency-Key", "a", "X-Idempotency-Key", "b"), http.StatusBadRequest, "invalid_parameter")
	f.refused(f.do("POST", reconciliationsPath, "", "Idempotency-Key", strings.Repeat("k", 201)), http.StatusBadRequest, "invalid_parameter")
	busy := f.do("POST", reconciliationsPath, "", "Idempotency-Key", "busy")
	if f.refused(busy, http.StatusTooManyRequests, "rate_limited"); busy.header.Get("Retry-After") != "60" {
		t.Errorf("headers %v", busy.header)
	}
	f.refused(f.do("POST", reconciliationsPath+"?dry_run=1", ""), http.StatusBadRequest, "unknown_parameter")
	f.refused(f.do("GET", reconciliationsPath+"/nowhere", ""), http.StatusNotFound, "not_found")
	f.refused(f.do("GET", reconciliationsPath+"/"+exampleMade().ID+"?format=pdf", ""), http.StatusBadRequest, "invalid_parameter")
	f.refused(f.do("GET", reconciliationsPath+"?cursor=x", ""), http.StatusBadRequest, "invalid_cursor")
	f.refused(f.do("GET", reconciliationsPath+"?state=failed", ""), http.StatusBadRequest, "unknown_parameter")
	f.reconcile = nil
	f.build(Options{})
	f.refused(f.do("GET", reconciliationsPath, ""), http.StatusServiceUnavailable, "unavailable")
}

func TestReconciliationsArePagedNewestFirst(t *testing.T) {
	t.Parallel()
	var made []reconcile.Run
	for i := range 7 {
		r := exampleMade()
		r.ID = fmt.Sprint("r", i)
		made = append(made, r)
	}
	f, _ := shelved(t, made...)
	pages := map[string][]string{}
	walk := func(name string, from List[Reconciliation], cursorOf func(Page) Text) {
		for page := from; ; page = get[List[Reconciliation]](f, reconciliationsPath+"?limit=3&cursor="+string(cursorOf(page.Page))) {
			ids := ""
			for _, r := range page.Data {
				ids += r.ID
			}
			pages[name] = append(pages[name], ids)
			if cursorOf(page.Page) == "" {
				return
			}
		}
	}
	first := get[List[Reconciliation]](f, reconciliationsPath+"?limit=3")
	walk("older", first, func(p Page) Text { return p.Next })
	second := get[List[Reconciliation]](f, reconciliationsPath+"?limit=3&cursor="+string(first.Page.Next))
	last := get[List[Reconciliation]](f, reconciliationsPath+"?limit=3&cursor="+string(second.Page.Next))
	walk("newer", last, func(p Page) Text { return p.Prev })
	want := map[string][]string{"older": {"r6r5r4", "r3r2r1", "r0"}, "newer": {"r0", "r3r2r1", "r6r5r4"}}
	if diff := cmp.Diff(want, pages); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
	if link := f.do("GET", reconciliationsPath+"?limit=3", "").header.Get("Link"); !strings.Contains(link, `rel="next"`) {
		t.Errorf("Link: %q", link)
	}
	if empty, _ := shelved(t); len(get[List[Reconciliation]](empty, reconciliationsPath).Data) != 0 {
		t.Error("nothing was made, and something is listed")
	}
}

func TestTheReportIsTagged(t *testing.T) {
	t.Parallel()
	f, s := shelved(t, exampleMade())
	path := reconciliationsPath + "/" + exampleMade().ID
	for _, query := range []string{"", "?format=csv"} {
		tag := f.do("GET", path+query, "").header.Get("ETag")
		f.pass(time.Hour)
		if again := f.do("GET", path+query, "", "If-None-Match", tag); tag == "" || again.status != http.StatusNotModified || len(again.body) != 0 {
			t.Errorf("%q with tag %q: %d, %d bytes", query, tag, again.status, len(again.body))
		}
		s.made[0].Report.Notes = append(s.made[0].Report.Notes, "More.")
		if again := f.do("GET", path+query, "", "If-None-Match", tag); again.status != http.StatusOK {
			t.Errorf("%q after a change: %d", query, again.status)
		}
	}
}

func TestDownloadsHaveAFormAndAName(t *testing.T) {
	t.Parallel()
	f, _ := shelved(t, exampleMade())
	path := reconciliationsPath + "/" + exampleMade().ID
	for _, tt := range []struct{ query, accept, contentType, file string }{
		{"", "", "application/json", ""},
		{"", "*/*", "application/json", ""},
		{"", "text/csv", "text/csv; charset=utf-8; header=present", "fleetglass-reconciliation-20261113T160000Z-20261120T160000Z.csv"},
		{"?format=csv", "application/json", "text/csv; charset=utf-8; header=present", "fleetglass-reconciliation-20261113T160000Z-20261120T160000Z.csv"},
		{"?format=json", "text/csv", "application/json", "fleetglass-reconciliation-20261113T160000Z-20261120T160000Z.json"},
	} {
		a := f.do("GET", path+tt.query, "", "Accept", tt.accept)
		want := ""
		if tt.file != "" {
			want = `attachment; filename="` + tt.file + `"`
		}
		if got := a.header.Get("Content-Disposition"); a.status != 200 || a.header.Get("Content-Type") != tt.contentType || got != want || a.header.Get("Vary") != "Accept" {
			t.Errorf("%q accepting %q: %d %v", tt.query, tt.accept, a.status, a.header)
		}
	}
}

func TestTheTableHasEveryNumberOfTheReport(t *testing.T) {
	t.Parallel()
	made := exampleMade()
	made.Report.Lists[5].Total = 1500
	made.Report.Lists[5].Rows = []reconcile.Discrepancy{{Message: exampleKey(), ToSeq: exampleKey().Seq + 9, Why: "Never seen."}}
	f, _ := shelved(t, made)
	a := f.do("GET", reconciliationsPath+"/"+made.ID+"?format=csv", "")
	if !strings.Contains(string(a.body), "\r\n") {
		t.Error("lines do not end as RFC 4180 says")
	}
	rows, err := csv.NewReader(strings.NewReader(string(a.body))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"row kind stream seq to_seq count task_id agent state at why published completed in_flight in_dlq terminated expired exhausted unexplained",
		"total           2847 2841 4 1 0 0 0 1",
		"balance  TASKS     marketing    2847 2841 4 1 0 0 0 1",
		"discrepancy outcome_unexplained TASKS 1042  1 blog-post-118 marketing outcome_unknown 2026-11-20T15:00:00.123456Z " +
			"It left the stream between two polls, and no answer was seen.        ",
		"discrepancy never_seen TASKS 1042 1051 10     Never seen.        ",
		"more never_seen    1490             ",
		"note          What happened in the last minute is not judged.        ",
	}
	var got []string
	for _, r := range rows {
		got = append(got, strings.Join(r, " "))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestCellsNeverBeginAFormula(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"=cmd|' /C calc'!A0": "'=cmd|' /C calc'!A0", "+1": "'+1", "-1": "'-1", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1", " =1": "' =1", "\r=1": "'\r=1",
		"＝1": "'＝1", "\t": "'\t", "blog-post": "blog-post", "a=b": "a=b", "": "", "\xff\x00": "��",
	} {
		if got := cell(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	made := exampleMade()
	made.Report.Lists[4].Rows[0].TaskID, made.Report.Lines[0].Agent = `=HYPERLINK("http://evil.example","x")`, "@agent"
	f, _ := shelved(t, made)
	rows, err := csv.NewReader(strings.NewReader(string(f.do("GET", reconciliationsPath+"/"+made.ID, "", "Accept", "text/csv").body))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		for _, c := range r {
			if c != "" && strings.ContainsRune("=+-@", rune(c[0])) {
				t.Errorf("cell %q", c)
			}
		}
	}
}

func TestThereIsNoTableBeforeThereIsAReport(t *testing.T) {
	t.Parallel()
	running, failed := exampleMade(), exampleMade()
	running.ID, running.Status, running.Report = "running", reconcile.StatusRunning, nil
	running.Progress = reconcile.Progress{Phase: "Judging messages", Read: 100}
	failed.ID, failed.Status, failed.Report, failed.Failure = "failed", reconcile.StatusFailed, nil, "The store went away."
	f, _ := shelved(t, running, failed)
	for id, detail := range map[string]string{"running": "The reconciliation is running", "failed": "The store went away."} {
		p := f.refused(f.do("GET", reconciliationsPath+"/"+id+"?format=csv", ""), http.StatusConflict, "conflict")
		if got, _ := p["detail"].(string); !strings.Contains(got, detail) {
			t.Errorf("%s: %q", id, got)
		}
	}
	got := get[ReconciliationDetail](f, reconciliationsPath+"/running")
	if p := got.Progress.Value; p == nil || p.Read != 100 || p.Total != nil || p.Phase != "Judging messages" {
		t.Errorf("progress = %+v", p)
	}
	if got := get[ReconciliationDetail](f, reconciliationsPath+"/failed"); got.Failure != "The store went away." || got.Progress.Value != nil {
		t.Errorf("failed = %+v", got.Reconciliation)
	}
}
