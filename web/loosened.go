package web

import (
	"context"
	"slices"

	"fleetglass/lifecycle"
	"fleetglass/views"
)

// mostLoosened is how many conditions are tried: each costs a count.
const mostLoosened = 6

// loosened offers an empty list without the one condition that leaves out most, with what there is then; nothing where no single condition does it.
func loosened(ctx context.Context, path string, all []condition, deadLetters bool, count func(context.Context, condition) (n int64, text string, err error)) ([]views.Chip, error) {
	all = slices.DeleteFunc(all, func(c condition) bool { return c.Field == "sort" })
	if len(all) < 2 || len(all) > mostLoosened {
		return nil, nil
	}
	var best views.Chip
	most := int64(0)
	for _, c := range all {
		n, text, err := count(ctx, c)
		if err != nil {
			return nil, err
		}
		if n > most {
			most = n
			best = views.Chip{Href: address(path, c.rest), Label: "Without: " + views.QueryWords(c.QueryTerm, deadLetters) + " (" + text + ")"}
		}
	}
	if most == 0 {
		return nil, nil
	}
	return []views.Chip{best}, nil
}

// loosen counts the tasks of a list without a condition.
func (w *Web) loosen(q listQuery, states []lifecycle.State) func(context.Context, condition) (int64, string, error) {
	return func(ctx context.Context, c condition) (int64, string, error) {
		filter, err := lifecycle.ParseFilter(c.rest, q.now.Time())
		if err != nil {
			return 0, "", nil // The rest alone cannot be read: it is no offer.
		}
		counts, err := w.cfg.Query.Counts(ctx, filter)
		if err != nil {
			return 0, "", err
		}
		if len(filter.States) > 0 {
			states = filter.States
		}
		n := counts.Of(states...)
		return n, atLeast(n, counts.Capped) + " " + views.Plural(n, "task", "tasks"), nil
	}
}
