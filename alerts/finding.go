package alerts

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"fleetglass/internal/health"
	"fleetglass/lifecycle"
	"fleetglass/reconcile"
)

// Finding is one thing that needs attention now. Texts of agents in it are untrusted.
type Finding struct {
	Rule     RuleID
	Severity Severity
	Key      string // What it is about; a rule has at most one finding of a key.
	What     string // What is so, in a sentence without an end.
	Why      string // What it means.
	Next     string // What to do about it.
	Harm     Harm   // What harm it does.
	Do       Action // The one thing to do next. Its address is empty for the page of the task.
	Labels   Labels
	TaskID   string           // Empty where it is not about one task.
	Count    int64            // How many things it is about; 1 for one thing.
	Since    lifecycle.Micros // Since when; zero where that is not known.
	Deadline lifecycle.Micros // Of a lease; zero where there is none.
	Page     string           // Address of the page that shows it, without origin; empty for that of the task.
	Vision   bool             // It is about our own observation.
	Part     *health.Part     // The part of the program that it is about, if any.
	Gap      *lifecycle.Gap   // The latest gap that it is about, if any.
}

// Labels say whom it concerns. Empty ones are not known.
type Labels struct {
	Agent    string `json:"agent"`
	Stream   string `json:"stream"`
	Consumer string `json:"consumer"`
	Category string `json:"category"`
}

// Facts are what findings follow from: the fleet at one instant.
type Facts struct {
	AsOf    lifecycle.Micros
	AgentOf func(consumer string) string // Required. The agent that a consumer works for; empty where its name does not say.

	Leases        []lifecycle.Lease
	LeasesAt      lifecycle.Micros            // When they were looked for.
	Partial       bool                        // Leases may be missing.
	OldestWaiting map[string]lifecycle.Micros // By agent: when the oldest message was stored that no worker has now.
	Load          map[string]Load             // By agent: its tasks now.
	Consumers     []lifecycle.ConsumerState
	Flow          map[string]Flow  // By agent: what came and ended in the last [FlowSpan].
	Untaken       []Untaken        // Agents whose messages wait and that no consumer takes, those with most first.
	Published     map[string]int64 // Messages of today, by agent.

	States       map[lifecycle.State]int64            // Tasks.
	Oldest       map[lifecycle.State]lifecycle.Micros // When the oldest of them entered that state, where that is known.
	EntriesKnown bool                                 // The dead-letter queue was read to its end.
	Open         []OpenEntries                        // Dead-letter entries that wait for a decision, by agent.
	Deaths       []Deaths                             // What died lately, by cause.
	Causes       string                               // Why messages died, the most frequent causes first.

	Executed, Conflicts, Forged, Removed []lifecycle.TaskSummary     // Of the last day, the latest first.
	RemovedFrom                          lifecycle.Micros            // Since when Removed are told.
	RemovedCounts                        map[lifecycle.Removal]int64 // How many they are by cause, where Removed are the latest of more. At most [lifecycle.CountLimit] are counted.

	Reconciled *reconcile.Run // The newest reconciliation that is done; nil for none.
	Parts      []health.Part
	Traps      []Trap          // In the configuration of the broker.
	Gaps       []lifecycle.Gap // Those that were not repaired, the latest first.
}

// FlowSpan is how far back the pace of an agent is measured.
const FlowSpan = 15 * time.Minute

// Flow is how the queue of one agent changed in a span, as that of the last [FlowSpan].
type Flow struct {
	Grew  int64 // By how many messages; negative where it shrank.
	Ended int64 // How many messages ended, well or not.
}

// Load is how many tasks of an agent wait, and how many its workers hold.
type Load struct{ Waiting, Held int64 }

// Untaken is the waiting messages of one agent that no consumer takes.
type Untaken struct {
	Agent string
	Count int64
	More  bool // There are more than Count.
	Since lifecycle.Micros
}

// OpenEntries is the dead-letter entries of one agent that wait for a decision.
type OpenEntries struct {
	Agent string // Empty for all agents, where entries are not known one by one.
	Count int64
	Since lifecycle.Micros // When the oldest of them died; zero where that is not known.
}

// MaxFindings is how many findings one rule has at most: those that began first. Beyond it one finding says how many more there are.
const MaxFindings = 200

// Find applies the rules to the facts. Findings come in order of harm.
func Find(f *Facts, rules Rules) []Finding {
	var out []Finding
	for _, rule := range rules {
		if rule.Off {
			continue
		}
		found := rule.find(f, rule)
		for i := range found {
			found[i].complete(rule)
		}
		out = append(out, bounded(rule, found)...)
	}
	slices.SortStableFunc(out, compareFindings(f.AsOf))
	return out
}

// complete fills in what the rule says of each of its findings.
func (f *Finding) complete(r Rule) {
	f.Rule, f.Severity, f.Vision = r.ID, r.Severity, r.Vision
	f.Why, f.Next = cmp.Or(f.Why, r.Why), cmp.Or(f.Next, r.Next)
	f.Count = max(f.Count, 1)
	f.respond()
	for _, text := range []*string{&f.Key, &f.What, &f.Why, &f.Next, &f.TaskID, &f.Page, &f.Do.Page, &f.Labels.Agent, &f.Labels.Stream, &f.Labels.Consumer, &f.Labels.Category} {
		*text = strings.ToValidUTF8(*text, "\uFFFD") // Alerts are stored as JSON.
	}
}

// bounded keeps those that began first, so that the same ones stay from look to look.
func bounded(r Rule, found []Finding) []Finding {
	if len(found) <= MaxFindings {
		return found
	}
	kept := slices.Clone(found)
	slices.SortStableFunc(kept, func(a, b Finding) int { return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.Key, b.Key)) })
	kept = kept[:MaxFindings]
	rest := Finding{Key: "more", Count: int64(len(found) - MaxFindings), What: number(int64(len(found)-MaxFindings), "more such finding", "more such findings")}
	rest.complete(r)
	return append(kept, rest)
}
