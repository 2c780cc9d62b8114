package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"fleetglass/access"
	"fleetglass/alerts"
	"fleetglass/decision"
	"fleetglass/internal/testkit"
	"fleetglass/web/webtest"
)

// follow sends a form, and returns the page that it leads to.
func (s *site) follow(t *testing.T, path string, form url.Values) *goquery.Document {
	t.Helper()
	answer, doc := s.send(t, path, form)
	if answer.StatusCode != http.StatusSeeOther {
		t.Fatalf("got %d: %s", answer.StatusCode, text(doc.Find("main")))
	}
	return s.get(t, answer.Header.Get("Location"), 200)
}

// decide takes an action on an entry, and returns the page that it leads to.
func (s *site) decide(t *testing.T, entry, action string, with map[string]string) *goquery.Document {
	t.Helper()
	_, preview := s.send(t, entry, s.typed(t, entry, action, with))
	do := fields(preview.Find("#do"))
	do.Set("step", "do")
	return s.follow(t, entry, do)
}

// undo presses Undo in the notice of a page, and returns the page that this leads to.
func (s *site) undo(t *testing.T, page *goquery.Document) *goquery.Document {
	t.Helper()
	form := page.Find("#done form")
	if form.Length() == 0 {
		t.Fatalf("nothing to undo: %q", text(page.Find("#done")))
	}
	return s.follow(t, form.AttrOr("action", ""), fields(form))
}

func TestTheNoticeOfADecisionTakesItBack(t *testing.T) {
	t.Parallel()
	for action, said := range map[string]string{"discard": "Discarded", "defer": "Deferred", "quarantine": "Quarantined"} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			s, _ := newOperating(t)
			entry := s.deadEntry(t)
			page := s.decide(t, entry, action, map[string]string{"reason": "a mistake"})
			wants{"#done": said + ":", "#done button": "Undo"}.check(t, page)
			page = s.undo(t, page)
			wants{"#done": "Open again:", "#entry-state": "open", "#history": "Undone at once."}.check(t, page)
			if n := page.Find("#done form").Length(); n != 0 {
				t.Error("what was undone is offered to be undone")
			}
		})
	}
}

func TestTheNoticeOfARetryThatWaitsCancelsIt(t *testing.T) {
	t.Parallel()
	s, _ := newOperating(t)
	page := s.decide(t, s.deadEntry(t), "retry", map[string]string{"reason": "an outage that is over", "as": "plan"})
	wants{"#done": "Retry of"}.check(t, page)
	page = s.undo(t, page)
	wants{"#done": "Retry cancelled: nothing was published.", "#entry-state": "open"}.check(t, page)
}

func TestTheNoticeOffersNoUndoThatWouldBeRefused(t *testing.T) {
	t.Parallel()
	s, _ := newOperating(t)
	entry := s.deadEntry(t)
	_, preview := s.send(t, entry, s.typed(t, entry, "discard", map[string]string{"reason": "a mistake"}))
	do := fields(preview.Find("#do"))
	do.Set("step", "do")
	answer, _ := s.send(t, entry, do)
	if answer.StatusCode != http.StatusSeeOther {
		t.Fatalf("got %d", answer.StatusCode)
	}
	noticed := answer.Header.Get("Location")
	wants{"#done button": "Undo"}.check(t, s.get(t, noticed, 200))
	s.decide(t, entry, "reopen", map[string]string{"reason": "somebody else"})
	if page := s.get(t, noticed, 200); page.Find("#done form").Length() != 0 {
		t.Errorf("something else was decided since, and the notice says %q", text(page.Find("#done")))
	}
	s.clock.Advance(time.Hour)
	if page := s.get(t, noticed, 200); page.Find("#done").Length() != 0 {
		t.Error("an old address tells of what was done long ago as if it were now")
	}
}

func TestWhoMayNotUndoIsNotOfferedIt(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, alerting, func(c *setup) { c.Access = access.Authorizer{ReadOnly: true} })
	s.fires(t, zombie("a", "cto"))
	id := s.get(t, "/alerts", 200).Find("#firing li").AttrOr("id", "")
	board, err := alerts.NewService(alerts.ServiceConfig{Store: s.store.(alerts.Store), Now: s.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := board.Acknowledge(t.Context(), id, "", nil, decision.Actor{Name: "ann"}); err != nil {
		t.Fatal(err)
	}
	wants{"#done": "Acknowledged:", "#done form": "=0"}.check(t, s.get(t, "/alerts?did="+id, 200))
}

func TestTheNoticeOfAnAcknowledgementAndOfASilenceTakesThemBack(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, alerting)
	s.fires(t, zombie("a", "cto"))
	id := s.get(t, "/alerts", 200).Find("#firing li").AttrOr("id", "")
	page := s.follow(t, "/alerts?agent=cto", url.Values{"step": {"ack"}, "id": {id}})
	wants{"#done": "Acknowledged:", "#done button": "Undo"}.check(t, page)
	page = s.undo(t, page)
	if n := page.Find("#firing li").Length(); n != 1 {
		t.Errorf("%d alerts fire", n)
	}
	form := url.Values{"matchers": {`agent="cto"`}, "hours": {"1"}, "comment": {"a deployment"}}
	_, preview := s.send(t, "/alerts/silence", form)
	do := fields(preview.Find("form:has([value=do])"))
	do.Set("step", "do")
	page = s.follow(t, "/alerts/silence", do)
	wants{"#done": "Silenced:", "#done button": "Undo"}.check(t, page)
	if page = s.undo(t, page); page.Find("#silences li").Length() != 0 {
		t.Error("the silence goes on")
	}
}

