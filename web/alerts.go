package web

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/gin-gonic/gin"

	"fleetglass/access"
	"fleetglass/alerts"
	"fleetglass/decision"
	"fleetglass/internal/health"
	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

// Bounds of the page of alerts.
const (
	alertRows      = 100 // Of each state.
	resolvedRows   = 30  // The newest; nothing is left to do about them.
	deliveryRows   = 50
	maxSilenceForm = 64 << 10
)

// alertBoard is the page of alerts.
func (w *Web) alertBoard(c *gin.Context) error {
	ctx := c.Request.Context()
	snap, err := w.snapshot(ctx)
	if err != nil {
		return err
	}
	board, err := w.cfg.Query.Alerts(ctx)
	if err != nil {
		return err
	}
	snap.Alerts = board.Counts // The snapshot may be older: one number has one value on a page.
	q, err := w.readAlerts(c.Request.URL.Query())
	if err != nil {
		return err
	}
	here := address("/alerts", q.values)
	p := views.AlertsPage{Links: links(c, here, "/api/v1/alerts", q.values), Here: here, Lede: alertsLede(board), Receivers: w.cfg.TellsAlerts, May: w.mayNot(ctx, access.TriageApply)}
	p.Checked, p.Overdue = w.rulesChecked(), overdue(board)
	p.Deliveries = board.Deliveries[:min(len(board.Deliveries), deliveryRows)]
	p.States, p.Choices, p.Narrowed = q.tabs(board), q.choices(board, w.rules()), !q.filter.Empty()
	found := board.Only(q.filter)
	for _, state := range alerts.States() {
		if s := alertSection(found, state); s.Count > 0 {
			s.JSON = address("/api/v1/alerts", q.in(state))
			p.Sections = append(p.Sections, s)
		}
	}
	if len(q.filter.States) == 0 || slices.Contains(q.filter.States, alerts.StateSilenced) {
		for _, s := range board.Silences {
			p.Silences = append(p.Silences, views.SilenceRow{Silence: s, Mutes: muted(board, s)})
		}
	}
	switch {
	case p.Narrowed && len(p.Sections) == 0:
		p.Empty = noAlertMatches()
	case !p.Narrowed && len(found.All) == found.Counts.Total(alerts.StateResolved):
		p.Empty = w.emptyAlerts(snap)
	}
	return w.render(c, frame{title: "Alerts", section: "alerts", search: true, snapshot: snap}, views.Alerts(p))
}

func (w *Web) emptyAlerts(snap *query.FleetSnapshot) views.EmptyState {
	if down := downParts(w.health()); down != "" {
		return views.EmptyState{Kind: "down", Say: "Nothing fires, but " + down + ".", Why: "What needs attention may not be seen now.", Links: []views.Chip{{Href: "/capture", Label: "Capture"}}}
	}
	return views.EmptyState{Kind: "healthy", Say: "Nothing fires.", Why: fmt.Sprintf("%s checked just now; %s", counted(snap.Counts.Total(), "task", "tasks"), captureWords(w.health()))}
}

// rulesChecked asks the evaluator when it last looked.
func (w *Web) rulesChecked() views.RulesChecked {
	for _, p := range w.health() {
		if p.Kind != "alerts" {
			continue
		}
		out := views.RulesChecked{At: lifecycle.MicrosOf(p.LastAt)}
		if p.State == health.Down || p.State == health.Behind {
			out.Failing = p.Detail
		}
		return out
	}
	return views.RulesChecked{Unknown: true}
}

// overdue is the deadline that a lease passed first, of the alerts that still stand.
func overdue(b query.Alerts) lifecycle.Micros {
	var first lifecycle.Micros
	for _, s := range b.All {
		if s.State != alerts.StateResolved && alerts.LeaseRules(s.Rule) && s.Deadline.Known() && s.Deadline < b.AsOf && (!first.Known() || s.Deadline < first) {
			first = s.Deadline
		}
	}
	return first
}

func alertsLede(b query.Alerts) string {
	out := fmt.Sprintf("%d firing", b.Counts.Total(alerts.StateFiring))
	if n := b.Counts[alerts.StateFiring][alerts.Critical]; n > 0 {
		out += fmt.Sprintf(" (%d critical)", n)
	}
	for _, state := range []alerts.State{alerts.StateAcknowledged, alerts.StateSilenced} {
		if n := b.Counts.Total(state); n > 0 {
			out += fmt.Sprintf(", %d %s", n, state)
		}
	}
	return out
}

