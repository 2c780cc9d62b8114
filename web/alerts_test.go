package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/chromedp/chromedp"

	"fleetglass/access"
	"fleetglass/alerts"
	"fleetglass/docs/runbooks"
	"fleetglass/internal/health"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/web/webtest"
)

// alerting gives the pages a board.
func alerting(s *setup) {
	board, err := alerts.NewService(alerts.ServiceConfig{Store: s.Store.(alerts.Store), Now: s.Now})
	if err != nil {
		panic(err)
	}
	s.Alerts = board
}

// fires makes alerts of findings, which are all that is so.
func (s *site) fires(t testing.TB, found ...alerts.Finding) {
	t.Helper()
	store, now := s.store.(alerts.Store), lifecycle.MicrosOf(s.clock.Now())
	b, err := store.Board(t.Context(), now.Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if err := store.CommitBoard(t.Context(), alerts.Step(b, alerts.Observed{At: now, Findings: found}, alerts.Defaults())); err != nil {
		t.Fatal(err)
	}
}

func zombie(key, agent string) alerts.Finding {
	return alerts.Finding{
		Rule: alerts.RuleZombie, Key: key, Severity: alerts.Critical, What: key + " is <b>zombie</b>", Why: "why", Next: "next", TaskID: key, Count: 1,
		Labels: alerts.Labels{Agent: agent, Consumer: agent + "-task-worker"}, Deadline: lifecycle.MicrosOf(noon.Add(-90 * time.Second)),
	}
}

func TestTheBoardShowsWhatFiresByRuleAndAgentAndTakesForms(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, alerting)
	s.fires(t, zombie("a", "cto"), zombie("b", "cto"))
	s.clock.Advance(time.Second)
	s.fires(t, zombie("a", "cto"), zombie("b", "cto"), zombie("c", "ceo"), alerts.Finding{Rule: alerts.RuleExpiring, Key: "e", Severity: alerts.Info, What: "e", TaskID: "e"})
	wants{
		"#firing .alert-group": "=3", "#firing .alert-group:first-of-type li": "=2", "#firing h2": "Firing 4", "#firing li .what": " is <b>zombie</b>", "#firing li .over": "over by 1m 31s",
		"#firing .alert-group:first-of-type h3:not(.vh) .badge": "critical", "#firing .alert-group:first-of-type .said .badge": "=0", "#firing .alert-group.alone": "=2", // One alert is its own band.
		"#firing .alert-group.alone .said .badge": "", "#firing .alert-group.alone li > .rule a": "Runbook", "#firing .alert-group.alone h3.vh": "",
		"#firing .alert-group a[href='/runbooks/zombie']": "Runbook", "#nav-alerts": "4 alerts fire", "title": "▲4 Alerts",
	}.check(t, s.get(t, "/alerts", 200))
	id := alerts.AlertID(alerts.RuleZombie, "a")
	answer, _ := s.send(t, "/alerts", url.Values{"step": {"ack"}, "id": {id}, "note": {"I look"}})
	if answer.StatusCode != http.StatusSeeOther {
		t.Fatalf("acknowledged: %s", answer.Status)
	}
	wants{"#acknowledged li .what": "=1", "#acknowledged li": "I look", "#firing h2": "Firing 3", "#nav-alerts": "3 alerts fire", "title": "▲3 Alerts"}.check(t, s.get(t, "/alerts", 200))
	form := fields(s.get(t, "/alerts/silence?rule=zombie&agent=cto", 200).Find("#change form"))
	if got := form.Get("matchers"); strings.TrimSpace(got) != "rule=\"zombie\"\r\nagent=\"cto\"" {
		t.Errorf("the form is filled with %q", got)
	}
	form.Set("step", "preview")
	if answer, doc := s.send(t, "/alerts/silence", form); answer.StatusCode != http.StatusBadRequest || !strings.Contains(text(doc.Find("#refused")), "Say why") {
		t.Errorf("without a reason: %s %s", answer.Status, text(doc.Find("#refused")))
	}
	form.Set("comment", "we deploy")
	for _, typo := range []struct{ matchers, where, want string }{
		{"rule=zombi", "#preview .banner", `No rule is called "zombi": this silence mutes nothing.`}, {"rule=stale", "#preview p", "No alert matches now. Those that come until then are muted."},
		{"agent=cto\nrulez=stale", "#refused", "Matcher 2: The name must be one of rule"},
	} {
		_, doc := s.send(t, "/alerts/silence", url.Values{"step": {"preview"}, "hours": {"4"}, "comment": {"we deploy"}, "matchers": {typo.matchers}})
		wants{typo.where: typo.want}.check(t, doc)
	}
	_, preview := s.send(t, "/alerts/silence", form)
	wants{"#preview h2": "It would mute 2 alerts now", "#preview li": "=2", "#preview .banner": "=0", "#preview button": "UTC"}.check(t, preview)
	wants{"#silenced": "=0"}.check(t, s.get(t, "/alerts", 200))
	do := fields(preview.Find("#preview form"))
	do.Set("step", "do")
	for range 2 { // However often it is sent.
		if answer, doc := s.send(t, "/alerts/silence", do); answer.StatusCode != http.StatusSeeOther {
			t.Fatalf("silenced: %s %s", answer.Status, text(doc.Find("main")))
		}
	}
	doc := s.get(t, "/alerts", 200)
	wants{"#silenced h2": "Silenced 2", "#silences li": "=1", "#silences li .why": "we deploy", "#acknowledged": "=0"}.check(t, doc)
	end := fields(doc.Find("#silences form"))
	end.Set("step", "end")
	if answer, _ := s.send(t, "/alerts", end); answer.StatusCode != http.StatusSeeOther {
		t.Errorf("ended: %s", answer.Status)
	}
	wants{"#silenced": "=0", "#acknowledged li": "=1"}.check(t, s.get(t, "/alerts", 200))
	s.clock.Advance(time.Second)
	s.fires(t)
	wants{"#resolved h2": "Resolved in the last 24 h 4", "#board .empty .say": "Nothing fires.", "#resolved form": "=0", "#resolved tbody tr": "=4", "#resolved [data-label='fired for']": "s"}.check(t, s.get(t, "/alerts", 200))
}

