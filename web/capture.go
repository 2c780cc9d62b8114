package web

import (
	"cmp"
	"net/url"
	"time"

	"github.com/gin-gonic/gin"

	"fleetglass/alerts"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
	"fleetglass/views"
)

// Bounds of the capture page.
const (
	gapRows        = 100
	quarantineRows = 50
)

// capture is how well we see: collectors, gaps, lines that could not be decoded, and consumers.
func (w *Web) capture(c *gin.Context) error {
	ctx := c.Request.Context()
	snap, err := w.snapshot(ctx)
	if err != nil {
		return err
	}
	p := views.CapturePage{Links: links(c, "/capture", "/readyz", url.Values{}), Consumers: snap.Consumers.All}
	if p.Gaps, err = w.cfg.Query.Gaps(ctx, snap.AsOf.Add(-30*24*time.Hour), snap.AsOf.Add(time.Hour), gapRows); err != nil {
		return err
	}
	if p.Quarantine, p.Quarantined, err = w.cfg.Query.Quarantine(ctx, quarantineRows); err != nil {
		return err
	}
	for _, part := range w.health() {
		p.Parts = append(p.Parts, partRow(part))
	}
	p.Sure = upToDate(w.health())
	return w.render(c, frame{title: "Capture", section: "capture", search: true, snapshot: snap}, views.Capture(p))
}

// upToDate reports whether there are collectors and none of them is behind, down or starting.
func upToDate(parts []health.Part) bool {
	found := false
	for _, p := range parts {
		if p.Kind != "collector" || p.State == health.NotConfigured {
			continue
		}
		if p.State != health.OK && p.State != health.BestEffort {
			return false
		}
		found = true
	}
	return found
}

// counts reports whether a part takes lines or work in, so that none is a number.
func counts(p health.Part) bool {
	return p.State != health.NotConfigured && (p.Kind == "collector" || p.Kind == "relay" || p.Kind == "pipeline" || p.Kind == "sink")
}

func partRow(p health.Part) views.PartRow {
	row := views.PartRow{Name: p.Name, Kind: p.Kind, Word: stateWord(p.State), Tone: partTone(p.State), Detail: cmp.Or(p.Detail, alerts.CatchUp(p)),
		LastAt: lifecycle.MicrosOf(p.LastAt), Off: p.State == health.NotConfigured}
	if counts(p) {
		row.Waiting, row.Handled, row.Quarantined = views.Count(int64(p.Pending)), views.Count(int64(p.Handled)), views.Count(int64(p.Quarantine))
	}
	if p.State == health.Down && row.Waiting != "" && p.Pending == 0 {
		row.Waiting = "not known" // Nobody could look.
	}
	if p.Lag >= shownLag {
		row.Lag = lifecycle.Lasting(p.Lag)
	}
	return row
}
