package query

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"fleetglass/alerts"
	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

const (
	deathsAge = 5 * time.Second // How long the deaths by cause are shared.
	usualDay  = 24 * time.Hour  // How far back it is looked how many usually die of a cause.
	usualLow  = time.Hour       // How much of that day must have been observed to say so.
	waveSteps = int(usualDay / alerts.IncidentSpan)
	unlooked  = 15 * time.Second // How old a death without a detail must be to count: the rules are applied within seconds, and may find one.
)

// cause is why messages died: their detail, or where they have none the fingerprint of their reason.
type cause struct{ detail, fingerprint string }

func (c cause) name() string { return cmp.Or(c.detail, c.fingerprint) }

// filter selects its entries of a span. Messages that no consumer takes have no part in it.
func (c cause) filter(from, to lifecycle.Micros) dlqtriage.EntryFilter {
	f := dyingIn(from, to)
	f.Details = []string{c.detail}
	if c.detail == "" {
		f.Details, f.Fingerprints = []string{dlqtriage.Empty}, []string{c.fingerprint}
	}
	return f
}

// dyingIn selects the entries of a span whose message a consumer took. To is zero for no bound.
func dyingIn(from, to lifecycle.Micros) dlqtriage.EntryFilter {
	return dlqtriage.EntryFilter{From: from, To: to, Not: dlqtriage.EntryExclusion{Paths: []dlqtriage.Path{dlqtriage.PathFilterRejected}}}
}

// detailed selects the entries since an instant of which it is known why their message died.
func detailed(from lifecycle.Micros) dlqtriage.EntryFilter {
	f := dyingIn(from, 0)
	f.Not.Details = []string{dlqtriage.Empty}
	return f
}

// undetailed selects the others of a span.
func undetailed(from, to lifecycle.Micros) dlqtriage.EntryFilter {
	f := dyingIn(from, to)
	f.Details = []string{dlqtriage.Empty}
	return f
}

// gatherDeaths adds how many died lately, by cause. Where no dead letters are kept there is nothing to say.
func (s *Service) gatherDeaths(ctx context.Context, _ FleetSnapshot, f *alerts.Facts) (err error) {
	f.Deaths, err = ask(ctx, s.cache, "deaths", deathsAge, s.deathsByCause)
	if errors.Is(err, errNoEntries) {
		return nil
	}
	return err
}

// deathsByCause counts the messages that died in the last [alerts.IncidentSpan] by cause, those with most first.
func (s *Service) deathsByCause(ctx context.Context, now lifecycle.Micros) ([]alerts.Deaths, error) {
	from := now.Add(-alerts.IncidentSpan)
	by := []dlqtriage.GroupField{dlqtriage.ByDetail, dlqtriage.ByFingerprint, dlqtriage.ByCategory, dlqtriage.ByAgent}
	groups, err := s.cfg.Entries.EntryGroups(ctx, detailed(from), by, now, maxGroups)
	if err != nil {
		return nil, err
	}
	others, err := s.cfg.Entries.EntryGroups(ctx, undetailed(from, now.Add(-unlooked)), by, now, maxGroups)
	if groups = append(groups, others...); err != nil || len(groups) == 0 {
		return nil, err
	}
	found := map[cause]*alerts.Deaths{}
	for _, g := range groups {
		c := cause{detail: g.Values[0]}
		if c.detail == "" {
			c.fingerprint = g.Values[1]
		}
		d := found[c]
		if d == nil {
			d = &alerts.Deaths{Cause: c.name(), Category: g.Values[2], Usual: -1}
			found[c] = d
		}
		d.Recent += g.Count
		d.Agents = append(d.Agents, g.Values[3])
	}
	flow, err := s.agentFlow(ctx, now, alerts.IncidentSpan)
	if err != nil {
		return nil, err
	}
	seen, err := s.FirstSeen(ctx)
	if err != nil {
		return nil, err
	}
	for c, d := range found {
		slices.Sort(d.Agents)
		d.Agents = slices.Compact(d.Agents)
		for _, agent := range d.Agents {
			d.Ended += flow[agent].Ended
		}
		if !d.Incident() {
			continue // What is usual and when it began is looked for only where it matters.
		}
		if err := s.follow(ctx, c, d, seen, now); err != nil {
			return nil, err
		}
	}
	out := make([]alerts.Deaths, 0, len(found))
	for _, d := range found {
		out = append(out, *d)
	}
	slices.SortFunc(out, func(a, b alerts.Deaths) int {
		return cmp.Or(cmp.Compare(b.Recent, a.Recent), cmp.Compare(a.Cause, b.Cause))
	})
	return out, nil
}

// follow finds out how many usually die of a cause, and since when more do. seen is when the first message was; zero where that is not known.
func (s *Service) follow(ctx context.Context, c cause, d *alerts.Deaths, seen, now lifecycle.Micros) error {
	from := now.Add(-alerts.IncidentSpan)
	day := max(seen, from.Add(-usualDay))
	if observed := from.Sub(day); seen.Known() && observed >= usualLow {
		before, err := s.cfg.Entries.CountEntries(ctx, c.filter(day, from))
		if err != nil {
			return err
		}
		d.Usual = float64(before) * float64(alerts.IncidentSpan) / float64(observed)
	}
	if !d.Incident() {
		return nil
	}
	return s.measure(ctx, c, d, now)
}

// measure finds when the wave began: back from now, the first death after a span in which no more died of it than usual.
func (s *Service) measure(ctx context.Context, c cause, d *alerts.Deaths, now lifecycle.Micros) error {
	by := []dlqtriage.GroupField{dlqtriage.ByAgent}
	since := now.Add(-alerts.IncidentSpan)
	for to, i := now+1, 0; i <= waveSteps; i++ {
		groups, err := s.cfg.Entries.EntryGroups(ctx, c.filter(to.Add(-alerts.IncidentSpan), to), by, now, maxGroups)
		if err != nil {
			return err
		}
		first, count := firstDeath(groups)
		if count == 0 || i > 0 && float64(count) <= 2*d.Usual {
			break
		}
		since, to = first, first
	}
	groups, err := s.cfg.Entries.EntryGroups(ctx, c.filter(since, 0), by, now, maxGroups)
	agents := map[string]bool{}
	for _, g := range groups {
		d.Wave.Count += g.Count
		d.Wave.Open += g.Open
		agents[g.Values[0]] = true
	}
	d.Agents = slices.Sorted(maps.Keys(agents))
	d.Wave.Since, d.Wave.Page = since, "/dlq?"+c.filter(since, 0).Values().Encode()
	return err
}

// firstDeath is when the first entry of the groups died, and how many they have.
func firstDeath(groups []dlqtriage.EntryGroup) (at lifecycle.Micros, count int64) {
	for _, g := range groups {
		if count += g.Count; !at.Known() || g.FirstAt < at {
			at = g.FirstAt
		}
	}
	return at, count
}
