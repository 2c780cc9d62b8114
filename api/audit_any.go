package api

import (
	"cmp"
	"context"
	"slices"

	"fleetglass/decision"
	"fleetglass/internal/httperr"
)

// maxAlternatives bounds in how many ways actors, actions and outcomes of one request go together: each is read by itself.
const maxAlternatives = 64

// alternatives are the filters that together select what f selects with one of the actors, one of the actions and one of the outcomes. No record is
// selected by two of them.
func alternatives(f decision.AuditFilter, actors, actions, outcomes []string) ([]decision.AuditFilter, error) {
	var out []decision.AuditFilter
	for _, actor := range oneOf(actors) {
		for _, action := range oneOf(actions) {
			for _, outcome := range oneOf(outcomes) {
				f.Actor, f.Action, f.Outcome = actor, action, outcome
				if out = append(out, f); len(out) > maxAlternatives {
					return nil, httperr.Parameter("actor", "asks for more than 64 combinations of actor, action and outcome")
				}
			}
		}
	}
	return out, nil
}

// oneOf are the different values that were given; the empty one, which selects all, where none was.
func oneOf(given []string) []string {
	out := slices.DeleteFunc(slices.Clone(given), func(value string) bool { return value == "" })
	slices.Sort(out)
	if out = slices.Compact(out); len(out) == 0 {
		return []string{""}
	}
	return out
}

// auditAny is one page of what any of the filters selects, and the place where it goes on.
func (a *API) auditAny(ctx context.Context, filters []decision.AuditFilter, from *decision.AuditCursor, limit int) ([]decision.AuditRecord, *decision.AuditCursor, error) {
	if len(filters) == 1 {
		return a.cfg.Audit.Audit(ctx, filters[0], from, limit)
	}
	begin, _ := filters[0].Reading(from)
	var found []decision.AuditRecord
	for _, f := range filters {
		records, _, err := a.cfg.Audit.Audit(ctx, f, from, limit+1)
		if err != nil {
			return nil, nil, err
		}
		found = append(found, records...)
	}
	slices.SortFunc(found, func(x, y decision.AuditRecord) int {
		newestFirst := cmp.Or(cmp.Compare(y.At, x.At), cmp.Compare(y.ID, x.ID))
		if begin.Newer {
			return -newestFirst
		}
		return newestFirst
	})
	page, next := begin.Page(found, limit)
	return page, next, nil
}

// auditUpTo is as many records as are asked for, however many that are, and the place where it goes on.
func (a *API) auditUpTo(ctx context.Context, filters []decision.AuditFilter, from *decision.AuditCursor, limit int) (found []decision.AuditRecord, next *decision.AuditCursor, err error) {
	const atOnce = 1000
	for {
		var records []decision.AuditRecord
		if records, next, err = a.auditAny(ctx, filters, from, min(limit-len(found), atOnce)); err != nil {
			return nil, nil, err
		}
		if found, from = append(found, records...), next; next == nil || len(found) >= limit {
			return found, next, nil
		}
	}
}
