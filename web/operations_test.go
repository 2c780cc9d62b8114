package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"fleetglass/access"
	"fleetglass/dlqtriage"
	"fleetglass/internal/live"
	"fleetglass/internal/testkit"
	"fleetglass/web"
	"fleetglass/web/webtest"
)

// operating gives a site what acts on many dead letters. Nothing is worked off before the test says so.
func operating(c *setup) {
	acting(c)
	operations, err := dlqtriage.NewOperations(dlqtriage.OperationsConfig{
		Actions: c.Actions, Store: c.Store.(dlqtriage.OperationStore),
		Changed: func(o dlqtriage.Operation) {
			c.Hub.PublishOperation(live.OperationChange{ID: o.ID, Status: string(o.Status), At: o.UpdatedAt})
		},
	})
	if err != nil {
		panic(err)
	}
	c.Operations = operations
}

// newOperating is a site that acts on many dead letters, and what works operations off until the test ends.
func newOperating(t testing.TB, edit ...func(*setup)) (s *site, work func()) {
	t.Helper()
	var operations *dlqtriage.Operations
	s = newSite(t, webtest.Rich(noon).Batch, append([]func(*setup){operating, func(c *setup) { operations = c.Operations }}, edit...)...)
	return s, func() {
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = operations.Run(ctx)
		}()
		t.Cleanup(func() { stop(); <-ended })
	}
}

// run sends the form of a dry run with others typed, and returns the page of the operation.
func (s *site) run(t *testing.T, dry string, with map[string]string) string {
	t.Helper()
	form := fields(s.get(t, dry, 200).Find("#bulk form"))
	for name, value := range with {
		form.Set(name, value)
	}
	answer, page := s.send(t, "/operations", form)
	if answer.StatusCode != http.StatusSeeOther {
		t.Fatalf("got %d: %s", answer.StatusCode, text(page.Find("main")))
	}
	path, _, _ := strings.Cut(answer.Header.Get("Location"), "?")
	return path
}

// ended waits until an operation has ended.
func (s *site) ended(t *testing.T, path string) {
	t.Helper()
	testkit.Eventually(t, 20*time.Second, func() error {
		s.clock.Advance(time.Second)
		if got := text(s.get(t, path, 200).Find("#operation-state")); !strings.HasPrefix(got, "ended") && !strings.HasPrefix(got, "succeeded") {
			return fmt.Errorf("the operation is %q", got)
		}
		return nil
	})
}

func TestTheBarOverTheListLeadsToADryRun(t *testing.T) {
	t.Parallel()
	s, _ := newOperating(t)
	list := s.get(t, "/dlq?status=open", 200)
	open := strings.TrimSpace(list.Find("#states a[aria-current] .n").Text())
	wants{"#selbar #matching-words": "select all " + open + " matching", "#selection[action='/operations/new']": "", "#nav-dlq": open + " open"}.check(t, list)

	v := fields(list.Find("#selection"))
	v.Del("select")
	v["id"] = []string{"TASKS:48617", "TASKS:48618", "TASKS:1"}
	ticked := s.get(t, "/operations/new?"+v.Encode(), 200)
	wants{"h1": "Retry 3 dead letters", "#dry": "There is no such entry.", "#bulk button#run": "Retry", "#rows a[href='/dlq/TASKS:1']": ""}.check(t, ticked)

	v.Set("select", "all")
	v.Set("action", "discard")
	all := s.get(t, "/operations/new?"+v.Encode(), 200)
	wants{"h1": "Discard " + open + " dead letters", ".lede": "status: open", "button#run.danger": "Discard " + open, "#bulk input[name=because][checked]": "", "#bulk input[name=id]": "=0"}.check(t, all)
	wants{".empty": "No operation yet"}.check(t, s.get(t, "/operations", 200))
	const untaken = "/operations/new?select=all&filter=path%3Dfilter_rejected&action="
	wants{"#untaken b": "1 message had no consumer."}.check(t, s.get(t, untaken+"retry", 200))
	wants{"#untaken": "=0"}.check(t, s.get(t, untaken+"reassign", 200))
	wants{"#untaken": "=0"}.check(t, s.get(t, "/operations/new?select=all&filter=path%3Dterminated&action=retry", 200))
	for action, sent := range map[string]string{
		"retry":                               "Each eligible message is sent once, with the agent, the changes and the delay of its own plan (10 s to 2 m), at most 10 a second.",
		"retry&force=on&force_reason=because": "the delay of its own plan (0 s to 2 m), at most 10 a second.",
		"retry&as=unchanged":                  "Each eligible message is sent once, unchanged, to its own agent, without delay, at most 10 a second.",
		"reassign&agent=cto&rate=":            "Each eligible message is sent once, with the changes and the delay of its own plan (0 s to 2 m), to cto, as fast as possible.",
		"defer":                               "Nothing is sent. Each eligible message waits for an hour, then it is open again.",
		"defer&wait=human":                    "Nothing is sent. Each eligible message waits until a person decides.",
		"discard":                             "Nothing is sent. Each eligible message counts as done with. It can be opened again.",
		"quarantine":                          "Nothing is sent. Each eligible message is kept apart until somebody opens it again.",
		"reclassify&class=transient/":         "Nothing is sent. Each eligible message counts as transient.",
		"reopen":                              "Nothing is sent. What was decided is taken back: each eligible message is open again, and a retry that waits is cancelled.",
	} {
		wants{"#sent": sent}.check(t, s.get(t, "/operations/new?select=all&filter=&action="+action, 200))
	}
	const one = "/operations/new?action=retry&id="
	timeout := strings.TrimPrefix(s.get(t, "/dlq?detail=llm_provider_timeout", 200).Find("#rows a.title").AttrOr("href", ""), "/dlq/")
	wants{"#sent": "the delay of its own plan (30 s), at most"}.check(t, s.get(t, one+timeout, 200))
	if sent := text(s.get(t, "/operations/new?select=all&filter=category%3Dpermanent&action=retry", 200).Find("#sent")); strings.Contains(sent, "(") {
		t.Errorf("where nothing is sent, %q", sent)
	}
	plans := s.get(t, "/operations/new?select=all&filter=detail%3Dllm_provider_timeout%26status%3Dopen&action=retry", 200)
	wants{"#rows tr:first-child .plan": "retry after 30 s"}.check(t, plans)
	wants{"#rows .plan .state": "=0"}.check(t, s.get(t, "/operations/new?select=all&filter=&action=discard", 200))
	if answer := s.fetch(t, "/operations/new?action=retry", nil); answer.StatusCode != http.StatusBadRequest {
		t.Errorf("nothing ticked: got %d", answer.StatusCode)
	}
}

