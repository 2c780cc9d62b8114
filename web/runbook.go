package web

import (
	"bytes"
	"fmt"

	"github.com/gin-gonic/gin"
	"github.com/yuin/goldmark"

	"fleetglass/alerts"
	"fleetglass/docs/runbooks"
	"fleetglass/lifecycle"
	"fleetglass/views"
)

// runbook is what a rule means and what to do about it.
func (w *Web) runbook(c *gin.Context) error {
	id := rest(c, "/runbooks/")
	rule, known := alerts.Defaults().Of(alerts.RuleID(id))
	if !known {
		return fmt.Errorf("runbook %q: %w", id, lifecycle.ErrNotFound)
	}
	text, err := runbooks.Files.ReadFile(id + ".md")
	if err != nil {
		return fmt.Errorf("read the runbook: %w", err)
	}
	var html bytes.Buffer
	if err := goldmark.Convert(text, &html); err != nil {
		return fmt.Errorf("write the runbook: %w", err)
	}
	snap, err := w.snapshot(c.Request.Context())
	if err != nil {
		return err
	}
	return w.render(c, frame{title: "Runbook: " + rule.Title, section: "alerts", search: true, snapshot: snap, still: true}, views.Runbook(views.RunbookPage{Title: rule.Title, HTML: html.String()}))
}
