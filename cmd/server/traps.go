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
	at := map[string]int{}
	for _, f := range report.Findings {
		i, seen := at[f.Code]
		if !seen {
			i = len(out)
			at[f.Code] = i
			out = append(out, trapOf(f))
		}
		out[i].On = append(out[i].On, f.Resource)
	}
	return out, nil
}

func trapOf(f doctor.Finding) alerts.Trap {
	return alerts.Trap{Code: f.Code, Severity: alerts.Severity(f.Severity), Title: f.Title, Why: f.Why, Fix: f.Fix}
}