func TestAnOperationRunsAndIsUndone(t *testing.T) {
	t.Parallel()
	s, work := newOperating(t)
	dry := "/operations/new?" + url.Values{"select": {"all"}, "filter": {"q=category:transient&status=open"}, "action": {"discard"}}.Encode()
	n := strings.Fields(s.get(t, dry, 200).Find("h1").Text())[1]
	work()
	path := s.run(t, dry, map[string]string{"reason": "an outage that is over", "rate": ""})
	s.ended(t, path)
	page := s.get(t, path, 200)
	wants{"h1": "Discard " + n + " dead letters", "#summary": n + " of " + n + ": " + n + " done, 0 blocked", "#undo": "Undo: open " + n + " again", "#rows .state": "done", "#cancel": "=0"}.check(t, page)
	wants{"#rows tr": n + " dead letters"}.check(t, s.get(t, "/operations", 200))
	if got := s.get(t, "/dlq?category=transient&status=discarded", 200).Find("#rows tr").Length(); got == 0 {
		t.Error("nothing was discarded")
	}
	undo := s.run(t, page.Find("#undo").AttrOr("href", ""), map[string]string{"reason": "a mistake"})
	s.ended(t, undo)
	wants{"#summary": n + " done"}.check(t, s.get(t, undo, 200))
	wants{"#rows .empty, .empty": "No message that died matches"}.check(t, s.get(t, "/dlq?category=transient&status=discarded", 200))
}

func TestRetriesThatWaitAreCancelledFromThePageOfTheirOperation(t *testing.T) {
	t.Parallel()
	s, work := newOperating(t)
	dry := "/operations/new?" + url.Values{"select": {"all"}, "filter": {"q=category:conditionally_recoverable&status=open"}, "action": {"retry"}}.Encode()
	work()
	path := s.run(t, dry, map[string]string{"reason": "an outage that is over", "rate": ""})
	s.ended(t, path)
	page := s.get(t, path, 200)
	wants{"#undo": "Cancel the retries that wait"}.check(t, page)
	inState := func(p *goquery.Document, state string) int {
		return p.Find("#rows .state:contains('" + state + "')").Length()
	}
	asked := inState(page, "to be published")
	if asked == 0 {
		t.Fatal("no retry waits")
	}
	undo := s.run(t, page.Find("#undo").AttrOr("href", ""), map[string]string{"reason": "the wrong filter"})
	s.ended(t, undo)
	cancelled := inState(s.get(t, path, 200), "cancelled")
	undone := s.get(t, undo, 200)
	wants{"#summary": fmt.Sprintf("%d of %d: %d done", asked, asked, cancelled)}.check(t, undone)
	if cancelled == 0 {
		t.Error("no retry is cancelled")
	}
	if due := asked - cancelled; due > 0 { // The plan of the others is to publish at once.
		wants{"#progress": fmt.Sprintf("%d blocked It is due", due)}.check(t, undone)
	}
}

