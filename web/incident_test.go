package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fleetglass/internal/testkit"
	"fleetglass/web/webtest"
)

const noToken = "llm_provider_timeout: no first token after 60 s"

// incident tells of n messages that died of one cause within the last 80 minutes.
func incident(n int) *webtest.Story {
	s := webtest.NewStory(noon)
	for i := range n {
		s.Die(fmt.Sprintf("tsk-%d", i), []string{"cto", "ceo"}[i%2], noToken, -time.Duration(80-80*i/n)*time.Minute)
	}
	return s
}

func TestAnIncidentIsOneBannerThatLeadsToExactlyItsDeadLetters(t *testing.T) {
	t.Parallel()
	story := incident(20)
	story.Die("tsk-other", "cto", "context_window_overflow: the prompt is 214,000 tokens", -6*time.Minute)
	s := newSite(t, story.Batch)
	doc := s.get(t, "/dlq?status=all", 200)
	banner := doc.Find("#banners .banner.warn")
	if banner.Length() != 1 || !strings.HasPrefix(text(banner.Find("b")), "20 dead letters of one cause: llm provider timeout, since 10:40.") {
		t.Fatalf("the page has %d banners: %s", banner.Length(), text(banner))
	}
	link := banner.Find("a")
	if text(link) != "Show the 20" {
		t.Errorf("its link says %q", text(link))
	}
	if got := text(s.get(t, link.AttrOr("href", ""), 200).Find("#summary")); !strings.HasPrefix(got, "20 messages") {
		t.Errorf("its link lists %q", got)
	}
	if got := text(s.get(t, "/", 200).Find("#attention li").First()); !strings.HasPrefix(got, "20 dead letters of one cause: llm provider timeout") || !strings.Contains(got, "Show them") {
		t.Errorf("the overview begins with %q", got)
	}
	if n := newSite(t, webtest.Rich(noon).Batch).get(t, "/dlq?status=all", 200).Find("#banners .banner.warn").Length(); n != 0 {
		t.Errorf("%d banners about a trickle", n)
	}
}

func TestTheBannerOfAnIncidentMovesNothingUnderThePointer(t *testing.T) {
	t.Parallel()
	s := newSite(t, incident(12).Batch)
	b := openTab(t, testkit.Browser(t), s)
	b.open(t, "/dlq?status=all")
	b.until(t, `document.body.dataset.stream === "open"`)
	s.clock.Advance(10 * time.Second)
	more := webtest.NewStory(s.clock.Now()).From(900_000)
	for i := range 3 {
		more.Die(fmt.Sprintf("tsk-more-%d", i), "cto", noToken, -time.Second)
	}
	before := b.moving(t)
	s.append(t, more.Batch)
	s.clock.Advance(10 * time.Second)
	for end := time.Now().Add(20 * time.Second); !strings.HasPrefix(eval[string](t, b, `document.querySelector("#summary").textContent`), "15 "); {
		if time.Now().After(end) {
			t.Fatal("the page does not follow the fleet")
		}
		b.moving(t)
	}
	if after := b.moving(t); after != before {
		t.Errorf("the list stands at %v, and stood at %v", after, before)
	}
	b.until(t, `document.querySelector("#banners").textContent.includes("15 dead letters of one cause")`)
}

// moving moves the pointer over the page, and says where the list stands.
func (b *tab) moving(t *testing.T) float64 {
	t.Helper()
	b.point(t, "#main h1")
	b.point(t, "#stats")
	return eval[float64](t, b, `document.querySelector("#states").getBoundingClientRect().top`)
}
