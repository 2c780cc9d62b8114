package web

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

// foundOfAKind is how many agents and tasks the page of everything shows.
const foundOfAKind = 8

// search looks through pages, agents and tasks at once. The palette reads the same page.
func (w *Web) search(c *gin.Context) error {
	ctx := c.Request.Context()
	snap, err := w.snapshot(ctx)
	if err != nil {
		return err
	}
	text := strings.TrimSpace(c.Query("q"))
	p := views.SearchPage{Query: text, Groups: nearestFirst(text,
		views.FoundGroup{Name: "Pages", Found: pagesNamed(navigation(snap, w.cfg.Operations != nil), text)}, views.FoundGroup{Name: "Agents", Found: agentsNamed(snap, text)})}
	tasks, err := w.tasksFound(ctx, text)
	if p.Problem = problemWords(err); p.Problem == "" && err != nil {
		return err
	}
	p.Groups = append(p.Groups, views.FoundGroup{Name: "Tasks", Found: tasks})
	return w.render(c, frame{title: "Search", section: "search", snapshot: snap, still: true}, views.Search(p))
}

func mentions(name, text string) bool {
	return strings.Contains(strings.ToLower(name), strings.ToLower(text))
}

// distance is how far a name is from a text: the name itself, its beginning, a part of it, or only another word for it.
func distance(f views.Found, text string) int {
	name, text := strings.ToLower(f.Label), strings.ToLower(text)
	switch {
	case name == text:
		return 0
	case strings.HasPrefix(name, text):
		return 1
	case strings.Contains(name, text):
		return 2
	}
	return 3
}

// nearestFirst puts what a text names before what only has it in its name: "cto" is the agent cto rather than the page Doctor.
func nearestFirst(text string, groups ...views.FoundGroup) []views.FoundGroup {
	if text == "" {
		return groups
	}
	for i, g := range groups {
		slices.SortStableFunc(g.Found, func(a, b views.Found) int { return distance(a, text) - distance(b, text) })
		groups[i].Found = g.Found[:min(len(g.Found), foundOfAKind)]
	}
	best := func(g views.FoundGroup) int {
		if len(g.Found) == 0 {
			return 4
		}
		return distance(g.Found[0], text)
	}
	slices.SortStableFunc(groups, func(a, b views.FoundGroup) int { return best(a) - best(b) })
	return groups
}

// otherWords are what else a reader may call a page, by its address.
var otherWords = map[string]string{
	"/":               "home, needs attention",
	"/in-flight":      "leases, stale, stuck, zombies",
	openDead:          "dead letters, dead-letter queue, triage",
	"/operations":     "retries, bulk actions",
	"/reconciliation": "balance, lost messages",
	"/agents":         "workers",
	"/map":            "publishers, flow of work",
	statisticsPath:    "charts, throughput, run times, cost",
	"/capture":        "collectors, gaps, blind spans",
	"/doctor":         "broker configuration, streams, consumers",
	"/audit":          "who did what, log of decisions",
	settingsPath:      "configuration, tokens, version",
}

// unlisted are pages that the navigation does not name, each with what else it may be called.
var unlisted = []views.Found{
	{Href: "/restarts", Label: "Restarts", Note: "crashes, what was in flight"},
	{Href: "/alerts/rules", Label: "Alert rules", Note: "runbooks, severities, thresholds"},
	{Href: statsPath, Label: "DLQ statistics", Note: "dead letters, what became of them"},
	{Href: "/api/docs", Label: "API", Note: "reference, OpenAPI"},
}

// pagesNamed finds pages by their names, and by what else they may be called. Without a text it lists the navigation.
func pagesNamed(items []views.NavItem, text string) (out []views.Found) {
	for _, n := range items {
		if n.Section != "search" && (mentions(n.Label, text) || mentions(otherWords[n.Href], text)) {
			out = append(out, views.Found{Href: n.Href, Label: n.Label, Note: otherWords[n.Href]})
		}
	}
	for _, p := range unlisted {
		if text != "" && (mentions(p.Label, text) || mentions(p.Note, text)) {
			out = append(out, p)
		}
	}
	return out
}

func agentsNamed(snap *query.FleetSnapshot, text string) (out []views.Found) {
	for _, name := range snap.AgentNames {
		if text != "" && mentions(name, text) {
			out = append(out, views.Found{Href: agentAddress(name), Label: name})
		}
	}
	return out
}

// foundNote tells tasks of one title apart.
func foundNote(t lifecycle.TaskSummary) string {
	_, _, state := views.StateLook(t.State)
	return state + " · " + views.Cut(t.Agent, 32) + " · " + views.Cut(t.TaskID, 48)
}

// tasksFound are the tasks with the latest events for which the text stands, and a way to the whole list.
func (w *Web) tasksFound(ctx context.Context, text string) (out []views.Found, err error) {
	if text == "" {
		return nil, nil
	}
	filter, err := lifecycle.ParseQuery(text, w.cfg.Now())
	if err != nil {
		return nil, err
	}
	list, err := w.cfg.Query.Tasks(ctx, filter, lifecycle.Page{Limit: foundOfAKind})
	if err != nil {
		return nil, err
	}
	for _, t := range list.Rows {
		out = append(out, views.Found{Href: lifecycle.PageOfTask(t.TaskID), Label: views.TaskName(t.TaskSummary), Note: foundNote(t.TaskSummary)})
	}
	more := views.Found{Href: address("/tasks", url.Values{"q": {text}}), Label: "All tasks with “" + views.Cut(text, 60) + "”"}
	if len(out) == 0 {
		more.Note = "none matches"
	}
	return append(out, more), nil
}