// The notice goes by itself, but not from under the pointer or the focus; the keyboard reaches it by one key.
func TestTheNoticeInABrowser(t *testing.T) {
	t.Parallel()
	browser := testkit.Browser(t)
	t.Run("the keyboard takes it back", func(t *testing.T) { undoByKeys(t, browser) })
	t.Run("it stays while it is used, and goes then", func(t *testing.T) { noticeStays(t, browser) })
	t.Run("an operation on many offers its undo when it has ended", func(t *testing.T) { noticeOfMany(t, browser) })
}

func (b *tab) discard(t *testing.T, s *site) {
	t.Helper()
	b.open(t, s.deadEntry(t))
	b.click(t, "#act-discard summary")
	b.do(t, "say why", chromedp.SendKeys(chromedp.CSS("#act-discard textarea"), "obsolete"), chromedp.Click(chromedp.CSS("#act-discard button[type=submit]")))
	b.until(t, `!!document.querySelector("#do") && `+ready)
	b.click(t, "#do button")
	b.until(t, `!!document.querySelector("#done .undo") && document.querySelector("#done").textContent.includes("Discarded:") && `+ready)
}

func undoByKeys(t *testing.T, browser context.Context) {
	s, _ := newOperating(t)
	b := openTab(t, browser, s)
	b.discard(t, s)
	b.until(t, `document.querySelector("#announce").textContent.includes("Discarded") && document.querySelector("#announce").textContent.includes("z")`)
	b.press(t, "?")
	b.until(t, `document.querySelector("#keys").open && document.querySelector("#keys dl").innerText.includes("Move to Undo")`)
	b.press(t, kb.Escape)
	b.until(t, `!document.querySelector("#keys").open && !!document.querySelector("#done")`)
	b.press(t, "z")
	b.until(t, `document.activeElement.matches("#done .undo")`)
	b.press(t, kb.Escape)
	b.until(t, `!document.querySelector("#done") && !location.search.includes("did=")`)
	b.discardAgain(t, s)
	b.press(t, "z")
	b.press(t, kb.Enter)
	b.until(t, `document.querySelector("#done")?.textContent.includes("Open again:") && document.querySelector("#entry-state").textContent.includes("open") && `+ready)
}

// discardAgain opens the same message again and closes it once more.
func (b *tab) discardAgain(t *testing.T, s *site) {
	t.Helper()
	here := eval[string](t, b, `location.pathname`)
	s.decide(t, here, "reopen", map[string]string{"reason": "once more"})
	b.discard(t, s)
}

func noticeStays(t *testing.T, browser context.Context) {
	s, _ := newOperating(t)
	b := openTab(t, browser, s)
	b.discard(t, s)
	b.run(t, `document.querySelector("#done .undo").focus()`)
	b.run(t, `window.began = performance.now()`)
	b.until(t, `performance.now() - window.began > 12000`)
	if !b.visible(t, "#done") {
		t.Fatal("the notice went while the focus was in it")
	}
	b.run(t, `document.activeElement.blur()`)
	b.until(t, `!document.querySelector("#done") && !location.search.includes("did=")`)
	b.until(t, `document.querySelector("#decided").textContent.includes("Discard")`)
}

func noticeOfMany(t *testing.T, browser context.Context) {
	s, work := newOperating(t)
	work()
	b := openTab(t, browser, s)
	b.open(t, "/operations/new?"+url.Values{"select": {"all"}, "filter": {"status=open"}, "action": {"quarantine"}}.Encode())
	b.do(t, "say why", chromedp.SendKeys(chromedp.CSS("#bulk textarea[name=reason]"), "an outage"), chromedp.SetValue(chromedp.CSS("#bulk-rate"), "20"), chromedp.Click(chromedp.CSS("#run")))
	b.until(t, `location.pathname.startsWith("/operations/op-") && `+ready)
	testkit.Eventually(t, 30*time.Second, func() error {
		s.clock.Advance(200 * time.Millisecond)
		if there, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](`!!document.querySelector("#done a.undo")`)); err != nil || !there {
			return fmt.Errorf("no notice: %w", err)
		}
		return nil
	})
	b.press(t, "z")
	b.press(t, kb.Enter)
	b.until(t, `document.querySelector("h1").textContent.startsWith("Reopen ") && `+ready)
}
