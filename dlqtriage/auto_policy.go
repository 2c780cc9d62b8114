package dlqtriage

import "slices"

// AutoPolicy says what auto-triage may do without anybody asking (SPEC 5).
type AutoPolicy struct {
	Categories []Category `yaml:"categories" json:"categories"`                 // Of the entries whose plan it may apply.
	PerHour    int        `yaml:"per_hour" json:"per_hour"`                     // Plans that it applies in an hour, at most.
	PerAgent   int        `yaml:"per_agent_per_hour" json:"per_agent_per_hour"` // Of these, those of entries of one agent.
}

// Allows reports whether the policy lets auto-triage apply plans of this category.
func (a AutoPolicy) Allows(c Category) bool { return slices.Contains(a.Categories, c) }

// over is the policy with what a file says of it.
func (a AutoPolicy) over(file AutoPolicy) AutoPolicy {
	setUnless(&a.Categories, file.Categories, file.Categories == nil)
	setUnless(&a.PerHour, file.PerHour, file.PerHour == 0)
	setUnless(&a.PerAgent, file.PerAgent, file.PerAgent == 0)
	return a
}

func (a AutoPolicy) check(c *complaints) {
	for _, category := range a.Categories {
		if !category.Known() || category == Permanent {
			c.at("$.auto.categories", "auto.categories: %q is not one of transient, conditionally_recoverable, unclassified", category)
		}
	}
	if a.PerHour < 0 || a.PerAgent < 0 {
		c.at("$.auto", "auto: a budget is a number of entries above 0; no categories turn it off")
	}
}
