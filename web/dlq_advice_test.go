package web_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"fleetglass/lifecycle"
	"fleetglass/web/webtest"
)

// buttons are what is offered beneath the group of a list whose name contains some words, in their order.
func buttons(t *testing.T, page *goquery.Document, words string) []string {
	t.Helper()
	group := page.Find("#groups .group").FilterFunction(func(_ int, g *goquery.Selection) bool { return strings.Contains(g.Find(".name").Text(), words) })
	if group.Length() != 1 {
		t.Fatalf("%d groups have %q in their names", group.Length(), words)
	}
	return group.Find(".btn").Map(func(_ int, a *goquery.Selection) string {
		a.Find(".vh").Remove()
		path, _, _ := strings.Cut(a.AttrOr("href", ""), "?")
		return text(a) + " " + path
	})
}

// What a group offers fits the advice for its messages: no retry where a retry dies the same way.
func TestAGroupOffersWhatItsAdviceSays(t *testing.T) {
	t.Parallel()
	s, _ := newOperating(t)
	for _, row := range []struct {
		list, group, advice string
		want                []string
	}{
		{"/dlq?status=all", "no consumer takes", "until a consumer takes them, a retry dies the same way", []string{"Start legal first /agents/legal", "Reassign 1 open… /operations/new"}},
		{"/dlq?by=cause", "authority exceeded", "no retry cures it", []string{"Reassign 1 open… /operations/new"}},
		{"/dlq?by=cause", "llm provider timeout", "", []string{"Retry 4 open… /operations/new"}},
		{"/dlq?by=agent", "marketing", "", []string{"Retry 1 of 2 open… /operations/new"}},
	} {
		page := s.get(t, row.list, 200)
		if got := buttons(t, page, row.group); !slices.Equal(got, row.want) {
			t.Errorf("%s: the group %q offers %q, want %q", row.list, row.group, got, row.want)
		}
		if got := text(page.Find("#groups .group:contains('" + row.group + "') .advice")); got != row.advice {
			t.Errorf("%s: the group %q is advised %q, want %q", row.list, row.group, got, row.advice)
		}
	}

	s.append(t, takenNow())
	s.clock.Advance(2 * time.Second) // Answers are shared for a while.
	const dry = "/operations/new?select=all&filter=path%3Dfilter_rejected&action=retry"
	wants{"#dry": "Dry run", "#untaken": "=0"}.check(t, s.get(t, dry, 200))
	if got, want := buttons(t, s.get(t, "/dlq?status=all", 200), "no consumer takes"), []string{"Retry 1 open… /operations/new"}; !slices.Equal(got, want) {
		t.Errorf("once a consumer takes them, the group offers %q, want %q", got, want)
	}
}

// takenNow is the consumer of an agent that had none.
func takenNow() lifecycle.Batch {
	story := webtest.NewStory(noon)
	story.Consumer("legal", 0, 0)
	return lifecycle.Batch{Consumers: story.Batch.Consumers}
}

// elsewhere is a consumer of another stream, which takes all of that.
func elsewhere() lifecycle.Batch {
	b := takenNow()
	b.Consumers[0].Stream.Name, b.Consumers[0].Name, b.Consumers[0].Filters = "DLQ", "clerk", nil
	return b
}

func TestAConsumerOfAnotherStreamTakesNothing(t *testing.T) {
	t.Parallel()
	s, _ := newOperating(t)
	s.append(t, elsewhere())
	list := s.get(t, "/dlq?path=filter_rejected", 200)
	if got := buttons(t, list, "no consumer takes"); len(got) == 0 || !strings.HasPrefix(got[0], "Start legal first") {
		t.Errorf("the group offers %q", got)
	}
	wants{"#rows .next .state": "start the agent first"}.check(t, list)
}

