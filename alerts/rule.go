package alerts

import (
	"slices"
	"time"
)

// RuleID names a rule. It is stored, sent to receivers and used in addresses, so it never changes.
type RuleID string

// Severity says how bad it is.
type Severity string

// The severities, worst first.
const (
	Critical Severity = "critical" // Somebody should look now: work is lost, done twice, or nobody watches.
	Warning  Severity = "warning"  // Somebody should look today.
	Info     Severity = "info"     // Good to know.
)

// Severities lists the severities, worst first.
func Severities() []Severity { return []Severity{Critical, Warning, Info} }

// Rank orders severities, the worst first.
func (s Severity) Rank() int { return slices.Index(Severities(), s) }

// Rule is one way in which something needs attention.
type Rule struct {
	ID       RuleID
	Severity Severity
	Title    string // A few words.
	Why      string // What it means, for people; a finding may say it more precisely.
	Next     string // What to do about it.

	// For is how long a finding must last before its alert fires, counted from when the condition began, or was first seen where that is not
	// known. Pages show the finding at once.
	For time.Duration

	// Threshold is the duration that the condition itself compares with; zero where there is none. Means says what it bounds.
	Threshold time.Duration
	Means     string

	Off    bool // Nobody wants to hear of it.
	Vision bool // It is about our own observation: pages show it in a banner.

	find func(*Facts, Rule) []Finding
}

// Rules are the rules in force, in the order in which findings are shown.
type Rules []Rule

// Of returns a rule; found is false where there is none of that id.
func (r Rules) Of(id RuleID) (rule Rule, found bool) {
	i := slices.IndexFunc(r, func(rule Rule) bool { return rule.ID == id })
	if i < 0 {
		return Rule{}, false
	}
	return r[i], true
}

// place is where findings of the rule stand among others.
func (r Rules) place(id RuleID) int {
	return slices.IndexFunc(r, func(rule Rule) bool { return rule.ID == id })
}

// Runbook is the address of the rule's runbook on this server, without origin.
func (id RuleID) Runbook() string { return "/runbooks/" + string(id) }
