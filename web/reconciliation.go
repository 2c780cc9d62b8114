package web

import (
	"context"
	"errors"
	"net/url"

	"github.com/gin-gonic/gin"

	"fleetglass/access"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/reconcile"
	"fleetglass/views"
)

// Bounds of the page of reconciliations.
const (
	earlierRows     = 10
	discrepancyRows = 15 // Of each kind; the downloads have the others.
)

// reconciliation is one report, the newest unless the address names another, and the list of the others.
func (w *Web) reconciliation(c *gin.Context) error {
	ctx := c.Request.Context()
	snap, err := w.snapshot(ctx)
	if err != nil {
		return err
	}
	f := frame{title: "Reconciliation", section: "reconciliation", search: true, snapshot: snap}
	p := views.ReconciliationPage{Links: links(c, "/reconciliation", "/api/v1/reconciliations", nil)}
	if w.cfg.Reconcile == nil {
		p.Empty = views.EmptyState{Kind: "down", Say: "This server makes no reconciliations."}
		return w.render(c, f, views.Reconciliation(p))
	}
	if w.mayReconcile(ctx) {
		p.Form = &views.ReconcileForm{Key: newFormKey(), Zone: zoneWord(preferencesOf(c))}
	}
	rows, err := w.cfg.Reconcile.List(ctx, c.Query("before"), earlierRows+1)
	if err != nil {
		return err
	}
	shown, err := w.shownReconciliation(ctx, c.Query("id"))
	if err != nil {
		return err
	}
	w.fillEarlier(&p, rows, c.Query("before"), shown.ID)
	if err := w.fillPending(ctx, &p, shown); err != nil {
		return err
	}
	w.fillReport(c, &p, shown, snap)
	return w.render(c, f, views.Reconciliation(p))
}

// shownReconciliation is the one that the address names, else the newest that is done, else none. One that is named and not done is
// shown by its state.
func (w *Web) shownReconciliation(ctx context.Context, id string) (reconcile.Run, error) {
	if id == "" {
		newest, err := w.cfg.Reconcile.Latest(ctx)
		if errors.Is(err, lifecycle.ErrNotFound) {
			return reconcile.Run{}, nil
		}
		if err != nil {
			return reconcile.Run{}, err
		}
		id = newest.ID
	}
	return w.cfg.Reconcile.Get(ctx, id)
}

func reconciliationAddress(id string) string {
	return address("/reconciliation", url.Values{"id": {id}})
}

// fillEarlier adds the list of all. There is one row more than is shown where there are older ones.
func (w *Web) fillEarlier(p *views.ReconciliationPage, rows []reconcile.Run, before, shown string) {
	if len(rows) > earlierRows {
		rows = rows[:earlierRows]
		p.Older = address("/reconciliation", url.Values{"before": {rows[earlierRows-1].ID}})
	}
	if before != "" {
		p.Newer = "/reconciliation"
	}
	for _, r := range rows {
		p.Earlier = append(p.Earlier, views.EarlierReconciliation{Run: r, Href: reconciliationAddress(r.ID), Current: r.ID == shown})
	}
}

// fillPending adds what is being made, what failed last, and whether the report is not the newest.
func (w *Web) fillPending(ctx context.Context, p *views.ReconciliationPage, shown reconcile.Run) error {
	newest, err := w.cfg.Reconcile.List(ctx, "", earlierRows)
	if err != nil {
		return err
	}
	ended := false
	for _, r := range newest {
		switch {
		case !r.Status.Ended():
			if r, err = w.cfg.Reconcile.Get(ctx, r.ID); err != nil { // Its progress is fresh.
				return err
			}
			p.Pending = append(p.Pending, views.PendingReconciliation{Run: r, Href: reconciliationAddress(r.ID)})
		case !ended && r.Status == reconcile.StatusFailed && r.ID > shown.ID:
			p.Failed = &r
		case !ended && r.Status == reconcile.StatusDone && shown.Report != nil && r.ID != shown.ID:
			p.Newest = "/reconciliation"
		}
		ended = ended || r.Status.Ended()
	}
	return nil
}

// emptyReconciliation says why there is no report.
func (w *Web) emptyReconciliation(r reconcile.Run, snap *query.FleetSnapshot) views.EmptyState {
	back := []views.Chip{{Href: "/reconciliation", Label: "The newest report"}}
	switch {
	case r.Status == reconcile.StatusFailed:
		return views.EmptyState{Kind: "error", Say: "This reconciliation failed, so it has no report.", Why: views.Cut(r.Failure, 300), Links: back}
	case r.ID != "":
		return views.EmptyState{Kind: "new", Say: "This reconciliation is not done yet.", Why: "Its report appears here once it is.", Links: back}
	}
	if down := storeDown(w.health()); down != "" {
		return views.EmptyState{Kind: "down", Say: "No report can be made: " + down + ".", Why: "One that is queued or running waits until it is back.", Links: []views.Chip{{Href: "/capture", Label: "Capture"}}}
	}
	out := views.EmptyState{Kind: "new", Say: "No reconciliation has been made yet.", Why: "One is made after each start that finds tasks stored, once a week, and when somebody asks."}
	if snap.Counts.Total() == 0 {
		out.Why += " No task is stored, so there is nothing to compare."
	}
	return out
}

func storeDown(parts []health.Part) string {
	if lacks := health.Lacking(parts); len(lacks) > 0 {
		return health.LackWords(lacks)
	}
	for _, p := range parts {
		if p.State == health.Down && p.Kind != "collector" {
			return p.DownWords()
		}
	}
	return ""
}

// mayReconcile reports whether the reader may ask for a reconciliation.
func (w *Web) mayReconcile(ctx context.Context) bool {
	return w.cfg.Access.Authorize(access.From(ctx), access.Admin) == nil
}
