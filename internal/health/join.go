package health

import (
	"slices"
	"strings"
)

// worst orders states, the best first.
var worst = []State{NotConfigured, OK, BestEffort, Behind, Starting, Down}

// Join is one part of several of one kind: the worst state counts, what waits is added up.
func Join(name, kind string, parts []Part) Part {
	out := Part{Name: name, Kind: kind, State: NotConfigured}
	var details []string
	for _, p := range parts {
		if slices.Index(worst, p.State) > slices.Index(worst, out.State) {
			out.State = p.State
		}
		if p.Detail != "" && !slices.Contains(details, p.Detail) {
			details = append(details, p.Detail)
		}
		for _, name := range p.Lacks {
			if !slices.Contains(out.Lacks, name) {
				out.Lacks = append(out.Lacks, name)
			}
		}
		if p.LastAt.After(out.LastAt) {
			out.LastAt = p.LastAt
		}
		out.Lag = max(out.Lag, p.Lag)
		out.Pending += p.Pending
		out.Handled += p.Handled
		out.Quarantine += p.Quarantine
		out.Drains += p.Drains
	}
	out.DrainsKnown = out.State == Behind && !slices.ContainsFunc(parts, func(p Part) bool { return p.State == Behind && !p.DrainsKnown })
	out.Detail = strings.Join(details, "; ")
	return out
}
