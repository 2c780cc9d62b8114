package web_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"fleetglass/lifecycle"
	"fleetglass/web/webtest"
)

// threeDead is a fleet of which two dead letters of one cause were retried: one completed, the other died again, which is open, as is a third.
func threeDead() lifecycle.Batch {
	story := webtest.NewStory(noon)
	const reason = "llm_provider_timeout: no first token"
	dead := map[string]webtest.Message{}
	for i, id := range []string{"tsk-good", "tsk-bad", "tsk-new"} {
		dead[id] = died(story, id, time.Duration(60-10*i)*time.Minute, reason, "transient", "llm_provider_timeout")
	}
	for i, id := range []string{"tsk-good", "tsk-bad"} {
		ago := time.Duration(i-30) * time.Minute
		decided := lifecycle.Detail{Triage: lifecycle.Triage{Revision: 1, Outcome: lifecycle.OutcomeRetried, Actor: "ann"}}
		story.Tell(lifecycle.Triaged, lifecycle.Recorded, dead[id], 0, ago, decided)
		again := story.PublishAgain(id, "cto", "review", "The death of "+id, ago, "", 1, dead[id].Key.String())
		story.Deliver(again, 1, ago+time.Minute)
		if id == "tsk-good" {
			story.Say(lifecycle.Acked, again, 1, ago+2*time.Minute, lifecycle.Detail{})
			continue
		}
		story.Say(lifecycle.Terminated, again, 1, ago+2*time.Minute, lifecycle.Detail{Ending: lifecycle.Ending{Reason: reason}})
		story.Bury(again, "transient", 9, ago+3*time.Minute)
	}
	return story.Batch
}

// The bare address leads to what waits for a decision, and says so; all of them have an address of their own.
func TestTheDLQOpensOnWhatIsOpen(t *testing.T) {
	t.Parallel()
	s := newSite(t, threeDead(), operating)
	answer := s.fetch(t, "/dlq", http.Header{})
	_ = answer.Body.Close()
	if at := answer.Header.Get("Location"); answer.StatusCode != http.StatusFound || at != "/dlq?status=open" {
		t.Fatalf("/dlq answers %d to %q, want 302 to /dlq?status=open", answer.StatusCode, at)
	}
	open := s.get(t, "/dlq?status=open", 200)
	wants{"#states a[aria-current]": "Open 2", "#rows tr:nth-child(2)": "The death of tsk-new", "#rows tr:nth-child(3)": "=0", "#chips a": "=0", "#groups li:first-child .name": "All open"}.check(t, open)
	all := open.Find("#states a:contains('All')").AttrOr("href", "")
	if all != "/dlq?status=all" {
		t.Errorf("All leads to %q", all)
	}
	list := s.get(t, all, 200)
	wants{"#states a[aria-current]": "All 4", "#groups li:first-child a[aria-current]": "All4"}.check(t, list)
	if n := list.Find("#rows tr").Length(); n != 4 {
		t.Errorf("All lists %d messages, want 4", n)
	}
	if json := list.Find("a[href^='/api/v1/dlq']").AttrOr("href", ""); json != "/api/v1/dlq" {
		t.Errorf("the JSON of All is %q: the API knows no status \"all\"", json)
	}
	for _, form := range []string{"#filters form", "#query"} {
		if v := list.Find(form+" input[name=status]").AttrOr("value", ""); v != "all" {
			t.Errorf("%s keeps status %q of All: sent empty it would open on open ones", form, v)
		}
	}
	for _, kept := range []string{"/dlq?agent=cto", "/dlq?by=agent", "/dlq?q=token"} {
		wants{"#states a[aria-current]": "All 4"}.check(t, s.get(t, kept, 200))
	}
	if n := s.get(t, "/dlq?agent=cto&status=all", 200).Find("#states a[aria-current]").Text(); !strings.Contains(n, "4") {
		t.Errorf("with another condition status=all reads %q", n)
	}
}

// Where nothing is open the page says so, and does not claim that nothing died.
func TestTheDLQWithNothingOpenLeadsToAll(t *testing.T) {
	t.Parallel()
	s := newSite(t, threeDead(), operating)
	s.get(t, "/dlq?status=open", 200).Find("#rows a.title").Each(func(_ int, a *goquery.Selection) {
		s.take(t, a.AttrOr("href", ""), "quarantine", map[string]string{"reason": "decided"})
	})
	s.clock.Advance(2 * time.Second) // Answers are shared for a while.
	empty := s.get(t, "/dlq?status=open", 200)
	wants{"#rows": "Nothing waits for a decision.", "#rows a[href='/dlq?status=all']": "All 4"}.check(t, empty)
}

// A group says how its retries ended, whatever is listed, and nothing where none was tried.
func TestAGroupSaysHowItsRetriesEnded(t *testing.T) {
	t.Parallel()
	s := newSite(t, threeDead(), operating)
	for _, list := range []string{"/dlq?status=open", "/dlq?status=all", "/dlq?by=agent&status=open"} {
		wants{"#groups .group .recovered": "1 of 2 retries completed, after 32 m, 1 died again"}.check(t, s.get(t, list, 200))
	}
	wants{"#groups .recovered": "=0"}.check(t, newSite(t, reasons()).get(t, "/dlq?status=open", 200))
}

