package views

import (
	"fmt"

	"fleetglass/lifecycle"
)

// usedParts say what agents reported to have used of language models for a task of so many attempts. What was not reported is a word, never zero.
func usedParts(used lifecycle.ModelTotal, attempts int) []Param {
	reported := "reported"
	if 0 < used.Attempts && used.Attempts < attempts {
		reported = fmt.Sprintf("reported for %s of %s attempts", Count(int64(used.Attempts)), Count(int64(attempts)))
	}
	var out []Param
	if used.Cost > 0 {
		out = append(out, Param{Value: USD(used.CostUSD()), Name: reported})
	} else {
		out = append(out, Param{Name: "cost not reported"})
	}
	if used.InputTokens > 0 {
		out = append(out, Param{Value: Count(used.InputTokens), Name: "tokens in"})
	}
	if used.OutputTokens > 0 {
		out = append(out, Param{Value: Count(used.OutputTokens), Name: "tokens out"})
	}
	return out
}