func TestTheBoardIsNarrowedAsTheAPIIs(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, alerting)
	late := alerts.Finding{Rule: alerts.RuleExpiring, Key: "e", Severity: alerts.Info, What: "e", TaskID: "e", Labels: alerts.Labels{Agent: "ceo"}}
	s.fires(t, zombie("a", "cto"), zombie("b", "ceo"), late)
	s.clock.Advance(time.Second)
	s.fires(t, zombie("a", "cto"), zombie("b", "ceo"))
	wants{"#states a": "=3", "#states a[aria-current]": "All 3", "#narrow select[name=rule] option": "=3", "#narrow select[name=agent] option": "=3"}.check(t, s.get(t, "/alerts", 200))
	doc := s.get(t, "/alerts?agent=ceo&rule=", 200)
	wants{
		"#firing li": "=1", "#resolved tbody tr": "=1", "#states a[aria-current]": "All 2", "#states a[href='/alerts?agent=ceo&state=firing']": "Firing 1", "#narrow option[selected]": "ceo",
		"#firing form[action='/alerts?agent=ceo']": "=1", "#narrow a[href='/alerts']": "Clear", "a[href='/api/v1/alerts?agent=ceo']": "JSON", "#nav-alerts": "2 alerts fire", "#lede": "2 firing",
	}.check(t, doc)
	wants{"#firing li": "=2", "#resolved": "=0", "#narrow input[name=state][value=firing]": "", "#states a": "=3"}.check(t, s.get(t, "/alerts?state=firing", 200))
	wants{"#board .say": "No alert matches.", "#board .empty a[href='/alerts']": "All alerts", "#firing": "=0"}.check(t, s.get(t, "/alerts?severity=info&state=firing", 200))
	wants{"main": "must be one of critical, warning, info"}.check(t, s.get(t, "/alerts?severity=bad", 400))
	answer, _ := s.send(t, "/alerts?agent=ceo", url.Values{"step": {"ack"}, "id": {alerts.AlertID(alerts.RuleZombie, "b")}})
	if to := answer.Header.Get("Location"); !strings.HasPrefix(to, "/alerts?agent=ceo&did=zombie-") {
		t.Errorf("after the acknowledgement the page is %q", to)
	}
}

