package columns

import (
	"strings"

	"fleetglass/dlqtriage"
)

// StepsByGroup puts rows of a group, a step and a count together.
type StepsByGroup map[string]*dlqtriage.GroupSteps

// Add adds the deaths of a group in one step.
func (s StepsByGroup) Add(values []string, step, n int64) {
	key := strings.Join(values, "\x00")
	if s[key] == nil {
		s[key] = &dlqtriage.GroupSteps{Values: values}
	}
	s[key].Counts[step] += n
}

// List are the groups, in no order.
func (s StepsByGroup) List() []dlqtriage.GroupSteps {
	out := make([]dlqtriage.GroupSteps, 0, len(s))
	for _, g := range s {
		out = append(out, *g)
	}
	return out
}
