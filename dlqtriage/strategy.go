package dlqtriage

import (
	"fmt"
	"time"

	"fleetglass/lifecycle"
)

// Strategy names a way to recover.
type Strategy string

// The strategies (SPEC 5).
const (
	StrategyBackOff     Strategy = "back_off"               // The same again, later.
	StrategyCompress    Strategy = "compress_context"       // A smaller context and a larger window.
	StrategySwitch      Strategy = "switch_agent_and_model" // Another agent with another model, which is told what went wrong.
	StrategyLimitOutput Strategy = "limit_output"           // Less output.
	StrategyEscalate    Strategy = "escalate"               // The agent that triages decides.
	StrategyRetryOnce   Strategy = "retry_once"             // The same again, once.
)

// The figures and words of the changes.
const (
	compressTo   = 80_000 // Tokens.
	outputShare  = 0.6    // Of the task's token budget.
	firstBackOff = 30 * time.Second
	maxBackOff   = 5 * time.Minute
	focusText    = "Focus on the core task."
	conciseText  = "Be concise."
)

// strategyRow is a row of the strategy table.
type strategyRow struct {
	category Category // The row is for this detail, or for all of this category; both are empty for anything else.
	detail   string
	strategy Strategy
	wait     time.Duration
	doubles  bool // The wait doubles with each try, up to maxBackOff.
	retries  int
	change   func(p *Policy, c Case, plan *Plan)
	why      string
}

// strategyTable is the table of SPEC 5. The first row that is for a class counts.
var strategyTable = [...]strategyRow{
	{category: Transient, strategy: StrategyBackOff, wait: firstBackOff, doubles: true, retries: 3,
		why: "What is transient passes: the same work is tried again, later each time."},
	{detail: ContextWindowOverflow, strategy: StrategyCompress, wait: 10 * time.Second, retries: 1, change: compress,
		why: "The prompt did not fit: the context is compressed, and a model with a larger window takes it."},
	{detail: HallucinationLoop, strategy: StrategySwitch, wait: time.Minute, retries: 1, change: switchAgent,
		why: "The model repeated itself: another agent with another model tries it, and is told what went wrong."},
	{detail: TokenBudgetExceeded, strategy: StrategyLimitOutput, wait: 10 * time.Second, retries: 1, change: limitOutput,
		why: "The budget was spent: the same agent tries it with less output."},
	{category: Permanent, strategy: StrategyEscalate, change: escalate,
		why: "No retry cures it: somebody has to decide."},
	{strategy: StrategyRetryOnce, wait: 2 * time.Minute, retries: 1,
		why: "Nothing says that a change would help: the same work is tried once more."},
}

func strategyFor(c Class) strategyRow {
	for _, row := range strategyTable {
		if (row.detail == "" || row.detail == c.Detail) && (row.category == "" || row.category == c.Category) {
			return row
		}
	}
	return strategyTable[len(strategyTable)-1] // Unreachable: the last row is for everything.
}

// delay is how long to wait when the strategy was tried so often before.
func (r strategyRow) delay(tried int) time.Duration {
	if !r.doubles {
		return r.wait
	}
	wait := r.wait
	for range tried {
		if wait = 2 * wait; wait >= maxBackOff {
			return maxBackOff
		}
	}
	return wait
}

// delays are the shortest and the longest wait of those that may still be tried.
func (r strategyRow) delays() (least, most time.Duration) {
	return r.wait, r.delay(max(0, r.retries-1))
}

func retriesUsed(retries int) string {
	if retries == 1 {
		return "This was tried once, and may be tried only once."
	}
	return fmt.Sprintf("This was tried %d times, as often as it may be.", retries)
}

func compress(p *Policy, c Case, plan *Plan) {
	plan.Modifications = append(plan.Modifications,
		Modification{Type: ModifyCompress, MaxTokens: compressTo}, Modification{Type: ModifyFocus, Text: focusText})
	current := p.ModelOf(c.Agent, c.Model)
	larger, ok := p.LargerModel(current)
	switch _, known := p.model(current); {
	case ok:
		plan.TargetModel = larger.Name
		plan.Reasons = append(plan.Reasons, fmt.Sprintf("%s takes %s tokens.", larger.Name, lifecycle.Grouped(int64(larger.ContextWindow))))
	case known:
		plan.Reasons = append(plan.Reasons, "No model of the policy has a larger window than "+current+".")
	default:
		plan.TargetModel = p.Fallback
		plan.Reasons = append(plan.Reasons, "The policy does not know the window of "+current+": the fallback model takes it.")
	}
}

func switchAgent(p *Policy, c Case, plan *Plan) {
	plan.TargetAgent = p.AlternateAgent(c.Agent, c.Type)
	plan.TargetModel = p.AnotherModel(p.ModelOf(c.Agent, c.Model))
	plan.Modifications = append(plan.Modifications,
		Modification{Type: ModifyPreviousError, Text: c.Reason}, Modification{Type: ModifyValidate})
	why := fmt.Sprintf("%s is the first other agent that can do %s.", plan.TargetAgent, c.Type)
	if plan.TargetAgent == p.TriageAgent {
		why = fmt.Sprintf("No other agent can do %q: %s takes it.", c.Type, p.TriageAgent)
	}
	plan.Reasons = append(plan.Reasons, why)
}

func limitOutput(_ *Policy, c Case, plan *Plan) {
	limit := Modification{Type: ModifyLimitOutput, Share: outputShare, MaxTokens: c.TokenBudget * 6 / 10}
	plan.Modifications = append(plan.Modifications, limit, Modification{Type: ModifyConcise, Text: conciseText})
	if c.TokenBudget == 0 {
		plan.Reasons = append(plan.Reasons, "The task names no token budget: the share of it is left to the agent.")
	}
}

func escalate(p *Policy, _ Case, plan *Plan) {
	plan.TargetAgent, plan.TargetModel = p.TriageAgent, ""
}
