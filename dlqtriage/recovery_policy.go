package dlqtriage

import (
	"fmt"
	"slices"
)

// RecoveryPolicy says what is known of the effects of task types whose agents do not report steps (SPEC 3).
type RecoveryPolicy struct {
	Types []RecoveryType `yaml:"types" json:"types"` // The first that is for a task type counts.
}

// RecoveryType is what the policy says of a task type.
type RecoveryType struct {
	Type    string    `yaml:"type" json:"type"`                           // The task type; * is for every type.
	Class   StepClass `yaml:"class,omitempty" json:"class,omitempty"`     // Of each of its steps of which no report says the class.
	Default Remedy    `yaml:"default,omitempty" json:"default,omitempty"` // The decision where nothing is known; without one it is quarantine.
}

// anyType in the place of a task type is for every type.
const anyType = "*"

// forType is what the policy says of a task type; the zero value where it says nothing.
func (p RecoveryPolicy) forType(name string) RecoveryType {
	i := slices.IndexFunc(p.Types, func(t RecoveryType) bool { return t.Type == name || t.Type == anyType })
	if i < 0 {
		return RecoveryType{}
	}
	return p.Types[i]
}

// over is the policy with what a file says of it.
func (p RecoveryPolicy) over(file RecoveryPolicy) RecoveryPolicy {
	setUnless(&p.Types, file.Types, file.Types == nil)
	return p
}

func (p RecoveryPolicy) check(c *complaints) {
	seen := map[string]bool{}
	for i, t := range p.Types {
		path := fmt.Sprintf("$.recovery.types[%d]", i)
		switch {
		case t.Type == "":
			c.at(path, "recovery.types: entry %d names no type", i+1)
		case seen[t.Type] || seen[anyType]:
			c.at(path+".type", "recovery.types: %q is never reached: an entry before it is for it", t.Type)
		}
		seen[t.Type] = true
		t.check(c, path)
	}
}

func (t RecoveryType) check(c *complaints, path string) {
	if t.Class != "" && !t.Class.Known() {
		c.at(path+".class", "type %q: %q is not one of pure, keyed, checkpointed, lookup, unsafe", t.Type, t.Class)
	}
	if t.Default != "" && !t.Default.Known() {
		c.at(path+".default", "type %q: %q is not one of reconcile, resume, retry, quarantine", t.Type, t.Default)
	}
	if t.Class == StepUnsafe && t.Default == RemedyRetry {
		c.at(path+".default", "type %q: what is unsafe cannot be retried by default", t.Type)
	}
}
