package deadletters

import (
	"slices"
	"strings"

	"fleetglass/internal/health"
)

// worst orders states, the best first.
var worst = []health.State{health.NotConfigured, health.OK, health.BestEffort, health.Behind, health.Starting, health.Down}

// joinParts is one part of several: the worst state counts, what waits is added up.
func joinParts(parts []health.Part) health.Part {
	out := health.Part{Name: Name, Kind: "collector", State: health.NotConfigured}
	var details []string
	for _, p := range parts {
		if slices.Index(worst, p.State) > slices.Index(worst, out.State) {
			out.State = p.State
		}
		if p.Detail != "" {
			details = append(details, p.Detail)
		}
		if p.LastAt.After(out.LastAt) {
			out.LastAt = p.LastAt
		}
		out.Lag = max(out.Lag, p.Lag)
		out.Pending += p.Pending
		out.Handled += p.Handled
		out.Quarantine += p.Quarantine
	}
	out.Detail = strings.Join(details, "; ")
	return out
}