// checkedBy makes the evaluator of the rules report.
func checkedBy(state health.State, at time.Time, detail string) func(*setup) {
	return func(s *setup) {
		s.Health = health.ReporterFunc(func() []health.Part {
			return []health.Part{{Name: "alerts", Kind: "alerts", State: state, LastAt: at, Detail: detail}}
		})
	}
}

func TestTheBoardSaysWhenTheRulesWereChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		with func(*setup)
		want string
	}{
		{"lately", checkedBy(health.OK, noon.Add(-4*time.Second), ""), "rules checked 4 s ago"},
		{"failing", checkedBy(health.Behind, noon.Add(-20*time.Second), "the store does not answer"), "rules checked 20 s ago checks fail"},
		{"never", checkedBy(health.Starting, time.Time{}, ""), "rules not checked yet"},
		{"nobody tells", func(*setup) {}, "not known when the rules were checked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wants{"#checked": c.want}.check(t, newSite(t, webtest.Rich(noon).Batch, alerting, c.with).get(t, "/alerts", 200))
		})
	}
	s := newSite(t, webtest.Rich(noon).Batch, alerting, checkedBy(health.OK, noon.Add(-4*time.Second), ""))
	s.fires(t, zombie("a", "cto"), alerts.Finding{Rule: alerts.RuleStale, Key: "b", Severity: alerts.Warning, What: "b is stale", TaskID: "b", Deadline: lifecycle.MicrosOf(noon.Add(-4 * time.Minute))},
		alerts.Finding{Rule: alerts.RuleExpiring, Key: "c", Severity: alerts.Info, What: "c is expiring", TaskID: "c", Deadline: lifecycle.MicrosOf(noon.Add(time.Minute))})
	wants{"#checked": "oldest lease over by 4 m"}.check(t, s.get(t, "/alerts", 200))
	s.clock.Advance(time.Minute)
	s.fires(t)
	if got := text(s.get(t, "/alerts", 200).Find("#checked")); strings.Contains(got, "oldest") {
		t.Errorf("nothing is past its deadline any more, and the board says %q", got)
	}
}

// TestTheMarkOfTheRulesGoesStale looks on while nothing changes, where the mark follows the server, and then takes the server away: how long ago the rules were checked goes on, and stands out.
func TestTheMarkOfTheRulesGoesStale(t *testing.T) {
	t.Parallel()
	var at atomic.Pointer[time.Time]
	checked := func(ago time.Duration) {
		instant := noon.Add(-ago)
		at.Store(&instant)
	}
	checked(4 * time.Second)
	s := newSite(t, webtest.Rich(noon).Batch, alerting, func(s *setup) {
		s.Health = health.ReporterFunc(func() []health.Part {
			return []health.Part{{Name: "alerts", Kind: "alerts", State: health.OK, LastAt: *at.Load()}}
		})
	})
	b := &tab{ctx: testkit.Tab(t, testkit.Browser(t)), site: s}
	b.open(t, "/alerts")
	b.until(t, `document.body.dataset.stream === "open"`)
	b.run(t, `window.fetch = () => new Promise(() => {})`) // The page is not asked for again, as where nothing changes.
	checked(0)
	b.until(t, `document.querySelector("#checked time").dateTime.startsWith("2026-11-20T12:00:00")`)
	s.fires(t, zombie("a", "cto"))
	b.open(t, "/alerts")
	b.until(t, `document.body.dataset.stream === "open"`)
	s.kill()
	b.until(t, `"lost" in document.body.dataset`)
	over := eval[string](t, b, `document.querySelector("#firing [data-deadline]").textContent`)
	b.until(t, `Number.parseInt(document.querySelector("#checked time").textContent) >= 10 && getComputedStyle(document.querySelector("#checked time")).textDecorationStyle === "wavy"`)
	if got := eval[string](t, b, `document.querySelector("#firing [data-deadline]").textContent`); got != over {
		t.Errorf("a countdown went on from %s to %s", over, got)
	}
}