// resolvedSection lists the alerts that were resolved last.
func resolvedSection(b query.Alerts) views.AlertSection {
	out := views.AlertSection{State: alerts.StateResolved, Count: b.Counts.Total(alerts.StateResolved)}
	for _, s := range b.All {
		if s.State == alerts.StateResolved {
			out.Resolved = append(out.Resolved, alertRow(s))
		}
	}
	slices.SortStableFunc(out.Resolved, func(a, b views.AlertRow) int { return cmp.Compare(b.ResolvedAt, a.ResolvedAt) })
	out.Resolved = out.Resolved[:min(len(out.Resolved), resolvedRows)]
	out.More = out.Count - len(out.Resolved)
	return out
}

// alertSection groups the alerts in a state by rule and agent, in the order of the board.
func alertSection(b query.Alerts, state alerts.State) views.AlertSection {
	if state == alerts.StateResolved {
		return resolvedSection(b)
	}
	out := views.AlertSection{State: state, Count: b.Counts.Total(state)}
	places := map[string]int{}
	shown := 0
	for _, s := range b.All {
		if s.State != state {
			continue
		}
		if shown++; shown > alertRows {
			out.More++
			continue
		}
		key := string(s.Rule) + "\x00" + s.Labels.Agent
		at, known := places[key]
		if !known {
			at = len(out.Groups)
			places[key] = at
			out.Groups = append(out.Groups, views.AlertGroup{Rule: s.Rule, Severity: s.Severity, Title: s.Title, Agent: s.Labels.Agent, Silence: silenceAddress(s)})
		}
		out.Groups[at].Rows = append(out.Groups[at].Rows, alertRow(s))
	}
	return out
}

func alertRow(s alerts.Standing) views.AlertRow {
	row := views.AlertRow{Standing: s, Href: findingAddress(s.TaskID, s.Page)}
	if s.Do.Label != "" {
		row.DoHref = cmp.Or(s.Do.Page, lifecycle.PageOfTask(s.TaskID))
	}
	return row
}

// silenceAddress is the form that silences alerts such as this one.
func silenceAddress(s alerts.Standing) string {
	return address("/alerts/silence", url.Values{"rule": {string(s.Rule)}, "agent": {s.Labels.Agent}})
}

func muted(b query.Alerts, s alerts.Silence) int {
	n := 0
	for _, a := range b.All {
		if a.State == alerts.StateSilenced && s.Mutes(a.Alert) {
			n++
		}
	}
	return n
}

// actOnAlert acknowledges an alert, takes that back, or ends a silence. Requests of other sites do not come here.
func (w *Web) actOnAlert(c *gin.Context) error {
	if w.cfg.Alerts == nil {
		return httperr.New(httperr.Unavailable, nil).WithDetail("This server keeps no alerts.")
	}
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, maxSilenceForm)
	if err := c.Request.ParseForm(); err != nil {
		return httperr.New(httperr.InvalidBody, err)
	}
	ctx, form, by := c.Request.Context(), c.Request.PostForm, pageActor(c)
	var err error
	switch form.Get("step") {
	case "ack":
		_, err = w.cfg.Alerts.Acknowledge(ctx, form.Get("id"), typedText(form.Get("note")), nil, by)
	case "unack":
		_, err = w.cfg.Alerts.Unacknowledge(ctx, form.Get("id"), nil, by)
	case "end":
		_, err = w.cfg.Alerts.EndSilence(ctx, form.Get("id"), by)
	default:
		err = httperr.New(httperr.InvalidBody, nil).WithDetail("The form names nothing to do. Open the page again.")
	}
	if err != nil {
		return boardRefusal(err)
	}
	q, err := w.readAlerts(c.Request.URL.Query())
	if err != nil {
		return err
	}
	board := address("/alerts", q.values)
	if form.Get("step") == "ack" {
		board = telling(board, form.Get("id"))
	}
	c.Redirect(http.StatusSeeOther, board+"#"+url.PathEscape(form.Get("id")))
	return nil
}

// pageActor is who sent a form.
func pageActor(c *gin.Context) decision.Actor {
	who := access.From(c.Request.Context())
	return decision.Actor{Name: who.Name, Role: who.Role(), TokenID: who.TokenID(), Via: decision.ViaPage}
}

// alertRules lists the rules in force.
func (w *Web) alertRules(c *gin.Context) error {
	snap, err := w.snapshot(c.Request.Context())
	if err != nil {
		return err
	}
	return w.render(c, frame{title: "Alert rules", section: "alerts", search: true, snapshot: snap, still: true}, views.AlertRules(views.RulesPage{Rules: w.rules()}))
}

// alertsItem is the entry of the navigation; it is loud while something critical fires.
func alertsItem(c alerts.Counts) views.NavItem {
	n := c.Total(alerts.StateFiring)
	item := views.NavItem{Section: "alerts", Href: "/alerts", Icon: "warn", Label: "Alerts"}
	if n > 0 {
		item.Count, item.Said, item.Loud = short(int64(n)), counted(int64(n), "alert fires", "alerts fire"), c[alerts.StateFiring][alerts.Critical] > 0
	}
	return item
}
