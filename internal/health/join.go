package health

import (
	"slices"
	"strings"
	"time"
)

// worst orders states, the best first.
var worst = []State{NotConfigured, OK, BestEffort, Behind, Starting, Down}

// Join is one part of several of one kind: the worst state counts, what waits is added up, and read is what each of them has read. What was never asked to work has
// nothing to read.
func Join(name, kind string, parts []Part) Part {
	out := Part{Name: name, Kind: kind, State: NotConfigured}
	var details []string
	var read time.Time
	for _, p := range parts {
		if p.State != NotConfigured && (out.State == NotConfigured || p.Read().Before(read)) {
			read = p.Read()
		}
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
		out.Lag = max(out.Lag, p.Lag)
		out.Pending += p.Pending
		out.Handled += p.Handled
		out.Quarantine += p.Quarantine
		out.Drains += p.Drains
	}
	out.DrainsKnown = out.State == Behind && !slices.ContainsFunc(parts, func(p Part) bool { return p.State == Behind && !p.DrainsKnown })
	out.Detail = strings.Join(details, "; ")
	if !read.IsZero() {
		out.LastAt = read.Add(out.Lag)
	}
	return out
}