func TestReadersMayNotActOnAlerts(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, alerting, func(c *setup) { c.Access = access.Authorizer{ReadOnly: true} })
	s.fires(t, zombie("a", "cto"))
	wants{"#actions-off": "read-only mode", "#board form": "=0", "#firing li": "=1"}.check(t, s.get(t, "/alerts", 200))
}

func TestEveryRuleHasItsRunbook(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, alerting)
	files, err := runbooks.Files.ReadDir(".")
	if err != nil || len(files) != len(alerts.Defaults()) {
		t.Errorf("%d runbooks for %d rules, %v", len(files), len(alerts.Defaults()), err)
	}
	for _, rule := range alerts.Defaults() {
		doc := s.get(t, rule.ID.Runbook(), 200)
		wants{"#runbook h1": rule.Title, "#runbook h2": "=4"}.check(t, doc)
		doc.Find("#runbook a").Each(func(_ int, link *goquery.Selection) {
			address, _, _ := strings.Cut(link.AttrOr("href", ""), "#")
			if !strings.HasPrefix(address, "/") {
				t.Errorf("the runbook of %s links to %q, which no server has", rule.ID, address)
			} else if address != "/readyz" { // The API serves it.
				s.get(t, address, 200)
			}
		})
	}
	s.get(t, "/runbooks/none", 404)
	wants{"#rules tbody tr": fmt.Sprint("=", len(alerts.Defaults()))}.check(t, s.get(t, "/alerts/rules", 200))
}

// The number in the title of the tab follows what fires, and an alert is acknowledged by the form.
func TestAlertsInABrowser(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, alerting)
	s.fires(t, zombie("a", "cto"))
	b := openTab(t, testkit.Browser(t), s)
	b.do(t, "resize", chromedp.EmulateViewport(1440, 900))
	b.open(t, "/alerts")
	b.until(t, `document.title.startsWith("▲1 Alerts") && !document.getElementById("notify").hidden`)
	s.clock.Advance(2 * time.Second)
	s.fires(t, zombie("a", "cto"), zombie("b", "cto"))
	s.clock.Advance(2 * time.Second)
	b.until(t, `document.title.startsWith("▲2 ") && document.querySelectorAll("#firing li").length === 2`)
	if n := eval[int](t, b, `Math.round(Math.max(...[...document.querySelectorAll("#firing li")].map((l) => l.getBoundingClientRect().height)))`); n > 64 {
		t.Errorf("a row of two lines is %d px high", n)
	}
	b.press(t, "jj")
	b.until(t, `document.activeElement.matches("#firing li.cursor:last-child a.what")`)
	b.do(t, "acknowledge with a note", chromedp.Click(chromedp.CSS("#firing li summary")), chromedp.SendKeys(chromedp.CSS("#firing li .input"), "I look"), chromedp.Click(chromedp.CSS("#firing li details button[value=ack]")))
	s.clock.Advance(2 * time.Second)
	b.until(t, `document.querySelectorAll("#acknowledged li").length === 1 && document.querySelector("#acknowledged").textContent.includes("I look")`)
}

// boardOf is the board that the pages ask, where there is one.
func boardOf(s setup) query.AlertBoard {
	if s.Alerts == nil {
		return nil
	}
	return s.Alerts
}
