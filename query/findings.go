package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fleetglass/alerts"
	"fleetglass/dlqtriage"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

const (
	findingsAge   = 500 * time.Millisecond // How long findings are shared.
	untakenSample = 200                    // How many of the oldest messages without a consumer are counted by agent.
	untakenAge    = 5 * time.Second        // How long that is shared.
	ledgerAge     = 5 * time.Second        // How long the tasks of the ledger are.
	ledgerSample  = 200                    // How many tasks with the same finding of the ledger are looked at, the latest.
	trapsPatience = time.Second            // How long the doctor is waited for; it goes on without the one who asked.
	recentTasks   = 24 * time.Hour         // How far back they are looked for.
)

// Findings is what needs attention now (SPEC 6): one set, from which pages, banners, badges, metrics and the board of alerts are drawn.
type Findings struct {
	AsOf     lifecycle.Micros
	DataAt   lifecycle.Micros // What they follow from is at least as new.
	LeasesAt lifecycle.Micros // Likewise, of those about leases.
	All      []alerts.Finding // In order of harm.
	Partial  bool             // Leases may be missing.
	Unasked  bool             // The doctor did not get an answer, so that its findings are missing.

	unjudged map[string]bool // As [alerts.Unjudged].
}

// Attention is what somebody should look at in the fleet: many findings of one rule are one.
func (f Findings) Attention() []alerts.Finding { return alerts.Attention(f.Fleet(), f.AsOf) }

// Fleet are the findings about the fleet.
func (f Findings) Fleet() []alerts.Finding {
	return slices.DeleteFunc(slices.Clone(f.All), func(found alerts.Finding) bool { return found.Vision })
}

// Findings applies the rules in force to the fleet as it is now.
func (s *Service) Findings(ctx context.Context) (Findings, error) {
	return ask(ctx, s.cache, "findings", findingsAge, func(ctx context.Context, now lifecycle.Micros) (Findings, error) {
		facts, err := s.facts(ctx, now)
		if err != nil {
			return Findings{}, err
		}
		var unasked bool
		if facts.Traps, err = s.traps(ctx); err != nil {
			unasked = true
		}
		return Findings{
			AsOf: now, DataAt: min(facts.LeasesAt, now.Add(-max(ledgerAge, untakenAge))), LeasesAt: facts.LeasesAt,
			All: alerts.Find(&facts, s.cfg.Rules()), Partial: facts.Partial, Unasked: unasked,
			unjudged: alerts.Unjudged(facts.Leases),
		}, nil
	})
}

// traps asks the doctor, where there is one.
func (s *Service) traps(ctx context.Context) ([]alerts.Trap, error) {
	if s.cfg.Traps == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, trapsPatience)
	defer cancel()
	return s.cfg.Traps(ctx)
}

// Observed is one look at what needs attention, for who moves the board of alerts.
func (s *Service) Observed(ctx context.Context) (alerts.Observed, error) {
	f, err := s.Findings(ctx)
	out := alerts.Observed{At: f.AsOf, DataAt: f.DataAt, LeasesAt: f.LeasesAt, Findings: f.All}
	out.Unsure = func(id alerts.RuleID, key string) bool {
		return (f.Partial || f.unjudged[key]) && alerts.LeaseRules(id) || f.Unasked && alerts.TrapRules(id)
	}
	return out, err
}

// Vision is what may be missing from every answer: parts that are down, collectors that are behind, open gaps. It asks no store, so that it is
// known when the store does not answer.
func (s *Service) Vision(snapshot FleetSnapshot) []alerts.Finding {
	facts := alerts.Facts{AsOf: s.now(), AgentOf: s.cfg.AgentOf, Parts: s.Parts(), Gaps: OpenGaps(snapshot.Gaps)}
	return slices.DeleteFunc(alerts.Find(&facts, s.cfg.Rules()), func(f alerts.Finding) bool { return !f.Vision })
}

