package main

import (
	"context"

	"fleetglass/alerts"
)

// traps are what the doctor found, by kind, for the alerts.
func (a *App) traps(ctx context.Context) ([]alerts.Trap, error) {
	report, err := a.doctor.Report(ctx)
	if err != nil {
		return nil, err
	}
	var out []alerts.Trap
	for _, g := range report.Groups() {
		t := alerts.Trap{Code: g.Code, Severity: alerts.Severity(g.Severity), Title: g.Title, Why: g.Why, Fix: g.Found[0].Fix}
		for _, f := range g.Found {
			t.On = append(t.On, f.Resource)
		}
		out = append(out, t)
	}
	return out, nil
}
