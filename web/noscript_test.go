package web_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"fleetglass/internal/testkit"
	"fleetglass/web/webtest"
)

// TestEverythingWorksWithoutScripts reads pages in a browser that runs none.
func TestEverythingWorksWithoutScripts(t *testing.T) {
	t.Parallel()
	b := openTab(t, testkit.Browser(t), newSite(t, webtest.Rich(noon).Batch, reported))
	if err := call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	visit := func(path string) *goquery.Document {
		b.do(t, "open "+path, chromedp.Navigate(b.site.URL+path), chromedp.WaitReady(chromedp.CSS("#announce")))
		return b.document(t)
	}
	doc := visit("/tasks")
	if n := doc.Find("#rows tr").Length(); n != 50 {
		t.Errorf("rows: got %d, want 50", n)
	}
	if got, want := text(doc.Find("main > noscript")), "It shows what was known at 12:00:00 UTC"; !strings.Contains(got, want) || !b.visible(t, "main .banner a[href='/tasks']") {
		t.Errorf("a page that stands still: got %q, want it to contain %q, and a visible link to load it again", got, want)
	}
	for _, selector := range []string{"#pause", "#save-view", "#help", "#copy-ids"} {
		if b.visible(t, selector) {
			t.Errorf("%s is offered, although it needs a script", selector)
		}
	}
	if !b.visible(t, "#selbar") {
		t.Error("the selection bar is hidden, so that ticked rows lead nowhere")
	}
	b.do(t, "search", chromedp.SendKeys(chromedp.CSS("#q"), "agent:marketing blog"), chromedp.Click(chromedp.CSS("#query button[type=submit]")), chromedp.WaitReady(chromedp.CSS(`#rows tr:only-child a.title[href*="tsk-7f3a91"]`)))
	b.do(t, "open the task", chromedp.Click(chromedp.CSS("#rows a.title")), chromedp.WaitReady(chromedp.CSS(".lanes")))
	b.do(t, "open an event", chromedp.Click(chromedp.CSS("#events tr:nth-child(4) a.ev")), chromedp.WaitReady(chromedp.CSS("#events tr.on:nth-child(4)")))
	doc = b.document(t)
	if got, want := text(doc.Find("#evd")), text(doc.Find("#events tr.on a.ev")); !strings.HasPrefix(want, got) {
		t.Errorf("the open event: got %q, want %q", got, want)
	}
	b.do(t, "a tab", chromedp.Click(chromedp.CSS(`#views a[href*="payload"]`)), chromedp.WaitReady(chromedp.CSS("pre.payload")))
	b.do(t, "theme", chromedp.Click(chromedp.CSS("#theme")), chromedp.WaitReady(chromedp.CSS(`html[data-theme="dark"] pre.payload`)))
	b.do(t, "zone", chromedp.Click(chromedp.CSS(`.prefs button[value="local"]`)), chromedp.WaitReady(chromedp.CSS("#tz")),
		chromedp.SetAttributeValue(chromedp.CSS(`#tz option[value="Asia/Tokyo"]`), "selected", ""), chromedp.Click(chromedp.CSS(`main button[type="submit"]`)), chromedp.WaitReady(chromedp.CSS("pre.payload")))
	if got := text(b.document(t).Find("dd time").First()); !strings.HasSuffix(got, "JST") {
		t.Errorf("a time in the chosen zone: got %q, want it to end in JST", got)
	}
	visit("/reconciliation")
	b.do(t, "a period", chromedp.Click(chromedp.CSS(".reconcile summary")), chromedp.WaitVisible(chromedp.CSS("#rec-from")), chromedp.Click(chromedp.CSS(".reconcile summary")))
	b.do(t, "reconcile", chromedp.Click(chromedp.CSS(".reconcile button[type=submit]")), chromedp.WaitReady(chromedp.CSS("#report .empty.run")))
	if n := b.document(t).Find("#pending .banner.run a.btn").Length(); n != 2 {
		t.Errorf("%d reconciliations are said to be made, want the one before and ours", n)
	}
}

// document parses what the browser shows.
func (b *tab) document(t testing.TB) *goquery.Document {
	t.Helper()
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(eval[string](t, b, `document.documentElement.outerHTML`)))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// visible asks the browser, without scripts of the page, whether an element takes room.
func (b *tab) visible(t testing.TB, selector string) bool {
	t.Helper()
	return eval[bool](t, b, `document.querySelector("`+selector+`").getClientRects().length > 0`)
}

func text(s *goquery.Selection) string { return strings.Join(strings.Fields(s.Text()), " ") }

// TestEveryLinkLeadsSomewhere follows every link within the site, from page to page.
func TestEveryLinkLeadsSomewhere(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, reported, acting)
	seen := map[string]bool{}
	queue := []string{"/", "/tasks", "/tasks/tsk-7f3a91", "/in-flight", "/agents", "/agents/cto", "/dlq?status=open", "/duplicates", "/reconciliation", "/reconciliation?id=a", "/capture", "/map"}
	for _, tab := range []string{"events", "payload", "idempotency", "related", "json"} {
		queue = append(queue, "/tasks/tsk-7f3a91?tab="+tab)
	}
	for _, from := range queue {
		s.get(t, from, 200).Find("a[href], link[href], script[src]").Each(func(_ int, a *goquery.Selection) {
			href := a.AttrOr("href", a.AttrOr("src", ""))
			u, err := url.Parse(href)
			if err != nil {
				t.Errorf("%s: link %q: %v", from, href, err)
				return
			}
			if u.Host != "" {
				t.Errorf("%s: link to another host: %s", from, href)
			}
			target := u.RequestURI()
			if u.Path == "" || seen[target] || strings.HasPrefix(u.Path, "/api/") || u.Path == "/readyz" {
				return
			}
			seen[target] = true
			answer := s.fetch(t, target, nil)
			_ = answer.Body.Close()
			if answer.StatusCode != 200 {
				t.Errorf("%s: link %s: status %d", from, target, answer.StatusCode)
			}
		})
	}
	if len(seen) < 100 {
		t.Errorf("followed %d links, want at least 100", len(seen))
	}
}
