package web

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"fleetglass/dlqtriage"
	"fleetglass/fleet"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

// emptyFleet says why nothing at all is known. Its kind is empty where tasks are.
func (w *Web) emptyFleet(snap *query.FleetSnapshot) views.EmptyState {
	switch down := downParts(w.health()); {
	case snap.Counts.Total() > 0:
		return views.EmptyState{}
	case len(health.Lacking(w.health())) > 0:
		return w.emptyUnprovisioned(down)
	case down != "":
		return views.EmptyState{Kind: "down", Say: "Nothing can be seen: " + down + ".", Why: "What crosses the broker now is read once it is back, as far as the capture streams keep it.",
			Links: []views.Chip{{Href: "/capture", Label: "Capture"}}}
	case snap.Deleted:
		return views.EmptyState{Kind: "healthy", Say: "No task is kept.", Why: "Finished tasks are deleted after --retention, and none came since. The statistics still count them."}
	}
	return w.emptyNew()
}

// emptyList says why a list is empty: four different things.
func (w *Web) emptyList(ctx context.Context, q listQuery, lp listPage, snap *query.FleetSnapshot, counts query.StateCounts, list query.TaskList) (views.EmptyState, error) {
	if nothing := w.emptyFleet(snap); nothing.Kind != "" {
		return nothing, nil
	}
	switch {
	case list.Next != nil:
		return searchOn(q, list), nil
	case onlyTrouble(q) && downParts(w.health()) == "":
		return views.EmptyState{Kind: "healthy", Say: "All healthy: no task is " + stateWords(q.filter.States) + ".",
			Why:   fmt.Sprintf("%s tasks checked just now; %s", views.Count(snap.Counts.Total()), captureWords(w.health())),
			Links: []views.Chip{{Href: "/tasks", Label: "All tasks"}}}, nil
	case !q.first():
		return views.EmptyState{Kind: "nomatch", Say: "There are no rows beyond this point.", Links: []views.Chip{{Href: q.with("cursor"), Label: "First page"}}}, nil
	}
	return w.noMatch(ctx, q, lp, snap, counts)
}

// searchOn is a page on which nothing was found before as many rows were looked through as one page may cost.
func searchOn(q listQuery, list query.TaskList) views.EmptyState {
	return views.EmptyState{
		Kind: "nomatch", Say: "Nothing found so far. Not all tasks were looked at.",
		Why:   "The search stopped at " + list.Next.At.Time().Format("2006-01-02 15:04:05 MST") + ", in the order of the list. What comes after was not looked at yet.",
		Links: []views.Chip{{Href: q.at(list.Next, false), Label: "Search on"}, {Href: q.path, Label: "Clear filters"}},
	}
}

// noMatch says what was looked at in vain, and offers the list without what leaves out most.
func (w *Web) noMatch(ctx context.Context, q listQuery, lp listPage, snap *query.FleetSnapshot, counts query.StateCounts) (views.EmptyState, error) {
	out := views.EmptyState{Kind: "nomatch", Say: "No task matches " + q.words() + ".", Why: lookedAt(q.filter, snap)}
	offer, err := loosened(ctx, q.path, conditions(lifecycle.TaskGrammar(), q.values), false, w.loosen(q, lp.states))
	if err != nil {
		return out, err
	}
	var links []views.Chip
	if other := counts.Total(); other > 0 && len(q.filter.States) > 0 {
		out.Why = fmt.Sprintf("%s in other states.", views.Count(other)+" "+views.Plural(other, "matches", "match"))
		links = append(links, views.Chip{Href: q.with("state"), Label: "All states"})
	}
	if q.values.Get("from") != "" || q.values.Get("to") != "" {
		v := maps.Clone(q.values)
		delete(v, "from")
		delete(v, "to")
		links = append(links, views.Chip{Href: address(q.path, v), Label: "Any time"})
	}
	if len(q.filter.Messages) > 0 {
		v := url.Values{"q": {lifecycle.Filter{Words: q.filter.Messages}.Query()}}
		links = append(links, views.Chip{Href: address(q.path, v), Label: "Search as text"})
	}
	for _, o := range offer {
		if !slices.ContainsFunc(links, func(l views.Chip) bool { return l.Href == o.Href }) {
			links = append([]views.Chip{o}, links...)
		}
	}
	dead, err := w.deadWith(ctx, q.filter.Words)
	if err != nil {
		return out, err
	}
	out.Links = append(append(links, dead...), views.Chip{Href: q.path, Label: "Clear filters"})
	return out, nil
}