// The page of a dead letter offers first what its advice says, and says of a retry that it dies the same way.
func TestTheActionsOfADeadLetterFitItsAdvice(t *testing.T) {
	t.Parallel()
	s, _ := newOperating(t)
	untaken := s.get(t, "/dlq?path=filter_rejected", 200).Find("#rows a.title").AttrOr("href", "")
	permanent := s.get(t, "/dlq?detail=authority_exceeded", 200).Find("#rows a.title").AttrOr("href", "")
	usual := s.get(t, "/dlq?detail=llm_provider_timeout", 200).Find("#rows a.title").AttrOr("href", "")
	order := func(page *goquery.Document) string {
		return strings.Join(page.Find("#actions .more").Map(func(_ int, d *goquery.Selection) string { return strings.TrimPrefix(d.AttrOr("id", ""), "act-") }), " ")
	}
	for href, want := range map[string]string{
		untaken:   "reassign defer quarantine retry reclassify discard",
		permanent: "reassign defer quarantine edit retry reclassify discard",
		usual:     "retry edit reassign defer quarantine reclassify discard",
	} {
		if got := order(s.get(t, href, 200)); got != want {
			t.Errorf("%s offers %s, want %s", href, got, want)
		}
	}
	page := s.get(t, untaken, 200)
	wants{"#act-retry summary": "It dies the same way until a consumer takes its subject.", "#plan dl": "2 m after a retry is decided; start the agent first", "#plan .body a[href='/agents/legal']": "legal"}.check(t, page)
	wants{"#against b": "No consumer takes it."}.check(t, s.preview(t, untaken))
	wants{"#preview": "What would happen", "#against": "=0"}.check(t, s.preview(t, usual))
	wants{"#act-retry summary": "No retry cures what is permanent."}.check(t, s.get(t, permanent, 200))
	if words := text(s.get(t, usual, 200).Find("#act-retry summary")); words != "Retry Publish the message again." {
		t.Errorf("a retry that is advised reads %q", words)
	}

	s.append(t, takenNow())
	s.clock.Advance(2 * time.Second) // Answers are shared for a while.
	taken := s.get(t, untaken, 200)
	wants{"#plan header .state": "retry after 2 m", "#plan .body p:first-child": "No consumer took its subject when it died. legal-task-worker takes it now.", "#act-retry summary": "Publish the message again."}.check(t, taken)
	if got := order(taken); !strings.HasPrefix(got, "retry ") {
		t.Errorf("once a consumer takes it, the page offers %s", got)
	}
}

// preview is what the page between the form of a retry and the retry says.
func (s *site) preview(t *testing.T, entry string) *goquery.Document {
	t.Helper()
	form := fields(s.get(t, entry, 200).Find("#act-retry form"))
	form.Set("as", "unchanged")
	form.Set("reason", "try it")
	form.Set("step", "preview")
	_, page := s.send(t, entry, form)
	return page
}

// The groups with most to decide come first, however many were decided in another.
func TestGroupsWithOpenDeadLettersComeFirst(t *testing.T) {
	t.Parallel()
	story := webtest.NewStory(noon)
	for i, reason := range []string{"aaa was decided", "aaa was decided", "bbb waits"} {
		died(story, "tsk-"+strconv.Itoa(i), time.Duration(i+1)*time.Minute, reason, "unclassified", "")
	}
	s := newSite(t, story.Batch, operating)
	s.get(t, "/dlq?status=all", 200).Find("#rows tr:contains('aaa') a.title").Each(func(_ int, a *goquery.Selection) {
		s.take(t, a.AttrOr("href", ""), "quarantine", map[string]string{"reason": "decided"})
	})
	s.clock.Advance(2 * time.Second) // Answers are shared for a while.
	got := s.get(t, "/dlq?status=all", 200).Find("#groups .group .name").Map(func(_ int, n *goquery.Selection) string { return text(n) })
	if want := []string{"bbb waits", "aaa was decided"}; !slices.Equal(got, want) {
		t.Errorf("the groups are %q, want %q", got, want)
	}
}
