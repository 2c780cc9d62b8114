package dlqtriage

// Modification is a change of a task that is tried again. A list of them, as JSON, is the header X-Modifications.
type Modification struct {
	Type      ModificationType `json:"type"`
	MaxTokens int64            `json:"max_tokens,omitempty"` // Of compress_context and limit_output.
	Share     float64          `json:"share,omitempty"`      // Of limit_output: of the task's token budget.
	Text      string           `json:"text,omitempty"`       // What the agent is told.
}

// ModificationType names a kind of change.
type ModificationType string

// The kinds of change.
const (
	ModifyCompress      ModificationType = "compress_context" // The context may have so many tokens.
	ModifyFocus         ModificationType = "focus"            // An instruction.
	ModifyPreviousError ModificationType = "previous_error"   // What went wrong the last time.
	ModifyValidate      ModificationType = "validate_output"  // The output is validated against its schema before it is accepted.
	ModifyLimitOutput   ModificationType = "limit_output"     // The output may have so many tokens.
	ModifyConcise       ModificationType = "concise"          // An instruction.
)

// ModificationTypes lists all kinds of change.
func ModificationTypes() []ModificationType {
	return []ModificationType{ModifyCompress, ModifyFocus, ModifyPreviousError, ModifyValidate, ModifyLimitOutput, ModifyConcise}
}
