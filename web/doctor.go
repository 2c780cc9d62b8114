package web

import (
	"context"

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
	p.At, p.Traps = lifecycle.MicrosOf(report.At), trapGroups(report.Findings)
	p.Summary = counted(int64(len(report.Findings)), "finding", "findings") + " on " + counted(int64(report.Streams), "stream", "streams") + " and " +
		counted(int64(report.Consumers), "consumer", "consumers")
	return nil
}

// trapGroups puts what one check found together. Findings come the worst first.
func trapGroups(findings []doctor.Finding) []views.TrapGroup {
	var out []views.TrapGroup
	at := map[string]int{}
	for _, f := range findings {
		i, seen := at[f.Code]
		if !seen {
			i = len(out)
			at[f.Code] = i
			out = append(out, views.TrapGroup{Code: f.Code, Tone: severityTones[f.Severity], Severity: string(f.Severity), Title: f.Title, Why: f.Why})
		}
		out[i].Found = append(out[i].Found, views.TrapFound{Resource: f.Resource, What: f.What, Fix: f.Fix, Command: f.Command()})
	}
	return out
}
