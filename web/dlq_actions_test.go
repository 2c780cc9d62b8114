package web_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"fleetglass/access"
	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/fleet"
	"fleetglass/web/webtest"
)

// acting gives a site what acts on its dead letters.
func acting(c *setup) {
	store := c.Store.(interface {
		dlqtriage.EntryReader
		dlqtriage.TaskReader
		dlqtriage.DecisionStore
		dlqtriage.FleetReader
	})
	actions, err := dlqtriage.NewActions(dlqtriage.ActionsConfig{
		Entries: store, Tasks: store, Decisions: store, Fleet: store, Policy: dlqtriage.DefaultPolicy, Contract: fleet.NewContract(""), Now: c.Now,
	})
	if err != nil {
		panic(err)
	}
	c.Actions = actions
}

// deadEntry is the address of an entry that a transient cause made.
func (s *site) deadEntry(t *testing.T) string {
	t.Helper()
	href, found := s.get(t, "/dlq?detail=llm_provider_timeout", 200).Find("#rows a.title").First().Attr("href")
	if !found {
		t.Fatal("no dead letter")
	}
	return href
}

// send sends a form, and returns the answer without following it.
func (s *site) send(t *testing.T, path string, form url.Values) (*http.Response, *goquery.Document) {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.PostForm(s.URL+path, form)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	doc, err := goquery.NewDocumentFromReader(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, doc
}

// fields are what a browser would send of a form that nobody changed.
func fields(form *goquery.Selection) url.Values {
	out := url.Values{}
	form.Find("input, textarea, select").Each(func(_ int, f *goquery.Selection) {
		name, value := f.AttrOr("name", ""), f.AttrOr("value", "")
		_, checked := f.Attr("checked")
		switch {
		case goquery.NodeName(f) == "textarea":
			value = strings.ReplaceAll(f.Text(), "\n", "\r\n")
		case goquery.NodeName(f) == "select":
			value = f.Find("option[selected]").AttrOr("value", f.Find("option").First().AttrOr("value", ""))
		case (f.AttrOr("type", "") == "radio" || f.AttrOr("type", "") == "checkbox") && !checked:
			return
		}
		out.Set(name, value)
	})
	return out
}

// typed are the fields of an action's form with others typed.
func (s *site) typed(t *testing.T, entry, action string, with map[string]string) url.Values {
	t.Helper()
	form := fields(s.get(t, entry, 200).Find("#act-" + action + " form"))
	form.Set("step", "preview")
	for name, value := range with {
		form.Set(name, value)
	}
	return form
}

// take goes from the form of an action to the entry after it.
func (s *site) take(t *testing.T, entry, action string, with map[string]string) {
	t.Helper()
	answer, preview := s.send(t, entry, s.typed(t, entry, action, with))
	if answer.StatusCode != 200 {
		t.Fatalf("preview of %s: %d %s", action, answer.StatusCode, text(preview.Find("main")))
	}
	do := fields(preview.Find("#do"))
	do.Set("step", "do")
	if answer, doc := s.send(t, entry, do); answer.StatusCode != http.StatusSeeOther || !strings.HasPrefix(answer.Header.Get("Location"), entry+"?did=act-") {
		t.Fatalf("%s: %d to %q %s", action, answer.StatusCode, answer.Header.Get("Location"), text(doc.Find("main")))
	}
}

func TestThePanelOffersWhatAppliesToTheStatus(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, acting)
	entry := s.deadEntry(t)
	because := map[string]string{"reason": "the provider is back"}
	for _, step := range []struct {
		action string
		with   map[string]string
		want   string // What is offered before the action.
		next   string // What should happen next, after it.
	}{
		{"reclassify", map[string]string{"reason": "it was the network", "class": "transient/network_transient"}, "retry edit reassign defer quarantine reclassify discard", "retry after 30"},
		{"defer", map[string]string{"reason": "wait", "wait": "human"}, "retry edit reassign defer quarantine reclassify discard", "It is deferred until a person decides."},
		{"reopen", because, "retry edit reassign defer quarantine reclassify reopen discard", "retry after 30"},
		{"discard", because, "retry edit reassign defer quarantine reclassify discard", "What should happen nextNothing: it was discarded."},
		{"reopen", because, "reclassify reopen", "retry after 30"},
		{"quarantine", because, "retry edit reassign defer quarantine reclassify discard", "What should happen nextNothing happens by itself: it is kept apart"},
		{"reopen", because, "reclassify reopen", "retry after 30"},
		{"retry", because, "retry edit reassign defer quarantine reclassify discard", "What should happen nextAn action is under way."},
	} {
		var got []string
		s.get(t, entry, 200).Find("#actions form").Each(func(_ int, f *goquery.Selection) {
			got = append(got, strings.TrimPrefix(f.ParentsFiltered("details").AttrOr("id", ""), "act-"))
		})
		if strings.Join(got, " ") != step.want {
			t.Errorf("before %s: %v is offered, want %s", step.action, got, step.want)
		}
		s.take(t, entry, step.action, step.with)
		s.clock.Advance(time.Second) // What is decided later stands higher.
		wants{"#plan": step.next}.check(t, s.get(t, entry, 200))
	}
	wants{".lede .state": "acting", "#actions form": "=0", "#actions-off": "has not ended", "#history tbody tr": "=8", "#history tbody tr:first-child": "the provider is back",
		"#why": "network transient"}.check(t, s.get(t, entry, 200))
}

