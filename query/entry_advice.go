package query

import (
	"context"
	"slices"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// EntryAdvice is what should happen with the open entries of a group, by what they say themselves and by which consumers there are. What their tasks
// say is found out when somebody acts.
type EntryAdvice struct {
	Retry   int64          // How many a retry by their plans may help.
	Untaken int64          // How many no consumer takes: a retry dies the same way until one does.
	Agents  []string       // Whose those are, sorted.
	Blocked int64          // How many no retry by their plans helps.
	Why     dlqtriage.Plan // The plan of the largest part of them.
}

const (
	maxAdviceParts   = 10_000 // How many parts of groups are looked at, the largest first.
	maxUntakenLooked = 200    // How many untaken entries are asked for their subjects.
)

// EntryAdvices says what should happen with the open entries of groups, one for each of the given groups, which [Service.EntryGroups] made by the same
// filter and fields.
func (s *Service) EntryAdvices(ctx context.Context, f dlqtriage.EntryFilter, by []dlqtriage.GroupField, groups []dlqtriage.EntryGroup) ([]EntryAdvice, error) {
	out := make([]EntryAdvice, len(groups))
	if len(f.Statuses) > 0 && !slices.Contains(f.Statuses, dlqtriage.StatusOpen) {
		return out, nil
	}
	f.Statuses = []dlqtriage.Status{dlqtriage.StatusOpen}
	key := "entry advice "
	for _, field := range by {
		key += string(field) + " "
	}
	parts, err := ask(ctx, s.cache, key+f.Values().Encode(), entriesAge, func(ctx context.Context, now lifecycle.Micros) ([]advicePart, error) {
		return s.adviceParts(ctx, f, by, now)
	})
	for i, g := range groups {
		out[i] = adviceOf(g, parts)
	}
	return out, err
}

// CountUntaken counts the entries that a filter selects and that no consumer took, as long as none takes their subject.
func (s *Service) CountUntaken(ctx context.Context, f dlqtriage.EntryFilter) (n int64, err error) {
	f.Paths = []dlqtriage.Path{dlqtriage.PathFilterRejected}
	parts, err := s.adviceParts(ctx, f, nil, s.now())
	for _, p := range parts {
		if p.plan.Untaken {
			n += p.count
		}
	}
	return n, err
}

// advicePart is entries of one group for which the same is advised.
type advicePart struct {
	values []string // Of the group.
	agent  string
	count  int64
	plan   dlqtriage.Plan
}

func (s *Service) adviceParts(ctx context.Context, f dlqtriage.EntryFilter, by []dlqtriage.GroupField, now lifecycle.Micros) ([]advicePart, error) {
	fields := append(slices.Clone(by), dlqtriage.ByPath, dlqtriage.ByCategory, dlqtriage.ByDetail, dlqtriage.ByKind, dlqtriage.ByAgent, dlqtriage.ByType)
	found, err := s.cfg.Entries.EntryGroups(ctx, f, fields, now, maxAdviceParts)
	if err != nil {
		return nil, err
	}
	samples, err := s.untakenSamples(ctx, f, found, len(by))
	if err != nil {
		return nil, err
	}
	out := make([]advicePart, len(found))
	for i, g := range found {
		v := g.Values[len(by):]
		sample := samples[[2]string{v[4], v[5]}]
		e := dlqtriage.Entry{Status: dlqtriage.StatusOpen, Path: dlqtriage.Path(v[0]), Agent: v[4], Type: v[5], Key: sample.Key, Subject: sample.Subject}
		e.Class = dlqtriage.Class{Category: dlqtriage.Category(v[1]), Detail: v[2], Kind: dlqtriage.Kind(v[3])}
		c, err := s.withTaker(ctx, dlqtriage.CaseOf(e, nil), e)
		if err != nil {
			return nil, err
		}
		out[i] = advicePart{g.Values[:len(by)], e.Agent, g.Count, s.cfg.Policy().PlanFor(c, now)}
	}
	return out, nil
}

// untakenSamples are entries that no consumer took, one for each agent and type: those have one subject.
func (s *Service) untakenSamples(ctx context.Context, f dlqtriage.EntryFilter, groups []dlqtriage.EntryGroup, path int) (map[[2]string]dlqtriage.Entry, error) {
	if !slices.ContainsFunc(groups, func(g dlqtriage.EntryGroup) bool { return g.Values[path] == string(dlqtriage.PathFilterRejected) }) {
		return nil, nil
	}
	f.Paths = []dlqtriage.Path{dlqtriage.PathFilterRejected}
	page, err := s.cfg.Entries.Entries(ctx, f, dlqtriage.EntryPageRequest{Limit: maxUntakenLooked})
	out := map[[2]string]dlqtriage.Entry{}
	for _, e := range page.Entries {
		out[[2]string{e.Agent, e.Type}] = e
	}
	return out, err
}

// adviceOf adds up the parts of a group.
func adviceOf(g dlqtriage.EntryGroup, parts []advicePart) (out EntryAdvice) {
	var most int64
	for _, p := range parts {
		switch {
		case !slices.Equal(p.values, g.Values):
		case !p.plan.Eligible:
			out.Blocked += p.count
			if p.count > most {
				most, out.Why = p.count, p.plan
			}
		case p.plan.Untaken:
			out.Untaken += p.count
			if !slices.Contains(out.Agents, p.agent) {
				out.Agents = append(out.Agents, p.agent)
			}
		default:
			out.Retry += p.count
		}
	}
	slices.Sort(out.Agents)
	return out
}

// withTaker adds to the case of an entry that no consumer took the one of its stream that takes its subject by now.
func (s *Service) withTaker(ctx context.Context, c dlqtriage.Case, e dlqtriage.Entry) (dlqtriage.Case, error) {
	if !c.Untaken || e.Subject == "" {
		return c, nil
	}
	consumers, err := s.Consumers(ctx)
	for _, k := range consumers.All {
		if sameName(k.Stream, e.Key.Stream) && !k.Gone && !k.Watches && lifecycle.MatchesAny(k.Filters, e.Subject) {
			c.Taker = k.Name
			break
		}
	}
	return c, err
}

// sameName reports whether two streams are one, or one that was created again: what is published again goes to the newest.
func sameName(a, b lifecycle.StreamID) bool {
	a.Epoch, b.Epoch = 0, 0
	return a == b
}