// deadWith offers the dead letters that have the words of a search. A task that completed after a retry has no reason any more; its dead letter keeps it.
func (w *Web) deadWith(ctx context.Context, words []string) ([]views.Chip, error) {
	if len(words) == 0 {
		return nil, nil
	}
	n, err := w.cfg.Query.CountEntries(ctx, dlqtriage.EntryFilter{Words: words})
	if err != nil || n == 0 {
		return nil, err
	}
	v := url.Values{"q": {lifecycle.Filter{Words: words}.Query()}}
	return []views.Chip{{Href: address("/dlq", v), Label: "In the DLQ: " + counted(n, "message", "messages")}}, nil
}

// words are what the list asks for, as it was typed. A span that the reader chose by its name keeps it.
func (q listQuery) words() string {
	f, typed, span := q.filter, "", ""
	if text := strings.Join(q.values["q"], " "); text != "" {
		rest := maps.Clone(q.values)
		delete(rest, "q")
		if chosen, err := lifecycle.ParseFilter(rest, q.now.Time()); err == nil {
			f, typed = chosen, text+" "
		}
	}
	for _, r := range ranges {
		if r.value != "" && r.value == q.values.Get("from") && !f.To.Known() {
			f.From, span = 0, " in the "+strings.ToLower(r.label)
		}
	}
	return strings.TrimSpace(views.Cut(strings.TrimSpace(typed+f.Query()), 120) + span)
}

// lookedAt says where a search for words looked.
func lookedAt(f lifecycle.Filter, snap *query.FleetSnapshot) string {
	stored := views.Count(snap.Counts.Total()) + " stored " + views.Plural(snap.Counts.Total(), "task", "tasks")
	switch {
	case len(f.Words) > 0:
		return "Looked at task ids, message ids, titles and current reasons of the " + stored + ". Bodies, events and earlier reasons were not searched."
	case len(f.Messages) > 0:
		return "Looked at the messages of the " + stored + " by stream and sequence."
	}
	return ""
}

// emptyUnprovisioned says how to make the streams that the broker lacks.
func (w *Web) emptyUnprovisioned(down string) views.EmptyState {
	provision := "fleetglass provision"
	if w.cfg.Server != "" {
		provision += " --nats-url " + w.cfg.Server
	}
	return views.EmptyState{
		Kind: "down", Say: "Nothing can be seen: " + down + ".",
		Why:     "Fleetglass makes no stream on a broker of yours by itself. The first command shows what it would make, the second makes it. Use the settings of this server.",
		Command: provision + "\n" + provision + " --apply", Links: []views.Chip{{Href: "/doctor", Label: "Doctor"}, {Href: "/capture", Label: "Capture"}},
	}
}

func (w *Web) emptyNew() views.EmptyState {
	server := ""
	if w.cfg.Server != "" {
		server = "--server " + w.cfg.Server + " "
	}
	return views.EmptyState{
		Kind: "new", Say: "Listening. Nothing has crossed the task stream yet.",
		Why:     "Publish a task to this broker, or point your agents at it: it appears here within a second. To look around first, stop this server and start it with the demonstration fleet.",
		Command: "nats " + server + "pub " + fleet.NewContract(w.cfg.Prefix).TaskSubject("cto", "code_review") + " '{\"taskId\":\"hello-1\",\"type\":\"code_review\"}'\n# or\nfleetglass --demo",
	}
}

// onlyTrouble reports whether the list asks for bad states and nothing else: finding none is good news then.
func onlyTrouble(q listQuery) bool {
	if len(q.filter.States) == 0 || !q.first() {
		return false
	}
	for name := range q.values {
		if name != "state" && name != "sort" {
			return false
		}
	}
	for _, s := range q.filter.States {
		if !s.Trouble() {
			return false
		}
	}
	return true
}

func stateWords(states []lifecycle.State) string {
	var words []string
	for _, s := range states {
		_, _, word := views.StateLook(s)
		words = append(words, word)
	}
	return strings.Join(words, " or ")
}

// downParts says in one clause what is down; empty for nothing. Streams that do not exist are the cause of what else is down.
func downParts(parts []health.Part) string {
	if lacks := health.Lacking(parts); len(lacks) > 0 {
		return health.LackWords(lacks)
	}
	for _, p := range parts {
		if p.State == health.Down {
			return p.DownWords()
		}
	}
	return ""
}

func captureWords(parts []health.Part) string {
	if len(parts) == 0 {
		return "but no collector reports to these pages."
	}
	if down := downParts(parts); down != "" {
		return "but " + down + ": what happened since may not be seen."
	}
	for _, p := range parts {
		if p.State == health.Behind || p.State == health.Starting {
			return "but collector " + p.Name + " has not caught up yet."
		}
	}
	return "every collector is up to date."
}
