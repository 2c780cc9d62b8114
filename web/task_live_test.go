package web_test

import (
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"

	"fleetglass/internal/testkit"
	"fleetglass/web/webtest"
)

// A page that stays open says of a task that ended neither that its worker may be gone nor what could be done about that.
func TestWhatCanBeDoneGoesWhenTheTaskEnds(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, acting)
	b := openTab(t, testkit.Browser(t), s)
	b.open(t, "/tasks/tsk-d3380f?tab=payload")
	b.until(t, `document.body.dataset.stream === "open" && !!document.querySelector("#held") && !!document.querySelector("#recovery")`)
	b.run(t, `document.querySelector("#held summary").focus()`)
	s.clock.Advance(time.Second)
	s.append(t, acked(t, s, "tsk-d3380f"))
	b.until(t, `document.querySelector("#task-state").textContent.trim() === "completed" && document.querySelector("#decide > .later")?.textContent === "Changed: show"`)
	if !eval[bool](t, b, `!!document.querySelector("#held")`) {
		t.Error("the actions went away under the focus")
	}
	b.run(t, `document.activeElement.blur()`)
	b.until(t, `!document.querySelector("#held, #recovery, #decide > .later")`)
}

// What changes between the answer of the server and the opening of the stream is seen too: nothing else may happen for hours.
func TestAPageMissesNothingBeforeItsStreamOpens(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	s.append(t, newTask(s, "tsk-1"))
	b := openTab(t, testkit.Browser(t), s)
	late := page.AddScriptToEvaluateOnNewDocumentParams{Source: `
		delete Navigator.prototype.locks; // As where the address is neither HTTPS nor of this machine.
		const Stream = EventSource;
		window.EventSource = function (url) {
			const stand = new EventTarget();
			stand.close = () => {};
			window.letStream = () => {
				const real = new Stream(url);
				for (const name of ["open", "error", "beat", "change", "reset"]) real.addEventListener(name, (e) => stand.dispatchEvent(new MessageEvent(name, { data: e.data })));
			};
			return stand;
		};`}
	if err := call(b, page.AddScriptToEvaluateOnNewDocument, late); err != nil {
		t.Fatal(err)
	}
	b.open(t, "/tasks/tsk-1")
	b.until(t, `!!window.letStream`)
	s.clock.Advance(time.Second)
	s.append(t, acked(t, s, "tsk-1"))
	b.run(t, `window.letStream()`)
	b.until(t, `document.querySelector("#task-state").textContent.trim() === "completed"`)
}
