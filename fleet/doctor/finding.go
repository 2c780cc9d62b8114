package doctor

import (
	"slices"
	"strings"
)

// Severity says how much a finding matters.
type Severity string

// The severities, the worst first.
const (
	Critical Severity = "critical" // Work is lost or done twice, or nobody would see it.
	Warning  Severity = "warning"  // It goes wrong sooner or later.
	Info     Severity = "info"     // Good to know; nothing is lost by it.
)

// Severities lists them, the worst first.
func Severities() []Severity { return []Severity{Critical, Warning, Info} }

// AtLeast reports whether s is as bad as the other, or worse.
func (s Severity) AtLeast(other Severity) bool {
	return slices.Index(Severities(), s) <= slices.Index(Severities(), other)
}

// Finding is one trap, on one thing of the broker.
type Finding struct {
	Code     string   `json:"code"` // Which check found it.
	Severity Severity `json:"severity"`
	Title    string   `json:"title"`    // The trap in a few words.
	Resource string   `json:"resource"` // Such as "stream TASKS" or "consumer TASKS cto-task-worker".
	What     string   `json:"what"`     // What was seen, with its figures.
	Why      string   `json:"why"`      // What it means for the fleet.
	Fix      string   `json:"fix"`      // The command that mends it, or what a person must decide.
}

// Command reports whether the fix is a command for a shell.
func (f Finding) Command() bool {
	return strings.HasPrefix(f.Fix, "nats ") || strings.HasPrefix(f.Fix, "fleetglass ")
}
