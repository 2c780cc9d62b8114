package web

import (
	"net/url"
	"slices"

	"github.com/gin-gonic/gin"

	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/restarts"
	"fleetglass/views"
)

// Rows of the page of restarts.
const (
	victimsTogether = 10 // Of each restart, where several are shown.
	victimsAlone    = 500
)

// restarts are the times at which something went away with messages in hand, or the one that the address names.
func (w *Web) restarts(c *gin.Context) error {
	ctx := c.Request.Context()
	snap, err := w.snapshot(ctx)
	if err != nil {
		return err
	}
	p := views.RestartsPage{Links: links(c, "/restarts", "/api/v1/restarts", nil)}
	if id := c.Query("id"); id != "" {
		one, err := w.cfg.Query.Restart(ctx, id)
		if err != nil {
			return err
		}
		p.Only, p.Restarts = true, []views.RestartView{restartView(one, victimsAlone)}
	} else {
		all, err := w.cfg.Query.Restarts(ctx)
		if err != nil {
			return err
		}
		for _, r := range all {
			p.Restarts = append(p.Restarts, restartView(r, victimsTogether))
		}
	}
	p.Empty = views.EmptyState{Kind: "healthy", Say: "No restart with messages in flight is known.", Why: "Fleetglass, the broker and workers were looked at; a restart with nothing in flight is not listed."}
	return w.render(c, frame{title: "Restarts", section: "in-flight", search: true, snapshot: snap}, views.Restarts(p))
}

// restartView is a restart as the page shows it: the messages that are open first.
func restartView(r restarts.Restart, rows int) views.RestartView {
	r.Victims = slices.Clone(r.Victims)
	slices.SortStableFunc(r.Victims, func(a, b restarts.Victim) int { return boolRank(a.Fate != "") - boolRank(b.Fate != "") })
	return views.RestartView{
		Restart: r, Href: restartAddress(r.ID), Report: "/api/v1/restarts/" + url.PathEscape(r.ID), Shown: min(rows, len(r.Victims)), Task: lifecycle.PageOfTask,
	}
}

func boolRank(b bool) int {
	if b {
		return 1
	}
	return 0
}

func restartAddress(id string) string { return address("/restarts", url.Values{"id": {id}}) }

// openRestart is the notice of the latest restart that is not over, for the in-flight board; nil where there is none.
func openRestart(snap *query.FleetSnapshot, all []restarts.Restart) *views.Banner {
	for i := range all {
		if r := &all[i]; !r.Over() {
			return &views.Banner{Kind: "warn", Icon: "stale", Title: r.Headline() + ".", Text: r.Standing(snap.AsOf), Href: restartAddress(r.ID), Link: "Which ones"}
		}
	}
	return nil
}
