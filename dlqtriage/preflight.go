package dlqtriage

import (
	"fmt"
	"math"
)

// PreflightRequest asks whether a task fits into a model before it is published.
type PreflightRequest struct {
	Agent   string // Whose model it is; not needed where the model is named.
	Model   string
	Payload string // Whose tokens are estimated.
	Tokens  int    // The caller's own estimate instead; zero for none.
}

// PreflightVerdict says whether a task fits.
type PreflightVerdict string

// The verdicts.
const (
	PreflightOK     PreflightVerdict = "ok"
	PreflightWarn   PreflightVerdict = "warn"   // It uses most of the budget.
	PreflightRefuse PreflightVerdict = "refuse" // It does not fit.
)

// Preflight is the answer.
type Preflight struct {
	Verdict PreflightVerdict
	Model   string
	Tokens  int // Estimated.
	Budget  int
	Advice  string // A sentence for people.
}

// Preflight says whether a task fits into the token budget of its model (SPEC 5, prevention).
func (p *Policy) Preflight(r PreflightRequest) (Preflight, error) {
	out := Preflight{Model: p.ModelOf(r.Agent, r.Model), Tokens: r.Tokens}
	out.Budget = p.budget(out.Model)
	if r.Tokens == 0 {
		tokens, err := p.CountTokens(out.Model, r.Payload)
		if err != nil {
			return Preflight{}, err
		}
		out.Tokens = tokens
	}
	out.judge(p.Bounds)
	return out, nil
}

// budget is the tokens that a prompt for the model may have.
func (p *Policy) budget(model string) int {
	if m, known := p.model(model); known && m.Budget > 0 {
		return m.Budget
	}
	return p.Bounds.Budget
}

func (f *Preflight) judge(b PreflightBounds) {
	switch {
	case f.Tokens > f.Budget:
		parts := math.Ceil(float64(f.Tokens)/(b.SplitShare*float64(f.Budget)) - 1e-9) // What divides evenly is not rounded up.
		f.Verdict = PreflightRefuse
		f.Advice = fmt.Sprintf("split into %d subtasks or compress", int(parts))
	case float64(f.Tokens) > b.WarnAbove*float64(f.Budget):
		f.Verdict = PreflightWarn
		f.Advice = fmt.Sprintf("%d of %d tokens are used before the work begins: leave out what is not needed", f.Tokens, f.Budget)
	default:
		f.Verdict, f.Advice = PreflightOK, "it fits"
	}
}
