package dlqtriage

import (
	"fmt"
	"time"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// Preview is what an action would do. It changes nothing.
type Preview struct {
	Eligible         bool // Nothing below stands in the way, or the request takes it upon itself.
	Blocked          []Obstacle
	Diff             []Difference     // Between the payload of the message that died and of the one that is published.
	Message          *Message         // What is published; nil where nothing is.
	DueAt            lifecycle.Micros // When it is published; zero where nothing is.
	Preflight        *Preflight       // Whether it fits into the model; nil where nothing is published.
	DuplicateWarning string           // Why the work may be done twice; empty where nothing speaks for it.

	plan   Plan
	forced []ObstacleCode // What the request takes upon itself; never nil.
}

// preview works out what the request would do to what is known. It is pure.
func (k *Known) preview(r Request, id string, p *Policy, c fleet.Contract, now lifecycle.Micros) (Preview, error) {
	out := Preview{Diff: []Difference{}, Blocked: statusObstacles(k.Entry, r.Action)}
	if r.Action.Sends() {
		if err := k.previewRetry(&out, r, id, p, c, now); err != nil {
			return out, err
		}
	}
	out.forced = forced(out.Blocked, r.Params.Force)
	out.Blocked = unforced(out.Blocked, r.Params.Force)
	out.Eligible = len(out.Blocked) == 0
	return out, nil
}

func (k *Known) previewRetry(out *Preview, r Request, id string, p *Policy, c fleet.Contract, now lifecycle.Micros) error {
	out.plan = p.PlanFor(k.Case, now)
	what := k.retryOf(r, out.plan, id)
	out.DueAt = now.Add(r.Params.delay(out.plan))
	out.DuplicateWarning = duplicateWarning(k.Case)
	m, diff, err := k.message(c, what)
	if err != nil {
		return fmt.Errorf("build the message: %w", err)
	}
	out.Blocked = append(out.Blocked, retryObstacles(out.plan, r.Params, r.Params.edits(r.Action) && k.differs(what, diff))...)
	out.Blocked = append(out.Blocked, k.sendObstacles(what, c)...)
	out.Message, out.Diff = &m, diff
	return k.preflight(out, p, what)
}

// retryOf is what the request changes: by the plan, nothing, or what it says itself.
func (k *Known) retryOf(r Request, plan Plan, id string) retry {
	out := retry{agent: k.Entry.Agent, action: id}
	switch r.Params.As {
	case AsEdited:
		out.payload, out.headers, out.modifications = r.Params.payload(), r.Params.Headers, r.Params.Modifications
	case AsUnchanged:
		out.unchanged = r.Action == ActionRetry && r.Params.Model == ""
	default:
		out.modifications = plan.Modifications
		if plan.TargetModel != k.Case.Model {
			out.model = plan.TargetModel
		}
		if plan.Strategy != StrategyEscalate && plan.TargetAgent != "" {
			out.agent = plan.TargetAgent
		}
	}
	if r.Params.Model != "" {
		out.model = r.Params.Model
	}
	if r.Params.Agent != "" {
		out.agent = r.Params.Agent
	}
	return out
}

// delay is how long the message waits before it is published: what the request says, else what the plan says; without a plan it is not
// delayed.
func (p Params) delay(plan Plan) time.Duration {
	switch {
	case p.DelayMS != nil:
		return time.Duration(*p.DelayMS) * time.Millisecond
	case p.As == "" || p.As == AsPlan:
		return plan.Delay
	}
	return 0
}

// sendObstacles are what stands in the way of publishing at all.
func (k *Known) sendObstacles(what retry, c fleet.Contract) []Obstacle {
	var out []Obstacle
	if _, _, ok := c.ParseTaskSubject(k.subject(c, what.agent)); !ok || !fleet.ValidToken(what.agent) {
		out = append(out, Obstacle{BlockedNoSubject, "The subject or the type of the task is not known, so there is nowhere to publish it."})
	}
	return out
}

// preflight says whether the message fits into the model that takes it.
func (k *Known) preflight(out *Preview, p *Policy, what retry) error {
	model := what.model
	if model == "" && what.agent == k.Entry.Agent {
		model = k.Case.Model
	}
	fits, err := p.Preflight(PreflightRequest{Agent: what.agent, Model: model, Payload: string(out.Message.Payload)})
	if err != nil {
		return fmt.Errorf("preflight: %w", err)
	}
	out.Preflight = &fits
	if fits.Verdict == PreflightRefuse && !compresses(what.modifications) {
		out.Blocked = append(out.Blocked, Obstacle{BlockedTooLarge, "It does not fit into " + fits.Model + ": " + fits.Advice + "."})
	}
	return nil
}

// compresses reports whether the agent is told to make the context smaller.
func compresses(all []Modification) bool {
	for _, m := range all {
		if m.Type == ModifyCompress {
			return true
		}
	}
	return false
}
