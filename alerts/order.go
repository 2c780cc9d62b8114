package alerts

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// compareStandings orders as the board does: by state, then by place.
func compareStandings(a, b Standing) int {
	states := States()
	return cmp.Or(cmp.Compare(slices.Index(states, a.State), slices.Index(states, b.State)), cmp.Compare(a.Place(), b.Place()))
}

// Place is where an alert stands among those in one state, compared as text: by harm, then by weight, the oldest of equal ones first. It
// follows from what was last noted of the alert, so that it stays until the board changes.
func (a Alert) Place() string {
	lightness := math.MaxInt64 - weight(a.Count, a.Since, a.LastSeenAt)
	return fmt.Sprintf("%d %020d %020d %s", a.Harm.rank(), lightness, int64(a.StartedAt), a.ID)
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