func TestNothingRunsThatWasNotShown(t *testing.T) {
	t.Parallel()
	s, _ := newOperating(t)
	dry := "/operations/new?" + url.Values{"select": {"all"}, "filter": {"status=open"}, "action": {"retry"}}.Encode()
	form := fields(s.get(t, dry, 200).Find("#bulk form"))
	form.Set("reason", "the provider is back")
	form.Set("action", "discard")
	answer, page := s.send(t, "/operations", form)
	if answer.StatusCode != http.StatusConflict {
		t.Errorf("another action: got %d", answer.StatusCode)
	}
	wants{"#refused": "after the dry run", "h1": "Discard", "#bulk textarea[name=reason]": "the provider is back"}.check(t, page)
	form = fields(page.Find("#bulk form"))
	form.Set("reason", "no")
	if answer, page = s.send(t, "/operations", form); answer.StatusCode != http.StatusBadRequest {
		t.Errorf("a short reason: got %d", answer.StatusCode)
	}
	wants{"#refused": "3 to 2,000 characters"}.check(t, page)
	form.Set("reason", "nobody needs them")
	first, _ := s.send(t, "/operations", form)
	again, _ := s.send(t, "/operations", form)
	if a, b := first.Header.Get("Location"), again.Header.Get("Location"); a == "" || a != b {
		t.Errorf("a form that is sent twice led to %q and %q", a, b)
	}
}

func TestAnOperationIsCancelledOnItsPage(t *testing.T) {
	t.Parallel()
	s, _ := newOperating(t) // Nobody works it off.
	path := s.run(t, "/operations/new?select=all&action=defer", map[string]string{"reason": "look at them later", "rate": "2.5"})
	wants{"#operation-state": "queued", "#cancel button": "Cancel", "[aria-labelledby=what-h]": "at most 2.5 a second", "#undo": "=0"}.check(t, s.get(t, path, 200))
	answer, _ := s.send(t, path+"/cancel", url.Values{})
	if answer.StatusCode != http.StatusSeeOther {
		t.Errorf("got %d", answer.StatusCode)
	}
	wants{"#operation-state": "cancelled", "#cancel": "=0", "#no-items": "before any entry", "#rows": "=0", "#summary": " left alone"}.check(t, s.get(t, path, 200))
}

func TestReadersWhoMayNotActAreToldWhy(t *testing.T) {
	t.Parallel()
	s, _ := newOperating(t, func(c *setup) { c.Access = access.Authorizer{ReadOnly: true} })
	wants{"#bulk-off": "read-only mode", "#selbar button[type=submit]": "=0", "#matching": "=0", ".group .btn": "=0"}.check(t, s.get(t, "/dlq?status=all", 200))
	wants{"main > .banner.run": "read-only mode", "#bulk fieldset[disabled]": "", "#dry": "Eligible"}.check(t, s.get(t, "/operations/new?select=all&action=retry", 200))
	if answer, _ := s.send(t, "/operations", url.Values{"select": {"all"}, "action": {"retry"}}); answer.StatusCode != http.StatusForbidden {
		t.Errorf("got %d, want 403", answer.StatusCode)
	}
}

// Operations and the audit name the message by its title, with its id beside it. What is no dead letter keeps its id.
func TestWhatWasDoneIsNamedByTheTitleOfItsMessage(t *testing.T) {
	t.Parallel()
	s, _ := newOperating(t, func(c *setup) { c.Audit = c.Store.(web.AuditReader) })
	entry := s.deadEntry(t)
	id, name := strings.TrimPrefix(entry, "/dlq/"), text(s.get(t, entry, 200).Find("h1"))
	s.take(t, entry, "quarantine", map[string]string{"reason": "look at it"})
	held := s.heldPath(t, "tsk-91b6c4")
	_, preview := s.send(t, held, s.heldForm(t, held, "reconcile", map[string]string{"reason": "it is in the wiki"}))
	do := fields(preview.Find("#do"))
	do.Set("step", "do")
	if answer, doc := s.send(t, held, do); answer.StatusCode != http.StatusSeeOther {
		t.Fatalf("reconcile: %d %s", answer.StatusCode, text(doc.Find("main")))
	}
	of := func(doc *goquery.Document) *goquery.Document {
		return goquery.NewDocumentFromNode(doc.Find("tbody tr").FilterFunction(func(_ int, r *goquery.Selection) bool { return text(r.Find(".id")) == id }).Get(0))
	}
	row := of(s.get(t, "/operations", 200))
	wants{"a.title": "Quarantine: " + name}.check(t, row)
	page := s.get(t, row.Find("a.title").AttrOr("href", ""), 200)
	wants{"h1": "Quarantine: " + name, `.lede a[href="` + entry + `"]`: id}.check(t, page)
	audit := s.get(t, "/audit", 200)
	wants{"td.lead a.title[href=\"" + entry + "\"]": name, "td a[href^='/operations/']": "quarantine"}.check(t, of(audit))
	if got := text(audit.Find("td.lead")); !strings.Contains(got, name) || !strings.Contains(got, strings.TrimPrefix(held, "/in-flight/")) {
		t.Errorf("the audit names %q", got)
	}
	wants{"tbody tr": "=2", `select[name=from] option[selected]`: "Last hour", `[data-copy-link]`: "Copy link"}.check(t, s.get(t, "/audit?from=1h", 200))
	wants{".empty": "No record matches."}.check(t, s.get(t, "/audit?to=1h", 200))
	for _, wrong := range []string{"outcome=perhaps", "from=yesterday", "to=x"} {
		s.get(t, "/audit?"+wrong, 400)
	}
}