// facts gathers what findings follow from.
func (s *Service) facts(ctx context.Context, now lifecycle.Micros) (alerts.Facts, error) {
	snapshot, err := s.Snapshot(ctx)
	if err != nil {
		return alerts.Facts{}, err
	}
	f := alerts.Facts{
		AsOf: now, AgentOf: s.cfg.AgentOf, Leases: snapshot.InFlight.Leases, LeasesAt: min(snapshot.AsOf, snapshot.InFlight.AsOf), Partial: snapshot.InFlight.Partial, OldestWaiting: snapshot.InFlight.OldestWaiting,
		Consumers: snapshot.Consumers.All, EntriesKnown: s.EntriesRead().Known(), Reconciled: snapshot.Reconciled, Parts: s.Parts(), Gaps: OpenGaps(snapshot.Gaps),
		Published: map[string]int64{}, States: map[lifecycle.State]int64{}, Oldest: map[lifecycle.State]lifecycle.Micros{},
	}
	for _, gather := range []func(context.Context, FleetSnapshot, *alerts.Facts) error{s.gatherDead, s.gatherDeaths, s.gatherWaiting, s.gatherLedger} {
		if err := gather(ctx, snapshot, &f); err != nil {
			return f, err
		}
	}
	return f, nil
}

// gatherDead adds what died: how many, since when, why, and which entries wait for a decision.
func (s *Service) gatherDead(ctx context.Context, snapshot FleetSnapshot, f *alerts.Facts) error {
	dead, err := s.Dead(ctx)
	if err != nil {
		return err
	}
	for _, state := range lifecycle.States() {
		f.States[state] = snapshot.Counts.Of(state)
		if at := dead.Oldest(state); at.Known() && !dead.More {
			f.Oldest[state] = at
		}
	}
	f.Causes = causeWords(dead.Causes())
	if snapshot.Counts.That(lifecycle.State.Dead) == 0 {
		return nil
	}
	open := dlqtriage.EntryFilter{Statuses: []dlqtriage.Status{dlqtriage.StatusOpen}}
	groups, _, err := s.EntryGroups(ctx, open, []dlqtriage.GroupField{dlqtriage.ByAgent})
	if errors.Is(err, errNoEntries) {
		if n := f.States[lifecycle.StateDeadLettered]; n > 0 {
			f.Open = []alerts.OpenEntries{{Count: n, Since: f.Oldest[lifecycle.StateDeadLettered]}}
		}
		return nil
	}
	for _, g := range groups {
		f.Open = append(f.Open, alerts.OpenEntries{Agent: g.Values[0], Count: g.Count, Since: g.FirstAt})
	}
	return err
}

// causeWords names the most frequent causes, for people.
func causeWords(causes []Cause) string {
	var out []string
	for _, c := range causes[:min(len(causes), 3)] {
		out = append(out, fmt.Sprintf("%s %d", strings.ReplaceAll(c.Name, "_", " "), c.Count))
	}
	return strings.Join(out, ", ")
}

// gatherWaiting adds what waits for nobody.
func (s *Service) gatherWaiting(ctx context.Context, _ FleetSnapshot, f *alerts.Facts) (err error) {
	if f.Untaken, err = s.untaken(ctx); err != nil {
		return err
	}
	today, err := s.Today(ctx)
	for cell, n := range today.Tally {
		if cell.Metric == lifecycle.MetricPublished {
			f.Published[cell.Agent] += n
		}
	}
	if err != nil {
		return err
	}
	if f.Flow, err = ask(ctx, s.cache, "flow", todayAge, s.recentFlow); err != nil {
		return err
	}
	f.Load, err = s.loads(ctx)
	return err
}

// loads is how many tasks of each agent wait, and how many its workers hold.
func (s *Service) loads(ctx context.Context) (map[string]alerts.Load, error) {
	tally, err := s.load(ctx)
	out := map[string]alerts.Load{}
	for cell, n := range tally {
		if cell.Metric != lifecycle.MetricState {
			continue
		}
		load, state := out[cell.Agent], lifecycle.State(cell.Label)
		if state == lifecycle.StatePublished {
			load.Waiting += n
		}
		if state.InFlight() {
			load.Held += n
		}
		out[cell.Agent] = load
	}
	return out, err
}

// recentFlow is what came and ended in the last [alerts.FlowSpan], by agent.
func (s *Service) recentFlow(ctx context.Context, now lifecycle.Micros) (map[string]alerts.Flow, error) {
	return s.agentFlow(ctx, now, alerts.FlowSpan)
}

