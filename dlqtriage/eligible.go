package dlqtriage

import (
	"maps"
	"slices"
	"strings"
)

// The obstacles that stand in the way of actions, beside those of a plan.
const (
	BlockedBusy       ObstacleCode = "entry_busy"     // An action on the entry has not ended.
	BlockedStatus     ObstacleCode = "wrong_status"   // The action is not for entries of this status.
	BlockedNoSubject  ObstacleCode = "no_subject"     // Where to publish is not known.
	BlockedTooLarge   ObstacleCode = "does_not_fit"   // The payload is larger than the model's budget.
	BlockedUnreadable ObstacleCode = "not_modifiable" // What is to be changed cannot be written into the payload.
)

// Forcible reports whether an operator may take the risk: what stands in the way is a judgement, not a fact that makes the action impossible.
func (c ObstacleCode) Forcible() bool {
	return slices.Contains([]ObstacleCode{BlockedNotRead, BlockedPermanent, BlockedRetriesUsed, BlockedCompleted, BlockedEffectsUnknown, BlockedTooLarge, BlockedWorkerAlive}, c)
}

// statusObstacles are what the status of the entry puts in the way of an action.
func statusObstacles(e Entry, action ActionKind) []Obstacle {
	switch {
	case e.Status == StatusActing:
		return []Obstacle{{BlockedBusy, "An action on this entry has not ended."}}
	case !action.AppliesTo(e.Status):
		return []Obstacle{{BlockedStatus, "The entry is " + string(e.Status) + ": " + string(action) + " is not possible then."}}
	}
	return nil
}

// retryObstacles are what a plan puts in the way of a retry that is done as the request says. That no retry cures it, and how often it was
// tried, says nothing against one that is edited or goes to another agent: other says so.
func retryObstacles(plan Plan, p Params, other bool) []Obstacle {
	var out []Obstacle
	judged := []ObstacleCode{BlockedPermanent, BlockedRetriesUsed}
	for _, o := range plan.Blocked {
		switch {
		case o.Code == BlockedNotOpen: // The status was looked at before.
		case o.Code == BlockedNoPayload && p.As == AsEdited && p.payload() != nil:
		case other && slices.Contains(judged, o.Code):
		default:
			out = append(out, o)
		}
	}
	return out
}

// edits reports whether the request itself names something that the message that died did not have.
func (p Params) edits(action ActionKind) bool {
	return action == ActionReassign || p.As == AsEdited && (p.Payload != nil || len(p.Headers) > 0 || len(p.Modifications) > 0 || p.Model != "")
}

// differs reports whether what is sent is other work than what died. An edit that ends where it began is the same work.
func (k *Known) differs(what retry, diff []Difference) bool {
	return len(diff) > 0 || !maps.Equal(lowered(k.headers(what)), lowered(k.headers(retry{}))) || len(what.modifications) > 0 ||
		what.agent != k.Entry.Agent || what.model != "" && what.model != k.Case.Model
}

// lowered has the names of headers in lower case: they are the same in any.
func lowered(headers map[string]string) map[string]string {
	out := make(map[string]string, len(headers))
	for name, value := range headers {
		out[strings.ToLower(name)] = value
	}
	return out
}

// unforced leaves out what the request takes upon itself.
func unforced(all []Obstacle, force bool) []Obstacle {
	out := []Obstacle{}
	for _, o := range all {
		if !force || !o.Code.Forcible() {
			out = append(out, o)
		}
	}
	return out
}

// forced are what the request takes upon itself; never nil.
func forced(all []Obstacle, force bool) []ObstacleCode {
	out := []ObstacleCode{}
	for _, o := range all {
		if force && o.Code.Forcible() {
			out = append(out, o.Code)
		}
	}
	return out
}

// duplicateWarning says why the work may be done twice; empty where nothing speaks for it.
func duplicateWarning(c Case) string {
	switch {
	case c.Completed:
		return "Its work is done: sent again, it is skipped where a record says so, or the work is done twice."
	case c.EffectsUnknown != "":
		return c.EffectsUnknown
	case len(c.Sharers) > 0:
		return c.Sharers[0].Words()
	}
	return ""
}
