package api

import (
	"bytes"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"fleetglass/internal/httperr"
)

func docsPage(t *testing.T) *goquery.Document {
	t.Helper()
	f := newFixture(t, sqliteStore)
	a := f.do("GET", "/api/docs", "")
	if a.status != 200 || a.header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("GET /api/docs: %d %v", a.status, a.header)
	}
	page, err := goquery.NewDocumentFromReader(bytes.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func TestThePageNeedsNoScriptNoInlineStyleAndNoOtherHost(t *testing.T) {
	t.Parallel()
	page := docsPage(t)
	if n := page.Find("script, style, [style], img, iframe").Length(); n != 0 {
		t.Errorf("%d elements that a strict policy forbids", n)
	}
	page.Find("[href], [src]").Each(func(_ int, s *goquery.Selection) {
		for _, name := range []string{"href", "src"} {
			if v, ok := s.Attr(name); ok && !strings.HasPrefix(v, "/") && !strings.HasPrefix(v, "#") {
				t.Errorf("link to another host: %s", v)
			}
		}
	})
	for _, n := range page.Find("*").Nodes {
		for _, attr := range n.Attr {
			if strings.HasPrefix(attr.Key, "on") {
				t.Errorf("inline handler %s on %s", attr.Key, n.Data)
			}
		}
	}
}

func TestThePageExplainsEveryCallSchemaAndProblem(t *testing.T) {
	t.Parallel()
	page := docsPage(t)
	ids := map[string]bool{}
	page.Find("[id]").Each(func(_ int, s *goquery.Selection) {
		id := s.AttrOr("id", "")
		if ids[id] {
			t.Errorf("id %q twice", id)
		}
		ids[id] = true
	})
	page.Find("a[href^='#']").Each(func(_ int, s *goquery.Selection) {
		if target := strings.TrimPrefix(s.AttrOr("href", ""), "#"); !ids[target] {
			t.Errorf("link to #%s leads nowhere", target)
		}
	})
	for _, e := range httperr.Table() {
		if id := strings.TrimPrefix(httperr.TypeBase, "/api/docs#") + string(e.Code); !ids[id] {
			t.Errorf("the type of %s leads nowhere", e.Code)
		}
	}
	for _, call := range []string{"list-tasks", "get-task", "post-reports", "stream-changes", "readyz", "end-silence", "revoke-token"} {
		if page.Find("article#"+call+" h3").Length() != 1 {
			t.Errorf("no article about %s", call)
		}
	}
}
