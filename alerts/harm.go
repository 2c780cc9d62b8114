package alerts

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"fleetglass/lifecycle"
)

// Harm is what it costs that a finding is so. Findings and alerts are shown in the order of harm.
type Harm string

// The harms, the worst first.
const (
	HarmBlind      Harm = "blind"      // Nobody watches: everything else may be worse than it is said to be.
	HarmStandstill Harm = "standstill" // Nobody takes a thousand messages or more.
	HarmEffect     Harm = "effect"     // Work is lost, or its effect may exist twice.
	HarmDying      Harm = "dying"      // Work is about to die: the last attempt is in danger, or what others died of is still there.
	HarmUntaken    Harm = "untaken"    // Work waits, and nobody takes it.
	HarmDoubt      Harm = "doubt"      // What became of work is not known, or what is known contradicts itself.
	HarmWaiting    Harm = "waiting"    // Work waits, or a worker holds it for long; somebody takes it.
	HarmRisk       Harm = "risk"       // Nothing is harmed yet.
)

// Harms lists the harms, the worst first.
func Harms() []Harm {
	return []Harm{HarmBlind, HarmStandstill, HarmEffect, HarmDying, HarmUntaken, HarmDoubt, HarmWaiting, HarmRisk}
}

// StandstillAt is from how many messages on work that nobody takes is a standstill.
const StandstillAt = 1000

// Action is the one thing to do next about a finding.
type Action struct {
	Label string `json:"label"`
	Page  string `json:"page"` // Address without origin; empty for the page of the task.
}

// response is what findings of a rule harm, and what one does next about one of them and about many at once. An empty address is that of the
// page that shows the finding, which for many is the board of alerts.
type response struct {
	rule      RuleID
	harm      Harm
	one, many Action
}

// responses has a row for each rule, the worst harm first.
func responses() []response {
	doctor := Action{"See the fix", ""}
	captures, inFlight := Action{"Open Capture", capturePage}, Action{"Open the board", "/in-flight"}
	lease := func(id RuleID, h Harm) response { return response{id, h, Action{"Decide", ""}, inFlight} }
	return []response{
		{RulePartDown, HarmBlind, captures, captures},
		{RuleFeedSilent, HarmBlind, captures, captures},
		{RuleUnjudged, HarmBlind, captures, captures},
		{RuleExecutedTwice, HarmEffect, Action{"Open the task", ""}, Action{"List the tasks", listOf(lifecycle.CasesFilter(lifecycle.LayerExecution))}},
		lease(RuleZombie, HarmEffect),
		{RuleRemoved, HarmEffect, Action{"Open the task", ""}, Action{"List the tasks", listOf(lifecycle.Filter{States: []lifecycle.State{lifecycle.StateRemoved}})}},
		{RuleNotInDLQ, HarmEffect, Action{"List the tasks", ""}, Action{"List the tasks", listOf(lifecycle.Filter{States: lifecycle.StatesThat(lifecycle.State.Abandoned)})}},
		{RuleKeyConflict, HarmEffect, Action{"Open the task", ""}, Action{"List the tasks", listOf(lifecycle.CasesFilter(lifecycle.LayerConflict))}},
		lease(RulePresumedDead, HarmDying),
		{RuleIncident, HarmDying, Action{"Show them", ""}, Action{"Open the DLQ", "/dlq?status=open"}},
		{RuleOrphaned, HarmUntaken, Action{"List the tasks", ""}, Action{"List the tasks", listOf(UntakenTasks())}},
		{RuleBacklogIdle, HarmUntaken, Action{"Open the agent", ""}, Action{"Open Agents", agentPage("")}},
		{RuleConsumerGone, HarmUntaken, Action{"Create it again", RuleConsumerGone.Runbook()}, Action{"Create them again", RuleConsumerGone.Runbook()}},
		{RulePaused, HarmUntaken, Action{"Resume it", RulePaused.Runbook()}, Action{"Resume them", RulePaused.Runbook()}},
		{RuleNoConsumer, HarmUntaken, Action{"Open the agent", ""}, Action{"Open Agents", agentPage("")}},
		{RuleForged, HarmDoubt, Action{"Open the task", ""}, Action{"List the tasks", listOf(ForgedTasks())}},
		{RuleUnknown, HarmDoubt, Action{"List the tasks", ""}, Action{"List the tasks", ""}},
		{RuleDiscrepancy, HarmDoubt, Action{"Open the balance", ""}, Action{"Open the balance", ""}},
		{RuleCaptureGap, HarmDoubt, Action{"Open the gap", ""}, captures},
		{RuleCollectorLag, HarmDoubt, captures, captures},
		{RuleBacklogGrows, HarmWaiting, Action{"Open the agent", ""}, Action{"Open Agents", agentPage("")}},
		{RuleQueueAge, HarmWaiting, Action{"List the tasks", ""}, Action{"List the tasks", listOf(lifecycle.Filter{States: []lifecycle.State{lifecycle.StatePublished}, Sort: lifecycle.SortPublished})}},
		lease(RuleStale, HarmWaiting),
		lease(RuleStuck, HarmWaiting),
		lease(RuleWeakAccept, HarmWaiting),
		{RuleDLQUntouched, HarmWaiting, Action{"Triage", ""}, Action{"Triage", openEntriesPage}},
		{RuleExpiring, HarmRisk, Action{"See its lease", ""}, inFlight},
		{RuleTrapCritical, HarmRisk, doctor, Action{"See the fixes", "/doctor"}},
		{RuleTrapWarning, HarmRisk, doctor, Action{"See the fixes", "/doctor"}},
	}
}

