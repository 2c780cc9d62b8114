package web_test

import (
	"strconv"
	"testing"
	"time"

	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/views"
	"fleetglass/web/webtest"
)

// looks are the times that a page has asked for itself.
const looks = `performance.getEntriesByType("resource").filter((e) => e.initiatorType === "fetch" && e.name === location.href)`

func TestThePageOfAnEndedTaskLooksOnlyWhenItChanged(t *testing.T) {
	t.Parallel()
	const id = "tsk-77d0ab"
	s := newSite(t, webtest.Rich(noon).Batch)
	s.clock.Advance(time.Second)
	s.append(t, acked(t, s, id))
	b := openTab(t, testkit.Browser(t), s)
	b.open(t, "/tasks/"+id)
	b.until(t, looks+`.length === 1 && performance.now() > `+looks+`[0].responseEnd + 1000`) // It looks once when its stream is open, and then at most once a second.
	b.run(t, `window.counted = 0; window.signs = []; new BroadcastChannel("fleetglass.live").addEventListener("message", (e) => {
		counted += e.data.tasks || 0;
		signs.push(...(e.data.signs || "").split(" "));
	})`)
	s.clock.Advance(time.Second)
	s.append(t, newTask(s, "tsk-other"))
	b.until(t, `counted === 1`)
	if eval[bool](t, b, `signs.includes("`+views.Sign("tsk-other")+`")`) {
		t.Error("the page was told which other task changed")
	}
	b.run(t, `new BroadcastChannel("fleetglass.live").postMessage({ firing: 7, signs: "fired" })`) // As the tab that holds the stream passes on its beats.
	b.until(t, `signs.includes("fired")`)
	before := eval[int](t, b, `document.querySelectorAll("#events tr").length`)
	late := acked(t, s, id)
	late.Events[0].ID, late.Events[0].ConsumerSeq, late.Events[0].Attempt = lifecycle.NewEventID("test late", id), 9_000_001, 2
	s.append(t, late)
	b.until(t, `document.querySelectorAll("#events tr").length > `+strconv.Itoa(before))
	if n := eval[int](t, b, looks+`.length`); n != 2 {
		t.Errorf("the page asked %d times for itself, want once more", n-1)
	}
}
