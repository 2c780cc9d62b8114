package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"fleetglass/internal/health"
	"fleetglass/internal/testkit"
	"fleetglass/web/webtest"
)

func TestAPageSaysThatItsServerIsGone(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	b := &tab{ctx: testkit.Tab(t, testkit.Browser(t)), site: s} // Errors of the network are on purpose here.
	tries := 0
	if err := chromedp.Listen(b.ctx, func(e any) {
		if r, ok := e.(*network.EventRequestWillBeSent); ok && strings.HasPrefix(r.Request.URL, s.URL) {
			b.mu.Lock()
			tries++
			b.mu.Unlock()
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := call(b, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	b.open(t, "/in-flight")
	b.until(t, `document.body.dataset.stream === "open"`)
	b.mu.Lock()
	tries = 0
	b.mu.Unlock()
	s.kill()
	killed := time.Now()
	b.until(t, `!document.getElementById("lost").hidden && "lost" in document.body.dataset`)
	if took := time.Since(killed); took > 5*time.Second {
		t.Errorf("said so after %s, want within 5 s", took)
	}
	left := eval[string](t, b, `document.querySelector("#healthy [data-deadline]").textContent`)
	b.until(t, `Number.parseInt(document.querySelector("#lost b").textContent) >= 6`)
	if got := eval[string](t, b, `document.querySelector("#healthy [data-deadline]").textContent`); got != left {
		t.Errorf("a countdown went on from %s to %s", left, got)
	}
	if !eval[bool](t, b, `getComputedStyle(document.querySelector(".main")).filter.includes("grayscale") && !document.querySelector("#freshness").getClientRects().length`) {
		t.Error("values are not greyed, or the freshness still shows")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if tries > 5 {
		t.Errorf("asked a server that is gone %d times in 6 s", tries)
	}
}

func TestAPageComesBackWithItsConnection(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	b := &tab{ctx: testkit.Tab(t, testkit.Browser(t)), site: s}
	b.open(t, "/tasks")
	b.until(t, `document.body.dataset.stream === "open"`)
	s.drop()
	b.until(t, `document.getElementById("lost").hidden === false`)
	b.until(t, `document.getElementById("lost").hidden && document.body.dataset.stream === "open" && !("lost" in document.body.dataset)`)
}

// The pill at the top says what is wrong with what we see as soon as it is, in a word.
func TestAPageSaysThatWeAreBlind(t *testing.T) {
	t.Parallel()
	now := health.Part{Name: "acks", Kind: "collector", State: health.OK, LastAt: noon}
	change := make(chan health.Part, 1)
	parts := func() []health.Part {
		select {
		case now = <-change:
		default:
		}
		return []health.Part{now}
	}
	guarded := make(chan struct{}, 1)
	s := newSite(t, webtest.Rich(noon).Batch, func(c *setup) {
		c.Health = health.ReporterFunc(func() []health.Part {
			guarded <- struct{}{}
			defer func() { <-guarded }()
			return parts()
		})
	})
	b := openTab(t, testkit.Browser(t), s)
	b.open(t, "/tasks/tsk-7f3a91")
	b.until(t, `document.body.dataset.stream === "open" && !document.querySelector("#freshness summary b")`)
	for _, step := range []struct {
		kind  string
		state health.State
		want  string
	}{{"collector", health.Behind, "Behind"}, {"store", health.Behind, "Store slow"}, {"collector", health.Down, "Blind"}, {"store", health.Down, "Store down"}} {
		change <- health.Part{Name: step.kind, Kind: step.kind, State: step.state, LastAt: noon}
		b.until(t, `document.querySelector("#freshness summary b")?.textContent === "`+step.want+`"`)
	}
}

// At 360 px an alarm has a line of its own under the buttons, which stay in one line.
func TestAnAlarmFitsAPhone(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, func(c *setup) {
		c.Health = health.ReporterFunc(func() []health.Part {
			return []health.Part{{Name: "acks", Kind: "collector", State: health.Down, LastAt: noon.Add(-40 * time.Second)}}
		})
	})
	b := &tab{ctx: testkit.Tab(t, testkit.Browser(t)), site: s} // Errors of the network are on purpose here.
	b.do(t, "resize", chromedp.EmulateViewport(360, 800))
	b.open(t, "/in-flight")
	b.until(t, `document.body.dataset.stream === "open"`)
	if got := eval[string](t, b, `document.querySelector("#freshness summary").innerText.replace(/\s+/g, " ").trim()`); got != "Blind, data of 40 s ago" {
		t.Errorf("the alarm reads %q", got)
	}
	const aligned = `(() => { const middle = (s) => { const r = document.querySelector(s).getBoundingClientRect(); return Math.round(r.top + r.height / 2); };
		return ["#pause", "#theme", ".brand"].every((s) => Math.abs(middle(s) - middle(".menu-btn")) <= 2); })()`
	if !eval[bool](t, b, aligned) {
		t.Error("a button stands in another line than the menu")
	}
	s.kill()
	b.until(t, `!document.getElementById("lost").hidden`)
	if !eval[bool](t, b, aligned) {
		t.Error("a button stands in another line than the menu once the connection is lost")
	}
	b.run(t, controlK) // The palette cannot be fetched any more.
	b.until(t, `document.getElementById("toast").textContent.includes("The server does not answer")`)
}
