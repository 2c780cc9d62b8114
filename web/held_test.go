package web_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/web/webtest"
)

// heldPath is the page of the message in flight of a task, as the board links to it.
func (s *site) heldPath(t *testing.T, task string) string {
	t.Helper()
	href, found := s.get(t, "/in-flight", 200).Find(`tr[data-id="` + task + `"] a[href^="/in-flight/"], tr[data-id="` + task + `"] + tr.advice a.btn[href]`).Attr("href")
	if !found {
		t.Fatalf("the board offers nothing about %s", task)
	}
	path, _, _ := strings.Cut(href, "#")
	return path
}

// heldForm is the form of an action with others typed.
func (s *site) heldForm(t *testing.T, path, action string, with map[string]string) url.Values {
	t.Helper()
	form := fields(s.get(t, path, 200).Find("#held-" + action + " form"))
	form.Set("step", "preview")
	for name, value := range with {
		form.Set(name, value)
	}
	return form
}

func TestTheBoardSaysWhatRecoveryDecidesAndLeadsToTheActions(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, acting)
	path := s.heldPath(t, "tsk-a90d27") // An unsafe step was announced and not confirmed.
	row := s.get(t, "/in-flight", 200).Find(`tr[data-id="tsk-a90d27"] + tr.advice`)
	if got := text(row); !strings.Contains(got, "Quarantine rule: open intent") || !strings.Contains(got, "was announced; no receipt is known") {
		t.Errorf("the row says %q", got)
	}
	if got := text(row.Find("summary")); !strings.Contains(got, "was announced") {
		t.Errorf("in short it says %q", got)
	}
	wants{".also .proof": `reported Step "rollout" ("kubectl.rollout") of class unsafe was announced; no receipt is known.`, ".also .blocked": "Release is blocked. It is the last attempt", `.also a[href*="#ev-"]`: ""}.
		check(t, goquery.NewDocumentFromNode(row.Nodes[0]))
	expiring := s.get(t, "/in-flight", 200).Find("#expiring")
	if expiring.Find("tr.advice").Length() == 0 || expiring.Find(".also").Length() != 0 {
		t.Errorf("a lease that is only about to expire says %q", text(expiring))
	}
	acts := row.Find("a.btn").Map(func(_ int, a *goquery.Selection) string { return text(a) + " " + a.AttrOr("href", "") })
	want := []string{"Quarantine… " + path + "#held-quarantine-reason", "Release ", "Reconcile… " + path + "#held-reconcile-reason"}
	if !slices.Equal(acts, want) {
		t.Errorf("its buttons are %q", acts)
	}
	if href := row.Find(`details a[href*="#ev-"]`).AttrOr("href", ""); s.get(t, strings.Split(href, "#")[0], 200).Find("#recovery").Length() != 1 {
		t.Errorf("the evidence links to %q", href)
	}
	wants{"#held details": "=3", "#recovery": "open intent", ".lede": "attempt 3/3"}.check(t, s.get(t, path, 200))
	wants{"#held details": "=3", "#recovery": "open intent"}.check(t, s.get(t, "/tasks/tsk-a90d27", 200))
}

// A link to a message in flight may be followed after it died: its deadline means nothing then, and its dead letter is where somebody can act.
func TestAMessageThatDiedMeanwhileLeadsToItsDeadLetter(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, acting)
	entry := s.get(t, "/dlq?status=all", 200).Find("#rows a.title").AttrOr("href", "")
	page := s.get(t, "/in-flight/"+strings.TrimPrefix(entry, "/dlq/"), 200)
	wants{"#held .body": "No worker has it now", `#held a[href="` + entry + `"]`: "It died", ".lede [data-deadline]": "=0"}.check(t, page)
}

// TestTheBoardOffersWhatThePreviewAllows sends the preview of each action of each row.
func TestTheBoardOffersWhatThePreviewAllows(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, acting)
	blocked, free := 0, 0
	s.get(t, "/in-flight", 200).Find("tr.advice").Each(func(_ int, row *goquery.Selection) {
		open, found := row.Find("a.btn[href]").Attr("href")
		if !found {
			return
		}
		path, _, _ := strings.Cut(open, "#")
		row.Find("a.btn").Each(func(_ int, button *goquery.Selection) {
			action := strings.ToLower(strings.TrimSuffix(text(button), "…"))
			_, preview := s.send(t, path, s.heldForm(t, path, action, map[string]string{"reason": "its pod is gone"}))
			why, said := strings.CutPrefix(button.AttrOr("title", ""), "Blocked: ")
			_, off := preview.Find("#do button").Attr("disabled")
			if off != said || said != (button.AttrOr("aria-disabled", "") == "true") || said && !strings.Contains(text(preview.Find("#preview")), why) {
				t.Errorf("%s of %s: the row says blocked %t (%s), the preview %t", action, path, said, why, off)
			}
			if said {
				blocked++
			} else {
				free++
			}
		})
	})
	if blocked == 0 || free == 0 {
		t.Errorf("%d actions are blocked and %d are not: nothing was compared", blocked, free)
	}
}

