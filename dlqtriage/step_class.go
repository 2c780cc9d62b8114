package dlqtriage

import "slices"

// StepClass says what a repetition of a step may do (SPEC 3).
type StepClass string

// The step classes, the harmless first.
const (
	StepPure         StepClass = "pure"         // It has no effect.
	StepKeyed        StepClass = "keyed"        // It has a strong idempotency key: repeated, it has its effect once.
	StepCheckpointed StepClass = "checkpointed" // It goes on from its last checkpoint.
	StepLookup       StepClass = "lookup"       // Whether its effect took place can be looked up.
	StepUnsafe       StepClass = "unsafe"       // Repeated, it has its effect again.
)

// StepClasses lists the step classes.
func StepClasses() []StepClass {
	return []StepClass{StepPure, StepKeyed, StepCheckpointed, StepLookup, StepUnsafe}
}

// Known reports whether c is one of [StepClasses].
func (c StepClass) Known() bool { return slices.Contains(StepClasses(), c) }

// repeatable reports whether a repetition does no harm.
func (c StepClass) repeatable() bool { return c == StepPure || c == StepKeyed }
