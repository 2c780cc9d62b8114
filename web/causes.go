package web

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

// causesSpan is how far back the overview asks why messages died.
const causesSpan = 24 * time.Hour

// causes are why messages died, by the text of the reason, the most frequent first. Each leads to exactly the dead letters that it counts.
func (w *Web) causes(ctx context.Context, asOf lifecycle.Micros) (out []views.Cause, note string, err error) {
	lately := dlqtriage.EntryFilter{From: lifecycle.MicrosOf(asOf.Time().Add(-causesSpan).Truncate(time.Minute))}
	by := []dlqtriage.GroupField{dlqtriage.ByFingerprint, dlqtriage.ByDetail, dlqtriage.ByCategory}
	groups, more, err := w.cfg.Query.EntryGroups(ctx, lately, by)
	if errors.Is(err, lifecycle.ErrUnable) { // No dead letters are kept.
		return nil, "", nil
	}
	for _, g := range groups[:min(len(groups), causeRows)] {
		share := float64(g.Count) / float64(groups[0].Count)
		out = append(out, views.Cause{Name: causeName(g.Values[0], g.Values[1]), Category: dlqtriage.Category(g.Values[2]), Href: address("/dlq", g.Filter(by, lately).Values()), Count: g.Count, Share: share})
	}
	if more || len(groups) > causeRows {
		return out, fmt.Sprintf("24 h, the %d most frequent reasons", causeRows), err
	}
	return out, "24 h, by reason", err
}

// causeName is a reason, or what it was classified as where nobody gave one.
func causeName(fingerprint, detail string) string {
	if fingerprint == dlqtriage.NoReason && detail != "" {
		return detail
	}
	return fingerprint
}

func stateCounts(counts query.StateCounts, base url.Values) []views.StateCount {
	var out []views.StateCount
	for _, s := range lifecycle.States() {
		if counts.Of(s) == 0 {
			continue
		}
		v := url.Values{"state": {string(s)}}
		for name, values := range base {
			v[name] = values
		}
		out = append(out, views.StateCount{State: s, Href: address("/tasks", v), Count: counts.Of(s)})
	}
	return out
}