// ForgedTasks selects the tasks with evidence that contradicts itself, the latest first.
func ForgedTasks() lifecycle.Filter {
	return lifecycle.Filter{
		Anomalies: []lifecycle.AnomalyCode{lifecycle.AnomalyForged, lifecycle.AnomalyConflictingReport, lifecycle.AnomalyEntryUnproved}, Sort: lifecycle.SortLastEventDesc,
	}
}

func responseTo(id RuleID) response {
	all := responses()
	if i := slices.IndexFunc(all, func(r response) bool { return r.rule == id }); i >= 0 {
		return all[i]
	}
	return response{rule: id, harm: HarmRisk}
}

// respond fills in what the finding harms and what one does next, where its rule did not say it more precisely.
func (f *Finding) respond() {
	r := responseTo(f.Rule)
	f.Harm = cmp.Or(f.Harm, r.harm)
	if f.Harm == HarmUntaken && f.Count >= StandstillAt {
		f.Harm = HarmStandstill
	}
	f.Do = Action{Label: cmp.Or(f.Do.Label, r.one.Label), Page: cmp.Or(f.Do.Page, r.one.Page, f.Page)}
}

// weight is how much a finding weighs among those with the same harm: so many things for so long, in thing-milliseconds. What has no known
// beginning counts as one second.
func weight(count int64, since, now lifecycle.Micros) int64 {
	lasted := time.Second
	if since.Known() {
		lasted = max(lasted, now.Sub(since))
	}
	return int64(min(float64(max(count, 1))*float64(lasted.Milliseconds()), math.MaxInt64/2))
}

// rank is the place of a harm among all, the worst first. What has none is last.
func (h Harm) rank() int {
	if i := slices.Index(Harms(), h); i >= 0 {
		return i
	}
	return len(Harms())
}

// compareFindings orders by harm; within one harm what weighs most at that instant is first.
func compareFindings(now lifecycle.Micros) func(a, b Finding) int {
	return func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.Harm.rank(), b.Harm.rank()), cmp.Compare(weight(b.Count, b.Since, now), weight(a.Count, a.Since, now)),
			cmp.Compare(a.Severity.Rank(), b.Severity.Rank()), cmp.Compare(a.Deadline, b.Deadline), strings.Compare(string(a.Rule), string(b.Rule)), strings.Compare(a.Key, b.Key),
		)
	}
}

// shownAlone is how many findings of one rule have a row each; more of them share one.
const shownAlone = 4

// Attention is what somebody should look at: the findings in order of harm. More than four of one rule are one, with their number and that
// since the oldest; that a task waits long is left out where another finding says why its agent's tasks wait. So is what is only good to know:
// nobody can do anything about it, and the board has it.
func Attention(found []Finding, now lifecycle.Micros) []Finding {
	of := map[RuleID][]Finding{}
	for _, f := range explained(found) {
		if f.Severity == Info {
			continue
		}
		of[f.Rule] = append(of[f.Rule], f)
	}
	var out []Finding
	for _, many := range of {
		if len(many) > shownAlone {
			many = []Finding{together(many)}
		}
		out = append(out, many...)
	}
	slices.SortFunc(out, compareFindings(now))
	return out
}

// explained leaves out that tasks of an agent wait long where another finding says why.
func explained(found []Finding) []Finding {
	why := map[string]bool{}
	for _, f := range found {
		switch f.Rule {
		case RuleOrphaned, RuleBacklogIdle, RuleConsumerGone, RulePaused, RuleBacklogGrows:
			why[f.Labels.Agent] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(found), func(f Finding) bool { return f.Rule == RuleQueueAge && why[f.Labels.Agent] })
}

// together makes one finding of many of one rule. Its harm is the worst of theirs.
func together(many []Finding) Finding {
	rule, _ := Defaults().Of(many[0].Rule)
	out := Finding{Rule: rule.ID, Severity: many[0].Severity, Why: rule.Why, Next: rule.Next, Harm: many[0].Harm, Vision: rule.Vision, Page: "/alerts"}
	var agents []string
	for _, f := range many {
		out.Count += f.Count
		out.Since, out.Deadline = earlier(out.Since, f.Since), earlier(out.Deadline, f.Deadline)
		if f.Harm.rank() < out.Harm.rank() {
			out.Harm = f.Harm
		}
		if a := f.Labels.Agent; a != "" && !slices.Contains(agents, a) {
			agents = append(agents, a)
		}
	}
	if out.Harm == HarmUntaken && out.Count >= StandstillAt {
		out.Harm = HarmStandstill
	}
	out.What = rule.Title + ": " + lifecycle.Grouped(out.Count)
	if len(agents) > 0 {
		out.What += " (" + agentWords(agents) + ")"
	}
	r := responseTo(rule.ID)
	out.Do = Action{Label: r.many.Label, Page: cmp.Or(r.many.Page, out.Page)}
	return out
}

// earlier is the earlier of two instants of which each may be unknown.
func earlier(a, b lifecycle.Micros) lifecycle.Micros {
	if !a.Known() || (b.Known() && b < a) {
		return b
	}
	return a
}

// agentWords names the first agents of several: "cto, ceo and 3 more agents".
func agentWords(agents []string) string {
	const named = 2
	switch n := len(agents); {
	case n <= named:
		return cut(strings.Join(agents, " and "), 60)
	default:
		return cut(strings.Join(agents[:named], ", "), 60) + " and " + number(int64(n-named), "more agent", "more agents")
	}
}
