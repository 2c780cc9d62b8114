package query

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"fleetglass/dlqtriage"
)

// maxDeathReasons is how many reasons a history tells apart; the rest is one.
const maxDeathReasons = 6

// DeathHistory is why messages died, over time.
type DeathHistory struct {
	Known   bool          // Dead letters are read here.
	Reasons []DeathReason // The most frequent first; the last may stand for all others.
}

// DeathReason is the messages that died for one reason.
type DeathReason struct {
	Category string
	Detail   string
	Others   bool // It stands for all reasons that are not listed.
	Total    int64
	Steps    []int64 // In the steps of the history.
}

// deaths counts the messages that died, by category and detail.
func (s *Service) deaths(ctx context.Context, span HistorySpan, agent string) (DeathHistory, error) {
	found := map[[2]string]*DeathReason{}
	err := s.cfg.Entries.EachFate(ctx, span.From, span.To, func(f dlqtriage.Fate) {
		i, inside := span.step(f.FailedAt)
		if !inside || (agent != "" && f.Agent != agent) {
			return
		}
		key := [2]string{string(f.Category), f.Detail}
		if found[key] == nil {
			found[key] = &DeathReason{Category: key[0], Detail: key[1], Steps: make([]int64, span.Steps())}
		}
		found[key].Total++
		found[key].Steps[i]++
	})
	if errors.Is(err, errNoEntries) {
		return DeathHistory{}, nil
	}
	out := DeathHistory{Known: true}
	for _, r := range found {
		out.Reasons = append(out.Reasons, *r)
	}
	slices.SortFunc(out.Reasons, func(a, b DeathReason) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Category, b.Category), cmp.Compare(a.Detail, b.Detail))
	})
	out.Reasons = withOthers(out.Reasons, span.Steps())
	return out, err
}

// withOthers makes one reason of those beyond the bound.
func withOthers(reasons []DeathReason, steps int) []DeathReason {
	if len(reasons) <= maxDeathReasons {
		return reasons
	}
	rest := DeathReason{Others: true, Steps: make([]int64, steps)}
	for _, r := range reasons[maxDeathReasons-1:] {
		rest.Total += r.Total
		for i, n := range r.Steps {
			rest.Steps[i] += n
		}
	}
	return append(reasons[:maxDeathReasons-1:maxDeathReasons-1], rest)
}
