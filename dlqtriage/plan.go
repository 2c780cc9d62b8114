package dlqtriage

import (
	"fmt"
	"time"

	"fleetglass/lifecycle"
)

// Plan is what should happen with a dead message, and why.
type Plan struct {
	Strategy             Strategy
	Delay                time.Duration
	DueAt                lifecycle.Micros // When a retry that is decided now is published.
	TargetAgent          string
	TargetModel          string // Empty where no model is known: the agent uses its own.
	MaxAdditionalRetries int    // How often this strategy may still be tried, this time included.
	Modifications        []Modification
	Reasons              []string // Sentences for people.
	Untaken              bool     // No consumer takes its subject: a retry to the same agent dies the same way until one does.
	Eligible             bool     // Nothing below stands in the way of a retry by this plan.
	Blocked              []Obstacle
}

// Obstacle is something that stands in the way of a retry.
type Obstacle struct {
	Code ObstacleCode
	Why  string // A sentence for people.
}

// ObstacleCode names an obstacle, for programs.
type ObstacleCode string

// The obstacles.
const (
	BlockedNotRead        ObstacleCode = "not_read_yet"      // Nobody has looked yet why it died.
	BlockedPermanent      ObstacleCode = "permanent"         // No retry cures it.
	BlockedRetriesUsed    ObstacleCode = "retries_used_up"   // The strategy was tried as often as it may be.
	BlockedNotOpen        ObstacleCode = "not_open"          // Somebody decided already.
	BlockedNoPayload      ObstacleCode = "payload_missing"   // There is nothing to publish again.
	BlockedCompleted      ObstacleCode = "already_completed" // The work was done: it would be done twice.
	BlockedEffectsUnknown ObstacleCode = "effects_unknown"   // An effect may have happened: look first.
	BlockedSuperseded     ObstacleCode = "superseded"        // The task has a newer message: that one counts.
)

// Case is what a plan is made from: the entry, and what else is known of its task.
type Case struct {
	Class
	Agent      string
	Type       string
	Model      string // That the task names; empty for none.
	Reason     string // Why the message died, in the words of whoever said so. Untrusted.
	Generation int    // How often the task had been published before.
	Status     Status
	Unread     bool   // Nobody has looked yet why it died; somebody will within seconds.
	Untaken    bool   // No consumer took its subject.
	Taker      string // Of one that no consumer took: a consumer that takes its subject by now; empty for none, or where nobody looked.

	TokenBudget    int64  // Of the task's payload; zero for none.
	PayloadMissing bool   // The body is not known, or not whole.
	Completed      bool   // The task is completed, or a completion of its work is known.
	Superseded     bool   // The task has a newer message: that one counts.
	EffectsUnknown string // Why effects of the task may have happened; empty where there is no such sign.

	Past    []PastRetry           // What was tried before.
	Sharers []lifecycle.SharedKey // Other tasks with the idempotency key of the message, those that did the work first.
}

// PastRetry is a retry or reassignment that was made of the task before.
type PastRetry struct {
	Strategy Strategy // Of the plan at that time; empty where it is not known.
	Class
}

// PlanFor says what should happen with a dead message (SPEC 5, the strategy engine). It is a pure function.
func (p *Policy) PlanFor(c Case, now lifecycle.Micros) Plan {
	row := strategyFor(c.Class)
	tried := c.tried(row)
	plan := Plan{
		Strategy: row.strategy, Delay: row.delay(tried), TargetAgent: c.Agent, TargetModel: c.Model,
		MaxAdditionalRetries: max(0, row.retries-tried), Modifications: []Modification{}, Reasons: []string{row.why}, Blocked: []Obstacle{},
	}
	if row.change != nil {
		row.change(p, c, &plan)
	}
	if c.Untaken {
		plan.nobodyTook(c.Taker)
	}
	if len(c.Sharers) > 0 && !c.Sharers[0].DoneAt.Known() {
		plan.Reasons = append(plan.Reasons, c.Sharers[0].Words())
	}
	plan.DueAt = now.Add(plan.Delay)
	plan.Blocked = c.obstacles(row, tried)
	plan.Eligible = len(plan.Blocked) == 0
	return plan
}

// What is said of a message that no consumer took: what helps first, and what then.
const (
	untakenFirst = "No consumer took its subject. Until one does, a retry dies the same way: start the agent, or reassign it."
	untakenThen  = "Once one does, the same work is tried once more."
	takenFirst   = "No consumer took its subject when it died. %s takes it now."
	takenThen    = "The same work is tried once more."
)

// nobodyTook says of a message that no consumer took it, and which one takes its subject now.
func (p *Plan) nobodyTook(taker string) {
	first, then := untakenFirst, untakenThen
	if p.Untaken = taker == ""; taker != "" {
		first, then = fmt.Sprintf(takenFirst, taker), takenThen
	}
	if p.Strategy == StrategyRetryOnce {
		p.Reasons[0] = then
	}
	p.Reasons = append([]string{first}, p.Reasons...)
}

// untakenStill is why a retry is not what to do first.
const untakenStill = "It dies the same way until a consumer takes its subject."

// Against says why an action that sends the message again is not what to do first; empty where nothing speaks against it.
func (p Plan) Against(action ActionKind, as RetryAs) string {
	if !action.Sends() {
		return ""
	}
	if all := retryObstacles(p, Params{As: as}, as == AsEdited || action == ActionReassign); len(all) > 0 {
		return all[0].Why
	}
	if p.Untaken && action == ActionRetry {
		return untakenStill
	}
	return ""
}

// tried is how often the strategy was tried for this task. Generations of which nothing else is known count for it.
func (c Case) tried(row strategyRow) int {
	others := 0
	for _, past := range c.Past {
		strategy := past.Strategy
		if strategy == "" {
			strategy = strategyFor(past.Class).strategy
		}
		if strategy != row.strategy {
			others++
		}
	}
	return max(0, c.Generation-others)
}

// obstacles are what stands in the way of a retry.
func (c Case) obstacles(row strategyRow, tried int) []Obstacle {
	out := []Obstacle{}
	var elsewhere lifecycle.SharedKey
	if len(c.Sharers) > 0 {
		elsewhere = c.Sharers[0]
	}
	for _, o := range []struct {
		is   bool
		code ObstacleCode
		why  string
	}{
		{c.Unread, BlockedNotRead, notReadYet},
		{row.retries == 0, BlockedPermanent, "No retry cures what is permanent."},
		{row.retries > 0 && tried >= row.retries, BlockedRetriesUsed, retriesUsed(row.retries)},
		{c.Status != StatusOpen && c.Status != StatusDeferred, BlockedNotOpen, "Somebody decided about it already: it is " + string(c.Status) + "."},
		{c.PayloadMissing, BlockedNoPayload, "The body of the message is not known, or not whole."},
		{c.Completed, BlockedCompleted, "Its work is done: a retry would be skipped where a record says so, or would do the work twice."},
		{elsewhere.Proved, BlockedCompleted, elsewhere.Words()},
		{c.EffectsUnknown != "", BlockedEffectsUnknown, c.EffectsUnknown},
		{elsewhere.DoneAt.Known() && !elsewhere.Proved, BlockedEffectsUnknown, elsewhere.Words()},
		{c.Superseded, BlockedSuperseded, "The task has a newer message than the one that died: decide about that one."},
	} {
		if o.is {
			out = append(out, Obstacle{o.code, o.why})
		}
	}
	return out
}
