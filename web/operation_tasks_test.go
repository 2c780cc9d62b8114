package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"fleetglass/access"
	"fleetglass/dlqtriage"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/web/webtest"
)

// deadTask is a task with an open dead letter, and its entry.
func (s *site) deadTask(t *testing.T) (task, entry string) {
	t.Helper()
	list, err := s.store.(dlqtriage.EntryReader).Entries(context.Background(), dlqtriage.EntryFilter{Statuses: []dlqtriage.Status{dlqtriage.StatusOpen}}, dlqtriage.EntryPageRequest{Limit: 1})
	if err != nil || len(list.Entries) == 0 {
		t.Fatal("no open dead letter", err)
	}
	return list.Entries[0].TaskID, list.Entries[0].ID
}

func TestTickedTasksLeadToADryRunOnTheirDeadLetters(t *testing.T) {
	t.Parallel()
	s, work := newOperating(t)
	dead, entry := s.deadTask(t)
	const done = "tsk-twice0"
	dry := "/operations/new?" + url.Values{"tasks": {""}, "id": {dead, done}}.Encode()
	page := s.get(t, dry, 200)
	wants{
		"h1": "Retry 1 dead letter", ".lede": "1 open dead letter of the 2 tasks that you ticked. 1 task has none.", "#rows a[href='/dlq/" + entry + "']": "",
		".lede a[href='/tasks']": "Do nothing", "#bulk input[name=tasks]": "", "#bulk input[name=before]": "", "#bulk input[name=filter]": "=0",
	}.check(t, page)

	again := fields(page.Find("#bulk form"))
	again["id"] = []string{dead, done}
	again.Set("action", "discard")
	wants{"h1": "Discard 1 dead letter", ".lede": "1 task has none"}.check(t, s.get(t, "/operations/new?"+again.Encode(), 200))

	form := fields(page.Find("#bulk form"))
	form["id"] = []string{dead, done}
	form.Set("reason", "the provider is back")
	answer, said := s.send(t, "/operations", form)
	if answer.StatusCode != http.StatusSeeOther {
		t.Fatalf("got %d: %s", answer.StatusCode, text(said.Find("main")))
	}
	operation := answer.Header.Get("Location")
	work()
	s.ended(t, operation)
	wants{"#rows a[href='/dlq/" + entry + "']": "", "#rows tr": "", "#progress": "1 of 1"}.check(t, s.get(t, operation, 200))

	none := s.get(t, "/operations/new?"+url.Values{"tasks": {""}, "id": {done}}.Encode(), 200)
	wants{".lede": "The task that you ticked has no open dead letter.", "#refused": "There is nothing to act on.", "#run": "=0", "#dry": "=0", "h1": "Retry 0 dead letters"}.check(t, none)
	s.get(t, "/operations/new?tasks=", http.StatusBadRequest)
	s.get(t, "/operations/new?tasks=state%3Dnonsense&matching=all", http.StatusBadRequest)
}

// What dies between the dry run and the start was not seen by whoever asks.
func TestADeadLetterThatCameAfterTheDryRunIsNotSelected(t *testing.T) {
	t.Parallel()
	s, _ := newOperating(t)
	dead, _ := s.deadTask(t)
	wants{".lede": "has no open dead letter"}.check(t, s.get(t, "/operations/new?"+url.Values{"tasks": {""}, "id": {dead}, "before": {noon.Add(-72 * time.Hour).Format(time.RFC3339Nano)}}.Encode(), 200))
}

func TestAllTasksThatMatchAreSelectedByTheirFilter(t *testing.T) {
	t.Parallel()
	s, _ := newOperating(t)
	list := s.get(t, "/tasks?state=dead_lettered", 200)
	n := strings.TrimSpace(list.Find("#states a[aria-current] .n").Text())
	wants{"#matching-words": "select all " + n + " matching", "#retry-tasks[formaction='/operations/new'][name=tasks][value='state=dead_lettered']": "Dry-run retry"}.check(t, list)
	wants{".lede": "of the " + n + " tasks that match."}.check(t, s.get(t, "/operations/new?tasks=state%3Ddead_lettered&matching=all", 200))
	wants{".lede": "None of the "}.check(t, s.get(t, "/operations/new?tasks=state%3Dcompleted%26agent%3Dceo&matching=all", 200))

	readOnly, _ := newOperating(t, func(c *setup) { c.Access = access.Authorizer{ReadOnly: true} })
	wants{"#bulk-off": "read-only mode", "#retry-tasks": "=0", "#matching": "=0", "#only-these": "Show only these"}.check(t, readOnly.get(t, "/tasks?state=dead_lettered", 200))
	plain := newSite(t, lifecycle.Batch{})
	wants{"#retry-tasks": "=0", "#bulk-off": "=0"}.check(t, plain.get(t, "/tasks", 200))
}

// Nobody wonders why a long list has no box for all that match.
func TestMoreTasksThanCanBeSelectedAtOnceAreRefusedInWords(t *testing.T) {
	t.Parallel()
	many := webtest.NewStory(noon)
	for i := range 1001 {
		many.Publish(fmt.Sprintf("tsk-%04d", i), "cto", "code_review", "Review", -time.Hour, "")
	}
	s := newSite(t, many.Batch, operating)
	wants{"#too-many": "Narrow the list to select all: over 1,000 match.", "#matching": "=0", "#retry-tasks": ""}.check(t, s.get(t, "/tasks", 200))
	wants{"main": "more than 1,000 tasks are selected"}.check(t, s.get(t, "/operations/new?tasks=&matching=all", http.StatusBadRequest))
}

func TestTasksAreTickedAndRetriedInABrowser(t *testing.T) {
	t.Parallel()
	s, _ := newOperating(t)
	b := openTab(t, testkit.Browser(t), s)
	b.open(t, "/tasks?state=dead_lettered")
	b.click(t, "#rows tr:nth-child(1) input")
	b.run(t, `document.querySelector("#rows tr:nth-child(2) input").click()`) // The bar may lie over it in a low window.
	b.until(t, `document.querySelector("#selected").textContent === "2 selected"`)
	b.click(t, "#retry-tasks")
	b.until(t, `location.pathname === "/operations/new" && document.querySelector(".lede").textContent.includes("2 tasks that you ticked") && `+ready)
	b.open(t, "/tasks?state=dead_lettered")
	b.click(t, "#rows tr:nth-child(1) input")
	b.click(t, "#matching")
	b.click(t, "#retry-tasks")
	b.until(t, `location.pathname === "/operations/new" && document.querySelector(".lede").textContent.includes("tasks that match") && `+ready)
}