func TestAReleaseOfUnknownEffectsIsBlockedOnThePage(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, acting)
	path := s.heldPath(t, "tsk-2be743") // Its wait is nearly over, and nothing is known of its effects.
	answer, preview := s.send(t, path, s.heldForm(t, path, "release", map[string]string{"reason": "its pod is gone"}))
	if _, off := preview.Find("#do button").Attr("disabled"); answer.StatusCode != 200 || !off {
		t.Errorf("%d: the release can be sent", answer.StatusCode)
	}
	wants{"#preview .blocked": "=1", "#preview": "It may have had effects that nobody confirmed", "#held-release textarea": "its pod is gone"}.check(t, preview)
	do := fields(preview.Find("#do"))
	do.Set("step", "do")
	if answer, doc := s.send(t, path, do); answer.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(text(doc.Find("#refused")), "Nothing was done") {
		t.Errorf("sent all the same: %d %s", answer.StatusCode, text(doc.Find("main")))
	}
}

// TestSomebodyMarksWorkAsResolvedInABrowser runs no scripts: the board, the form, the preview and the task must be enough.
func TestSomebodyMarksWorkAsResolvedInABrowser(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, acting)
	b := openTab(t, testkit.Browser(t), s)
	if err := call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	b.do(t, "open the board", chromedp.Navigate(s.URL+"/in-flight"), chromedp.WaitReady(chromedp.CSS("#announce")))
	b.do(t, "open the message", chromedp.Click(chromedp.CSS(`tr[data-id="tsk-91b6c4"] + tr.advice a[href$=held-reconcile-reason]`)), chromedp.WaitVisible(chromedp.CSS("#held-reconcile textarea")))
	b.do(t, "type a note", chromedp.SendKeys(chromedp.CSS("#held-reconcile-reason"), "the note is in the wiki"))
	b.do(t, "preview it", chromedp.Click(chromedp.CSS("#held-reconcile button")), chromedp.WaitVisible(chromedp.CSS("#do button")))
	if got := text(b.document(t).Find("#preview")); !strings.Contains(got, "It is no completion") {
		t.Errorf("the preview says %q", got)
	}
	b.do(t, "do it", chromedp.Click(chromedp.CSS("#do button")), chromedp.WaitReady(chromedp.CSS("#task-id")), chromedp.WaitReady(chromedp.CSS("#events")))
	doc := b.document(t)
	wants{"#answers": "Somebody marked it as resolved", "#task-state": "processing"}.check(t, doc)
	s.clock.Advance(time.Second) // Leases are shared for half a second.
	row := s.get(t, "/in-flight", 200).Find(`#healthy tr[data-id="tsk-91b6c4"], tr[data-id="tsk-91b6c4"]`)
	if got := text(row.First()); !strings.Contains(got, "Marked as resolved by") || !strings.Contains(got, "the note is in the wiki") {
		t.Errorf("the board says %q", got)
	}
}

func TestATaskLeadsToOneWithItsKeyAlsoWhileThatIsNotDone(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, acting)
	record, err := s.store.Task(t.Context(), "tsk-2be743")
	if err != nil {
		t.Fatal(err)
	}
	shared := lifecycle.Event{At: lifecycle.MicrosOf(noon), Kind: lifecycle.KeyShared, Provenance: lifecycle.Inferred, TaskID: "tsk-2be743"}
	shared.Detail.IdempotencyKey, shared.Detail.Owner, shared.Detail.Unproved = record.Messages[0].Stored.IdempotencyKey, "tsk-a90d27", true
	for n, said := range []string{"is not known to be done", "was acknowledged"} {
		done := lifecycle.Micros(n) * shared.At
		e := shared
		e.ID, e.At, e.Detail.Basis = lifecycle.NewEventID("test", said), shared.At.Add(time.Duration(n)*time.Second), done
		if _, err := s.store.Append(t.Context(), lifecycle.Batch{Events: []lifecycle.Event{e}}); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/tasks/tsk-2be743", "/tasks/tsk-2be743?tab=events"} {
			wants{"#banners": said, `#banners a[href="/tasks/tsk-a90d27"]`: "=1"}.check(t, s.get(t, path, 200))
		}
		wants{"#answers": said, "#recovery": "idempotency key", `#recovery a[href="/tasks/tsk-a90d27"]`: "=1"}.check(t, s.get(t, "/tasks/tsk-2be743", 200))
	}
}
