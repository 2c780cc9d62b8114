package web_test

import (
	"testing"
	"time"

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
