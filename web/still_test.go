package web_test

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"

	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/web/webtest"
)

func TestListsHoldStillUnderPointerAndFocus(t *testing.T) {
	t.Parallel()
	browser := testkit.Browser(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, context.Context)
	}{
		{"in flight, while the focus is in it", stillInFocus},
		{"tasks of an agent, while the pointer is over it", stillUnderPointer},
		{"dead letters: new ones wait", newOnesWait},
		{"what needs attention, while the pointer is over it", findingsWait},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, browser) })
	}
}

// order is the order of the rows within an element.
func (b *tab) order(t *testing.T, selector string) string {
	t.Helper()
	return eval[string](t, b, `[...document.querySelectorAll("`+selector+` tr[id]")].map((r) => r.dataset.id).join()`)
}

func stillInFocus(t *testing.T, browser context.Context) {
	s := newSite(t, webtest.Rich(noon).Batch)
	b := openTab(t, browser, s)
	b.open(t, "/in-flight")
	b.until(t, `document.body.dataset.stream === "open"`)
	before := b.order(t, "#leases")
	b.run(t, `document.querySelector("#leases a.title").focus()`)
	s.clock.Advance(time.Second)
	s.append(t, acked(t, s, "tsk-d3380f"))
	b.untilLater(t, `document.querySelector("#leases > .later")?.textContent === "Changed: show"`)
	if got := b.order(t, "#leases"); got != before {
		t.Errorf("rows moved under the focus:\n%s\n%s", before, got)
	}
	b.run(t, `document.activeElement.blur()`)
	b.until(t, `!document.querySelector("#leases > .later") && ![...document.querySelectorAll("#leases tr[id]")].some((r) => r.dataset.id === "tsk-d3380f")`)
}

func stillUnderPointer(t *testing.T, browser context.Context) {
	s := newSite(t, webtest.Rich(noon).Batch)
	b := openTab(t, browser, s)
	b.open(t, "/agents/cto")
	b.until(t, `document.body.dataset.stream === "open"`)
	b.run(t, `document.querySelector("#recent tbody tr:nth-child(3)").scrollIntoView({block: "center"})`)
	b.point(t, "#recent tbody tr:nth-child(3)")
	before := b.order(t, "#recent")
	s.clock.Advance(time.Second)
	s.append(t, newTask(s, "tsk-fresh"))
	b.until(t, `document.querySelector("#recent > .later")?.textContent === "1 new: show"`)
	if got := b.order(t, "#recent"); got != before {
		t.Errorf("rows moved under the pointer:\n%s\n%s", before, got)
	}
	b.click(t, "#recent > .later")
	b.until(t, `document.querySelector("#recent tbody tr[id]").dataset.id === "tsk-fresh" && !document.querySelector("#recent > .later")`)
}

// point moves the pointer to the middle of an element.
func (b *tab) point(t *testing.T, selector string) {
	t.Helper()
	b.mouse(t, input.DispatchMouseEventTypeMouseMoved, selector)
}

// mouse moves the pointer to the middle of an element, or presses or releases its left button there.
func (b *tab) mouse(t *testing.T, what input.DispatchMouseEventType, selector string) {
	t.Helper()
	at := eval[[]float64](t, b, `(() => { const r = document.querySelector("`+selector+`").getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()`)
	event := input.DispatchMouseEventParams{Type: what, X: at[0], Y: at[1]}
	if what != input.DispatchMouseEventTypeMouseMoved {
		event.Button, event.ClickCount = input.MouseButtonLeft, 1
	}
	if err := call(b, input.DispatchMouseEvent, event); err != nil {
		t.Fatal(err)
	}
}

// findingsWait compares the actions: a click must not meet that of another finding.
func findingsWait(t *testing.T, browser context.Context) {
	story := webtest.NewStory(noon)
	m := story.Publish("tsk-first", "legal", "review", "Waits", -time.Minute, "")
	story.Tell(lifecycle.Orphaned, lifecycle.Inferred, m, 0, -30*time.Second, lifecycle.Detail{})
	s := newSite(t, story.Batch)
	b := openTab(t, browser, s)
	b.open(t, "/")
	b.until(t, `document.body.dataset.stream === "open"`)
	const rows = `[...document.querySelectorAll("#attention li")].map((l) => l.id).join()`
	b.point(t, "#attention li .do")
	before := eval[string](t, b, rows)
	s.clock.Advance(time.Second)
	s.append(t, newDead(s, "tsk-just-died"))
	b.until(t, `document.querySelector("#attention > .later")?.textContent === "2 new: show"`) // The one without a consumer waits for a decision by now.
	if got := eval[string](t, b, rows); got != before || before == "" {
		t.Errorf("findings moved under the pointer: %q, then %q", before, got)
	}
	b.click(t, "#attention > .later")
	b.until(t, `document.querySelectorAll("#attention li").length === 3 && !document.querySelector("#attention > .later")`)
}

func newOnesWait(t *testing.T, browser context.Context) {
	s, _ := newOperating(t)
	b := openTab(t, browser, s)
	b.open(t, "/dlq?status=all")
	b.until(t, `document.body.dataset.stream === "open"`)
	before := b.order(t, "#rows")
	s.clock.Advance(time.Second)
	s.append(t, newDead(s, "tsk-just-died"))
	b.until(t, `!document.querySelector("#fresh").hidden && document.querySelector("#fresh").textContent.trim() === "1 new: show"`)
	if got := b.order(t, "#rows"); got != before {
		t.Errorf("rows moved:\n%s\n%s", before, got)
	}
	b.click(t, "#fresh")
	b.until(t, `document.querySelector("#rows tr a.title").textContent === "Review tsk-just-died" && document.querySelector("#fresh").hidden`)
}

// newDead is a batch with a task that was published just now and given up.
func newDead(s *site, id string) lifecycle.Batch {
	batch := newTask(s, id)
	key := batch.Payloads[0].Message
	for i, kind := range []lifecycle.Kind{lifecycle.Terminated, lifecycle.TermConfirmed} {
		e := lifecycle.Event{
			ID: lifecycle.NewEventID("test dead", id, string(kind)), At: lifecycle.MicrosOf(s.clock.Now()), Kind: kind, Provenance: lifecycle.Observed, Source: "OBS_ACK", SourceSeq: uint64(3_000_000 + i),
			TaskID: id, Message: key, Agent: "cto", Consumer: "cto-task-worker", ConsumerSeq: 8_000_000, Attempt: 1, Detail: lifecycle.Detail{Ending: lifecycle.Ending{Reason: "503 overloaded"}},
		}
		if kind == lifecycle.TermConfirmed {
			e.Provenance, e.Source = lifecycle.Broker, "OBS_EVT"
		}
		batch.Events = append(batch.Events, e)
	}
	return batch
}
