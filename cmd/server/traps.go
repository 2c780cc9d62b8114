package main

import (
	"context"

	"fleetglass/alerts"
	"fleetglass/fleet/doctor"
)

// traps are what the doctor found, by kind, for the alerts.
func (a *App) traps(ctx context.Context) ([]alerts.Trap, error) {
	report, err := a.doctor.Report(ctx)
	if err != nil {
		return nil, err
	}
	var out []alerts.Trap
	for _, g := range report.Groups() {
		out = append(out, trapOf(g))
	}
	return out, nil
}

// trapOf is a kind of trap as alerts tell of it: in sentences, of which a command is one.
func trapOf(g doctor.Group) alerts.Trap {
	first := g.Found[0]
	t := alerts.Trap{Code: g.Code, Severity: alerts.Severity(g.Severity), Title: g.Title, Why: g.Why, Fix: first.Fix}
	if first.Command() {
		t.Fix = "Run: " + first.Fix
	}
	for _, f := range g.Found {
		t.On = append(t.On, f.Resource)
	}
	return t
}
