package views

import (
	"strings"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// obstacleLooks are how it looks that a retry is blocked, by what stands in its way.
var obstacleLooks = map[dlqtriage.ObstacleCode]look{
	dlqtriage.BlockedNotRead:        {"clock", "wait", "not read yet"},
	dlqtriage.BlockedPermanent:      {"lock", "dead", "no retry cures it"},
	dlqtriage.BlockedRetriesUsed:    {"exhausted", "bad", "retries used up"},
	dlqtriage.BlockedNoPayload:      {"unknown", "wait", "no body to retry"},
	dlqtriage.BlockedCompleted:      {"completed", "warn", "done already"},
	dlqtriage.BlockedEffectsUnknown: {"search", "warn", "look first"},
}

// planLook is how it looks what should happen next, and why it should, in a sentence.
func planLook(p dlqtriage.Plan) (l look, why string) {
	if p.Eligible {
		return eligibleLook(p), first(p.Reasons)
	}
	why = first(p.Reasons)
	if len(p.Blocked) > 0 {
		why = p.Blocked[0].Why
	}
	if p.MaxAdditionalRetries == 0 && p.TargetAgent != "" {
		return look{"reassigned", "warn", "hand to " + Cut(p.TargetAgent, 40)}, why
	}
	l = look{"warn", "warn", "blocked"}
	if len(p.Blocked) > 0 && obstacleLooks[p.Blocked[0].Code].Word != "" {
		l = obstacleLooks[p.Blocked[0].Code]
	}
	return l, why
}

// strategyWords are what the plan does. Where no consumer takes the message, it does nothing until one does.
func strategyWords(p dlqtriage.Plan) string {
	if p.Untaken {
		return "start the agent, then " + spaced(string(p.Strategy))
	}
	return spaced(string(p.Strategy))
}

func eligibleLook(p dlqtriage.Plan) look {
	if p.Untaken {
		return look{"agents", "warn", "start the agent first"}
	}
	if len(p.Modifications) > 0 {
		return look{"edit", "dup", "retry after " + inOneLine(lifecycle.Lasting(p.Delay)) + ", changed"}
	}
	return look{"retried", "dup", "retry after " + inOneLine(lifecycle.Lasting(p.Delay))}
}

// inOneLine keeps a number and its unit together where words wrap.
func inOneLine(s string) string { return strings.ReplaceAll(s, " ", "\u00a0") }

// ObstacleWords say in a few words what stands in the way of a plan; empty where nothing does.
func ObstacleWords(p dlqtriage.Plan) string {
	if len(p.Blocked) == 0 {
		return ""
	}
	return obstacleLooks[p.Blocked[0].Code].Word
}

// offerTitle says where an offer leads.
func offerTitle(o GroupOffer) string {
	if o.Dry {
		return "A dry run comes first"
	}
	return "Opens the page of the agent: Fleetglass starts none"
}

// ofGroup tells the offers of groups apart for those who hear them.
func ofGroup(o GroupOffer, g DeadGroup) string {
	if o.Dry {
		return "of " + Cut(g.Name, 80)
	}
	return "for " + Cut(g.Name, 80)
}

// first is the first of some sentences; empty for none.
func first(sentences []string) string {
	if len(sentences) == 0 {
		return ""
	}
	return sentences[0]
}

// decidedWords say what comes next of an entry about which somebody decided; empty where its plan says that. A deferred one may still be acted on.
func decidedWords(e dlqtriage.Entry) string {
	switch e.Status {
	case dlqtriage.StatusActing:
		return "An action is under way. Nothing is to be decided until it ends."
	case dlqtriage.StatusDiscarded:
		return "Nothing: it was discarded. Reopen it to decide again."
	case dlqtriage.StatusQuarantined:
		return "Nothing happens by itself: it is kept apart until somebody reopens it."
	case dlqtriage.StatusRetried, dlqtriage.StatusReassigned:
		return followedWords(e.Outcome)
	}
	return ""
}

// followedWords say what comes next after a message was published again.
func followedWords(o dlqtriage.Outcome) string {
	switch o {
	case dlqtriage.OutcomeResolved:
		return "Nothing: the message that followed completed."
	case dlqtriage.OutcomeDiedAgain:
		return "Nothing here: the message that followed died too. Decide about that one."
	case dlqtriage.OutcomePickedUp:
		return "Nothing yet: a worker has the message that followed."
	}
	return "Nothing yet: the message that followed waits for a worker."
}