// Whoever comes from an action sees at the top that it was taken, by whom and why, and how to take it back. What waits for a decision says nothing of those before.
func TestAnEntrySaysAtTheTopWhatWasDecided(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, acting)
	entry := s.deadEntry(t)
	wants{"#decided p": "=0"}.check(t, s.get(t, entry, 200))
	s.take(t, entry, "quarantine", map[string]string{"reason": "look at it first"})
	page := s.get(t, entry, 200)
	wants{"#decided": "Quarantine by local, now “look at it first” Take it back…"}.check(t, page)
	if back := page.Find("#decided a").AttrOr("href", "#none"); page.Find(back).Length() != 1 || page.Find("details#act-reopen "+back).Length() != 1 {
		t.Errorf("taking it back leads to %s, which is not the reason of reopening", back)
	}
	s.take(t, entry, "reopen", map[string]string{"reason": "it was nothing"})
	wants{"#decided p": "=0"}.check(t, s.get(t, entry, 200))
}

func TestThePreviewShowsWhatWouldBePublished(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, acting)
	entry := s.deadEntry(t)
	answer, preview := s.send(t, entry, s.typed(t, entry, "edit", map[string]string{"reason": "a shorter one", "payload": "{\"title\":\r\n\"Edited here\"}"}))
	if answer.StatusCode != 200 {
		t.Fatalf("got %d: %s", answer.StatusCode, text(preview.Find("main")))
	}
	wants{"#preview table": "Edited here", "#diff": "X-Triage-Action", "#preview": "genbrain.agents.", "#diff tbody": "Edited here", "#preflight": "tokens", `#do button[value="do"]:not([disabled])`: "Retry", "#change textarea[name=payload]": "Edited here",
		"#preview .sub": "nothing was done yet", "#broken": "=0"}.check(t, preview)
	_, preview = s.send(t, entry, s.typed(t, entry, "edit", map[string]string{"reason": "a slip", "payload": "{\"title\":\r\n  oops"}))
	wants{"#broken": "The edited body is not JSON. The original is. Line 2, character 3: invalid character 'o' looking for beginning of value.", "#do": "Retry"}.check(t, preview)
	wants{"#history": "Nothing yet.", ".lede .state": "open"}.check(t, s.get(t, entry, 200))
}

func TestARefusalKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, acting)
	entry := s.deadEntry(t)
	short := s.typed(t, entry, "edit", map[string]string{"reason": "no", "payload": `{"kept": "text"}`})
	answer, page := s.send(t, entry, short)
	if answer.StatusCode != 400 {
		t.Errorf("a short reason: got %d", answer.StatusCode)
	}
	wants{"#refused": "3 to 2,000 characters", "#change textarea[name=reason]": "no", "#change textarea[name=payload]": `{"kept": "text"}`, `#change input[name=as][value="edited"]`: "", "#do": "=0"}.check(t, page)

	locked := s.typed(t, entry, "edit", map[string]string{"reason": "try it", "headers": "X-Team: blue\nX-Task-ID: another"})
	if answer, page = s.send(t, entry, locked); answer.StatusCode != 400 {
		t.Errorf("a locked header: got %d", answer.StatusCode)
	}
	wants{"#refused": "X-Task-Id is not yours to set", "#change textarea[name=headers]": "X-Team: blue X-Task-ID: another"}.check(t, page)

	late := s.typed(t, entry, "discard", map[string]string{"reason": "nobody needs it any more", "step": "do", "key": "page-late"})
	s.take(t, entry, "defer", map[string]string{"reason": "somebody was faster"})
	answer, page = s.send(t, entry, late)
	if answer.StatusCode != 412 {
		t.Errorf("an entry that was changed: got %d", answer.StatusCode)
	}
	wants{"#refused": "changed meanwhile", ".lede .state": "deferred", "#change textarea[name=reason]": "nobody needs it any more", `#change input[name=revision][value="1"]`: ""}.check(t, page)
}

func TestAFormThatIsSentTwiceActsOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, acting)
	entry := s.deadEntry(t)
	_, preview := s.send(t, entry, s.typed(t, entry, "retry", map[string]string{"reason": "the provider is back"}))
	do := fields(preview.Find("#do"))
	do.Set("step", "do")
	for n := range 2 {
		if answer, page := s.send(t, entry, do); answer.StatusCode != http.StatusSeeOther {
			t.Errorf("time %d: got %d: %s", n+1, answer.StatusCode, text(page.Find("main")))
		}
	}
	wants{"#history tbody tr": "=1", "#history td:nth-child(3)": "local"}.check(t, s.get(t, entry, 200))
	do.Set("key", "page-another")
	answer, page := s.send(t, entry, do)
	if answer.StatusCode != 412 && answer.StatusCode != 409 {
		t.Errorf("another request meanwhile: got %d", answer.StatusCode)
	}
	wants{"#refused": "Nothing was done."}.check(t, page)
	audit, err := s.store.(decision.Reader).ActionsOn(context.Background(), decision.Subject("message "+strings.TrimPrefix(entry, "/dlq/")), 10)
	if err != nil || len(audit) != 1 {
		t.Errorf("%d actions are stored, %v; want 1", len(audit), err)
	}
}

func TestThePanelIsOffInReadOnlyMode(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, acting, func(c *setup) { c.Access = access.Authorizer{ReadOnly: true} })
	entry := s.deadEntry(t)
	wants{"#actions-off": "read-only mode", "#actions form": "=0"}.check(t, s.get(t, entry, 200))
	if answer, _ := s.send(t, entry, url.Values{"action": {"retry"}}); answer.StatusCode != http.StatusForbidden {
		t.Errorf("got %d, want 403", answer.StatusCode)
	}
}

func TestTheTaskOfADeadLetterOffersTheSameActions(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, acting)
	entry := s.deadEntry(t)
	task := s.get(t, entry, 200).Find(".lede a[href^='/tasks/']").AttrOr("href", "")
	page := s.get(t, task, 200)
	wants{"#actions summary h2": "Dead letter: what you can do", "#actions summary .sub": "open", `#actions a[href="` + entry + `"]`: "Why it died", "#act-edit textarea[name=payload]": "taskId", "#act-edit .locked": "X-Task-ID",
		"#act-edit .preflight": "tokens", "#act-discard.apart": ""}.check(t, page)
	form := page.Find("#act-defer form")
	do := fields(form)
	do.Set("reason", "wait for it")
	do.Set("step", "preview")
	answer, preview := s.send(t, form.AttrOr("action", ""), do)
	if answer.StatusCode != 200 || preview.Find("#do").Length() != 1 {
		t.Errorf("got %d: %s", answer.StatusCode, text(preview.Find("main")))
	}
	wants{"#actions": "=0"}.check(t, s.get(t, "/tasks/tsk-77d0ab", 200))
}
