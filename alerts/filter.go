package alerts

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"fleetglass/lifecycle"
)

// Filter selects alerts of the board. An empty list asks for nothing.
type Filter struct {
	States     []State
	Rules      []RuleID
	Severities []Severity
	Agents     []string
}

// FilterParameters lists the names of the parameters of a filter.
func FilterParameters() []string { return []string{"state", "rule", "severity", "agent"} }

// ParseFilter reads a filter from parameters. The error joins a *lifecycle.FilterError for each parameter that names a state, a severity or a rule that does
// not exist, or too many agents.
func ParseFilter(v url.Values, rules Rules) (Filter, error) {
	known := make([]RuleID, len(rules))
	for i, r := range rules {
		known[i] = r.ID
	}
	states, wrongState := namesOf("state", v, States())
	severities, wrongSeverity := namesOf("severity", v, Severities())
	chosen, wrongRule := namesOf("rule", v, known)
	f := Filter{States: states, Severities: severities, Rules: chosen, Agents: given(v, "agent")}
	return f, errors.Join(wrongState, wrongSeverity, wrongRule, lifecycle.CheckAlternatives("agent", v["agent"]))
}

// namesOf reads a parameter whose values are known.
func namesOf[T ~string](name string, v url.Values, known []T) ([]T, error) {
	var out []T
	for _, value := range given(v, name) {
		if !slices.Contains(known, T(value)) {
			names := make([]string, len(known))
			for i, k := range known {
				names[i] = string(k)
			}
			return nil, &lifecycle.FilterError{Parameter: name, Detail: "must be one of " + strings.Join(names, ", ")}
		}
		out = append(out, T(value))
	}
	return out, nil
}

// given are the values of a parameter but for empty ones, which forms send for nothing.
func given(v url.Values, name string) []string {
	return slices.DeleteFunc(slices.Clone(v[name]), func(s string) bool { return s == "" })
}

// Empty reports whether the filter selects everything.
func (f Filter) Empty() bool {
	return len(f.States)+len(f.Rules)+len(f.Severities)+len(f.Agents) == 0
}

// Selects reports whether the filter selects an alert.
func (f Filter) Selects(s Standing) bool {
	return among(f.States, s.State) && among(f.Rules, s.Rule) && among(f.Severities, s.Severity) && among(f.Agents, s.Labels.Agent)
}

func among[T comparable](wanted []T, value T) bool {
	return len(wanted) == 0 || slices.Contains(wanted, value)
}