// What was retried and completed says how long that took, from the death and from the retry, on its own page and on that of its task.
func TestARetrySaysHowLongItTook(t *testing.T) {
	t.Parallel()
	s := newSite(t, threeDead(), operating)
	wants{"#actions summary .sub": "resolved 32 m after it died"}.check(t, s.get(t, "/tasks/tsk-good", 200))
	list := s.get(t, "/dlq?status=retried", 200)
	for title, want := range map[string]string{"The death of tsk-good": "32 m from the death to the completion, 2 m of it after the retry", "The death of tsk-bad": ""} {
		row := list.Find("#rows a.title").FilterFunction(func(_ int, a *goquery.Selection) bool { return text(a) == title })
		plan := s.get(t, row.AttrOr("href", ""), 200).Find("#plan")
		if got := text(plan.Find("#took")); got != want {
			t.Errorf("%s: the retry took %q, want %q", title, got, want)
		}
	}
}

// A row says how often its message was delivered, and of one that waits for a decision what is known of its effects.
func TestARowSaysDeliveriesAndEffects(t *testing.T) {
	t.Parallel()
	story := webtest.NewStory(noon)
	for i, row := range []struct{ id, announced, confirmed string }{{"tsk-quiet", "", ""}, {"tsk-done", "ab", "ab"}, {"tsk-doubt", "a", ""}} {
		m := story.Publish(row.id, "cto", "deployment", "The death of "+row.id, -time.Hour, "")
		story.Deliver(m, 1, -40*time.Minute)
		report := func(kind lifecycle.Kind, steps string) {
			for _, step := range steps {
				story.Report(kind, m, 1, -38*time.Minute, lifecycle.Detail{StepReport: lifecycle.StepReport{StepID: string(step), StepClass: "unsafe", Tool: "kubectl"}})
			}
		}
		report(lifecycle.ReportStepIntent, row.announced)
		report(lifecycle.ReportStepReceipt, row.confirmed)
		story.Deliver(m, 2, -30*time.Minute)
		story.Say(lifecycle.Terminated, m, 2, -time.Duration(20-i)*time.Minute, lifecycle.Detail{Ending: lifecycle.Ending{Reason: "dependency_unavailable: registry"}})
	}
	untaken := story.Publish("tsk-untaken", "legal", "review", "The death of tsk-untaken", -30*time.Minute, "")
	story.Tell(lifecycle.Orphaned, lifecycle.Broker, untaken, 0, -25*time.Minute, lifecycle.Detail{})
	story.Tell(lifecycle.DeadLettered, lifecycle.Recorded, untaken, 0, -24*time.Minute, lifecycle.Detail{DeadLetter: lifecycle.DeadLetter{Category: "unclassified", Path: "filter_rejected", Entry: "DLQ:9"}})
	s := newSite(t, story.Batch, operating)
	list := s.get(t, "/dlq?status=open", 200)
	for id, want := range map[string]string{
		"tsk-quiet": "deployment · 2 deliveries · no effect seen", "tsk-done": "deployment · 2 deliveries · 2 steps confirmed",
		"tsk-doubt": "deployment · 2 deliveries · 1 step not confirmed", "tsk-untaken": "review · no delivery seen",
	} {
		row := list.Find("#rows tr:contains('The death of " + id + "')")
		if got := text(row.Find(".handled")); got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
	wants{"#rows .handled .warn": "1 step not confirmed"}.check(t, list)
	entry := list.Find("#rows tr:contains('tsk-quiet') a.title").AttrOr("href", "")
	s.take(t, entry, "quarantine", map[string]string{"reason": "decided"})
	s.clock.Advance(2 * time.Second) // Answers are shared for a while.
	wants{"#rows .handled": "deployment · 2 deliveries"}.check(t, s.get(t, "/dlq?status=quarantined", 200))
	if say := text(s.get(t, "/dlq?status=quarantined", 200).Find("#rows .handled")); say != "deployment · 2 deliveries" {
		t.Errorf("of one that was decided about effects were not looked at, and the row says %q", say)
	}
}

// A retry that died too is over: its dead letter says when, beside the time of the first death.
func TestADeadLetterSaysWhenItsRetryDied(t *testing.T) {
	t.Parallel()
	s := newSite(t, threeDead(), operating)
	entry := ""
	s.get(t, "/dlq?status=all", 200).Find("#rows tr").Each(func(_ int, row *goquery.Selection) {
		if words := text(row); strings.Contains(words, "tsk-bad") && strings.Contains(words, "died again") {
			entry = row.Find("a.title").AttrOr("href", "")
		}
	})
	page := s.get(t, entry, 200)
	wants{"#plan": "The dead letter that followed died 27 m ago", "#plan time": "27 m ago", "dt:contains('Followed by') + dd": "died again 2026-11-20 11:33:00 UTC"}.check(t, page)
}
