package web_test

import (
	"net/url"
	"slices"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"fleetglass/web/webtest"
)

// onChips are what a page says that it understood.
func onChips(doc *goquery.Document) (out []string) {
	doc.Find("#chips .chip[aria-current]").Each(func(_ int, c *goquery.Selection) {
		c.Find(".vh").Remove()
		out = append(out, text(c))
	})
	return out
}

func TestASearchSaysWhatItUnderstood(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	for q, want := range map[string][]string{
		`-state:completed duration:>30s`:           {"state is not completed", "run time over 30 s"},
		`published:<2h -"blog post" attempt:>=2`:   {"published less than 2 h ago", "text without “blog post”", "attempt at least 2"},
		`type:code_review type:content_creation x`: {"type is code_review", "or type is content_creation", "text with “x”"},
		`TASKS:48601`: {"message is TASKS:48601"},
		`id:tsk-* -has:duplicate -anomaly:orphaned`: {"id begins with tsk-", "no publish caught as duplicate", "anomaly is not orphaned"},
	} {
		doc := s.get(t, "/tasks?q="+url.QueryEscape(q), 200)
		if got := onChips(doc); !slices.Equal(got, want) {
			t.Errorf("%s: understood as %q, want %q", q, got, want)
		}
	}
	want := []string{"agent is not marketing", "text with “timeout”"}
	if got := onChips(s.get(t, "/dlq?q=-agent%3Amarketing+timeout", 200)); !slices.Equal(got, want) {
		t.Errorf("dead letters: understood as %q, want %q", got, want)
	}
	doc := s.get(t, "/tasks?state=failed&q="+url.QueryEscape(`-state:completed "blog post"`), 200)
	if href := doc.Find("#chips .chip[aria-current]").First().AttrOr("href", ""); href != "/tasks?q=%22blog+post%22&state=failed" {
		t.Errorf("a chip leads to %s, want the rest of the query", href)
	}
}

func TestASearchFindsMessagesAndReasons(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	for path, want := range map[string]wants{
		"/tasks?q=TASKS%3A48601":                               {"#rows tr": "=1", "#rows a.title[href='/tasks/tsk-7f3a91']": ""},
		"/tasks?q=tsk-7f3a91":                                  {"#rows tr": "=1"},
		"/tasks?q=registry.internal":                           {"#rows tr": ""},
		"/tasks?q=TASKS%3A9999999":                             {"#rows .say": "No task matches", "#rows a.btn": "Search as text", "#rows p:not(.say)": "Looked at the messages of the 627 stored tasks"},
		"/tasks?q=zzz-nothing":                                 {"#rows p:not(.say)": "Looked at task ids, message ids, titles and current reasons of the 627 stored tasks.", "#rows a.btn": "Clear filters"},
		"/tasks?q=212431+tokens":                               {"#rows .say": "No task matches", "#rows a.btn[href^='/dlq?q=']": "In the DLQ: 1 message"}, // Its retry completed.
		"/tasks?q=state%3Adead-lettered":                       {"#rows .state": "dead-lettered"},                                                          // As pages write it.
		"/tasks?q=state%3A%22Outcome+unknown%22":               {"#chips .chip": "state is"},
		"/tasks?q=published%3A%3C2h+zzz&state=failed":          {"#rows .say": "No task matches published:<2h zzz state:failed."}, // As it was typed.
		"/tasks?q=agent%3Amarketing+zzz-nothing":               {"#rows a.btn": "Without: text with “zzz-nothing” (", "#rows a.btn[href='/tasks?q=agent%3Amarketing']": "tasks"},
		"/dlq?q=agent%3Amarketing+zzz-nothing":                 {"#rows a.btn[href='/dlq?q=agent%3Amarketing']": "Without: text with “zzz-nothing” ("},
		"/tasks?q=" + url.QueryEscape(`-state:completed -x y`): {"#grammar summary": "Narrow with state: agent:", "#grammar li code": "two words", "#grammar table tbody tr": "=18"},
	} {
		want.check(t, s.get(t, path, 200))
	}
}

func TestAMistakeInASearchIsSaidOnceAtTheBox(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	for path, want := range map[string]wants{
		"/tasks?q=stat%3Afailed":   {"#problem[role=alert]": `The search has no field "stat"; did you mean state? The fields are agent,`, "#q[aria-invalid=true][aria-describedby~=problem]": "", "#rows .say": "The query cannot be read."},
		"/tasks?q=state%3Acomplte": {"#problem": `state: "complte" is not a state; did you mean completed?`},
		"/dlq?q=state%3Aopen":      {"#problem": `The search has no field "state"; did you mean status?`, "#q[aria-invalid=true]": ""},
	} {
		doc := s.get(t, path, 400)
		want.check(t, doc)
		if doc.Find("#rows p").Text() == doc.Find("#problem").Text() || doc.Find("#problem").Length() != 1 {
			t.Errorf("%s says its problem twice", path)
		}
	}
}
