package web

import (
	"context"
	"slices"

	"github.com/gin-gonic/gin"

	"fleetglass/fleet/doctor"
	"fleetglass/lifecycle"
	"fleetglass/views"
)

// severityTones are the colours of findings.
var severityTones = map[doctor.Severity]string{doctor.Critical: "bad", doctor.Warning: "warn", doctor.Info: "info"}

// doctor is what is wrong with the configuration of the broker.
func (w *Web) doctor(c *gin.Context) error {
	ctx := c.Request.Context()
	snap, err := w.snapshot(ctx)
	if err != nil {
		return err
	}
	p := views.DoctorPage{Links: links(c, "/doctor", "/api/v1/doctor", nil)}
	if err := w.examine(ctx, &p); err != nil {
		return err
	}
	return w.render(c, frame{title: "Doctor", section: "doctor", search: true, still: true, snapshot: snap}, views.Doctor(p))
}

// examine asks the doctor. That the broker does not answer is an answer too; it errors only when the reader is gone.
func (w *Web) examine(ctx context.Context, p *views.DoctorPage) error {
	if w.cfg.Doctor == nil {
		p.Failed = "This server does not look at it."
		return nil
	}
	report, err := w.cfg.Doctor(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		p.Failed = "It does not answer, so nothing is known about its configuration."
		return nil
	}
	p.At, p.Traps = lifecycle.MicrosOf(report.At), trapGroups(report.Groups())
	p.Summary = counted(int64(len(report.Findings)), "finding", "findings") + " on " + counted(int64(report.Streams), "stream", "streams") + " and " +
		counted(int64(report.Consumers), "consumer", "consumers")
	return nil
}

// trapGroups are the kinds of traps as the page shows them.
func trapGroups(groups []doctor.Group) []views.TrapGroup {
	var out []views.TrapGroup
	for _, g := range groups {
		shown := views.TrapGroup{Code: g.Code, Tone: severityTones[g.Severity], Severity: string(g.Severity), Title: g.Title, Why: g.Why}
		if first := g.Found[0]; !first.Command() && !slices.ContainsFunc(g.Found, func(f doctor.Finding) bool { return f.Fix != first.Fix }) && len(g.Found) > 1 {
			shown.Fix = first.Fix
		}
		for _, f := range g.Found {
			shown.Found = append(shown.Found, views.TrapFound{Resource: f.Resource, What: f.What, Fix: f.Fix, Command: f.Command()})
		}
		out = append(out, shown)
	}
	return out
}
