package alerts

import (
	"cmp"
	"slices"
)

// compareStandings orders as the board does: by state, then the worst severity, then the oldest.
func compareStandings(a, b Standing) int {
	states := States()
	return cmp.Or(
		cmp.Compare(slices.Index(states, a.State), slices.Index(states, b.State)), cmp.Compare(a.Severity.Rank(), b.Severity.Rank()),
		cmp.Compare(a.StartedAt, b.StartedAt), cmp.Compare(a.ID, b.ID),
	)
}

// Counts is how many alerts are in a state, by severity. Every severity is present.
type Counts map[State]map[Severity]int

// Count counts alerts by state and severity.
func Count(all []Standing) Counts {
	out := Counts{}
	for _, state := range States() {
		out[state] = map[Severity]int{}
		for _, severity := range Severities() {
			out[state][severity] = 0
		}
	}
	for _, s := range all {
		if out[s.State] != nil {
			out[s.State][s.Severity]++
		}
	}
	return out
}

// Total is how many alerts are in a state.
func (c Counts) Total(s State) int {
	n := 0
	for _, count := range c[s] {
		n += count
	}
	return n
}
