package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"fleetglass/internal/testkit"
)

// sent are the hidden fields of a form, and the button that is pressed.
func sent(form *goquery.Selection, step string) url.Values {
	out := url.Values{"step": {step}}
	form.Find(`input[type="hidden"]`).Each(func(_ int, f *goquery.Selection) { out.Set(f.AttrOr("name", ""), f.AttrOr("value", "")) })
	return out
}

// shows waits until the page of an entry has a status.
func (b *browser) shows(entry, status string) {
	b.t.Helper()
	testkit.Eventually(b.t, patience, func() error {
		_, code, page := b.open(http.MethodGet, entry, nil)
		if got := page.Find(".lede .state").First().Text(); code != http.StatusOK || got != status {
			return fmt.Errorf("%s: %d, status %q, want %q", entry, code, got, status)
		}
		return nil
	})
}

func TestADeadTaskIsRetriedFromItsPage(t *testing.T) {
	t.Parallel()
	r := start(t, settings(t))
	worker := connectAgent(t, r.AgentsURL())
	worker.publish("review-1", `{"taskId":"review-1","type":"code_review"}`)
	worker.do(worker.take().TermWithReason("503 overloaded"))
	b, entry := newBrowser(t, "http://"+r.Addr()), "/dlq/TASKS:1"
	b.shows(entry, "open")
	r.lookedAt("TASKS:1")

	_, _, page := b.open(http.MethodGet, entry, nil)
	form := sent(page.Find("#act-retry form"), "preview")
	form.Set("as", "edited")
	form.Set("payload", `{"taskId":"review-1","type":"code_review","title":"a second try"}`)
	form.Set("reason", "the provider is back")
	_, status, preview := b.open(http.MethodPost, entry, form)
	if status != http.StatusOK || preview.Find("#preview table").Length() != 1 {
		t.Fatalf("the preview: %d %s", status, preview.Find("main").Text())
	}
	do := sent(preview.Find("#do"), "do")
	for range 2 {
		if where, status, page := b.open(http.MethodPost, entry, do); !strings.HasPrefix(where, entry+"?did=act-") || status != http.StatusOK {
			t.Fatalf("the action leads to %s, %d: %s", where, status, page.Find("main").Text())
		}
	}
	again := worker.take()
	if id := again.Headers().Get("Nats-Msg-Id"); id != "review-1:r1" {
		t.Errorf("message id %s, want review-1:r1", id)
	}
	worker.do(again.Ack())
	b.shows(entry, "resolved")
	_, _, page = b.open(http.MethodGet, entry, nil)
	if n := page.Find("#history tbody tr").Length(); n != 1 {
		t.Errorf("%d actions in the history, want 1", n)
	}
}