// agentFlow is what came and ended in a span that ends now, by agent.
func (s *Service) agentFlow(ctx context.Context, now lifecycle.Micros, span time.Duration) (map[string]alerts.Flow, error) {
	cells, err := s.cfg.Store.Rollups(ctx, []lifecycle.Metric{lifecycle.MetricPublishedMin, lifecycle.MetricQueueMin}, now.Add(-span), now+1, true)
	out := map[string]alerts.Flow{}
	for cell, n := range cells {
		flow := out[cell.Agent]
		if cell.Metric == lifecycle.MetricQueueMin {
			flow.Grew, flow.Ended = flow.Grew+n, flow.Ended-n
		} else {
			flow.Ended += n // What came and did not stay ended.
		}
		out[cell.Agent] = flow
	}
	return out, err
}

// untaken finds the agents whose messages no consumer takes, those with most messages first.
func (s *Service) untaken(ctx context.Context) ([]alerts.Untaken, error) {
	return ask(ctx, s.cache, "untaken", untakenAge, func(ctx context.Context, _ lifecycle.Micros) ([]alerts.Untaken, error) {
		page, err := s.cfg.Store.ListTasks(ctx, alerts.UntakenTasks(), lifecycle.Page{Limit: untakenSample})
		if err != nil {
			return nil, err
		}
		byAgent := map[string]*alerts.Untaken{}
		for _, t := range page.Tasks { // The oldest first.
			u := byAgent[t.Agent]
			if u == nil {
				u = &alerts.Untaken{Agent: t.Agent, Since: t.PublishedAt, More: page.Next != nil}
				byAgent[t.Agent] = u
			}
			u.Count++
		}
		out := make([]alerts.Untaken, 0, len(byAgent))
		for _, u := range byAgent {
			out = append(out, *u)
		}
		slices.SortFunc(out, func(a, b alerts.Untaken) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Agent, b.Agent))
		})
		return out, nil
	})
}

// ledgerTasks are tasks of the last day with something surprising, the latest first.
type ledgerTasks struct {
	executed, conflicts, forged, removed []lifecycle.TaskSummary

	removedFrom   lifecycle.Micros
	removedCounts map[lifecycle.Removal]int64 // Nil where removed are all.
}

// gatherLedger adds the tasks whose story contradicts what a fleet promises.
func (s *Service) gatherLedger(ctx context.Context, _ FleetSnapshot, f *alerts.Facts) error {
	found, err := ask(ctx, s.cache, "ledger tasks", ledgerAge, s.ledgerTasks)
	f.Executed, f.Conflicts, f.Forged, f.Removed = found.executed, found.conflicts, found.forged, found.removed
	f.RemovedFrom, f.RemovedCounts = found.removedFrom, found.removedCounts
	return err
}

func (s *Service) ledgerTasks(ctx context.Context, now lifecycle.Micros) (out ledgerTasks, err error) {
	out.removedFrom = now.Add(-recentTasks).Truncate(time.Hour) // A list of them has the same address for a while.
	for _, part := range []struct {
		to     *[]lifecycle.TaskSummary
		filter lifecycle.Filter
	}{
		{&out.executed, lifecycle.CasesFilter(lifecycle.LayerExecution)},
		{&out.conflicts, lifecycle.CasesFilter(lifecycle.LayerConflict)},
		{&out.forged, alerts.ForgedTasks()},
		{&out.removed, lifecycle.Filter{States: []lifecycle.State{lifecycle.StateRemoved}, Sort: lifecycle.SortLastEventDesc}},
	} {
		part.filter.From = out.removedFrom
		page, err := s.cfg.Store.ListTasks(ctx, part.filter, lifecycle.Page{Limit: ledgerSample})
		if err != nil {
			return out, err
		}
		*part.to = page.Tasks
	}
	if len(out.removed) == ledgerSample {
		out.removedCounts, err = s.removedCounts(ctx, out.removedFrom)
	}
	return out, err
}

// removedCounts counts by cause what the stream itself dropped: what an operator deletes is a decision.
func (s *Service) removedCounts(ctx context.Context, from lifecycle.Micros) (map[lifecycle.Removal]int64, error) {
	out := map[lifecycle.Removal]int64{}
	for _, cause := range alerts.RemovedByItself() {
		counts, _, err := s.cfg.Store.CountTasks(ctx, alerts.RemovedTasks(cause, from))
		if err != nil {
			return nil, err
		}
		out[cause] = counts[lifecycle.StateRemoved]
	}
	return out, nil
}

// Parts says how the parts of the program are.
func (s *Service) Parts() []health.Part {
	if s.cfg.Health == nil {
		return nil
	}
	return s.cfg.Health.Health()
}
