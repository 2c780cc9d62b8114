package web

import (
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"fleetglass/lifecycle"
	"fleetglass/views"
)

// missing says what is not there and why that may be, with a way on.
func missing(c *gin.Context, p *views.ProblemPage) {
	switch c.FullPath() {
	case "/tasks/*id":
		missingTask(p, rest(c, "/tasks/"))
	case "/task":
		missingTask(p, c.Query("id"))
	case "/payload":
		p.Title, p.Detail = "No such payload", "No body of the message "+quoted(c.Query("message"))+" is stored."
		p.Reasons = []string{
			"Finished tasks are deleted after the retention, their payloads with them (--retention).",
			"With --headers-only no body is captured.",
			"The message may have been published while Fleetglass was not observing.",
		}
	case "/agents/*agent":
		p.Title, p.Detail = "No such agent", "No agent of the name "+quoted(rest(c, "/agents/"))+" is known."
		p.Reasons = []string{
			"The name may be mistyped. It is the part of a task's subject behind “agents.”.",
			"Neither a task for it nor a consumer of it was seen.",
			"What was known of it may be past the retention (--retention).",
		}
		p.All = &views.Chip{Href: "/agents", Label: "All agents"}
	case "/reconciliation":
		p.Title, p.Detail = "No such reconciliation", "No reconciliation with the id "+quoted(c.Query("id"))+" is stored."
		p.Reasons = []string{"The link may be cut off or mistyped.", "Only the newest 500 reports are kept."}
	case "/dlq/*id":
		missingMessage(p, "dead letter", rest(c, "/dlq/"))
	case "/in-flight/*id":
		missingMessage(p, "message", rest(c, heldPrefix))
	case "":
		p.Title, p.Detail = "No such page", "Fleetglass has no page at this address."
		p.Reasons = []string{"The link may be cut off or mistyped.", "The link may come from another version of Fleetglass."}
	default:
		p.Reasons = []string{"The link may be cut off or mistyped.", "What it names may be past the retention (--retention)."}
	}
}

func missingTask(p *views.ProblemPage, id string) {
	if id == "" {
		p.Title, p.Detail, p.Reasons = "No such task", "The address names no task.", []string{"The link may be cut off."}
		return
	}
	p.Title, p.Detail = "No such task", "No task with the id "+quoted(id)+" is stored."
	p.Reasons = []string{
		"The id may be cut off or mistyped. A search finds ids by their beginning.",
		"The task may be past the retention: finished tasks are deleted then (--retention).",
		"It may have been published while Fleetglass was not observing it: look for a gap at Capture.",
		"It may belong to another broker, stream or prefix. This server observes only one fleet.",
	}
	p.Search = address("/tasks", url.Values{"q": {lifecycle.Filter{Words: []string{id}}.Query()}})
}

func missingMessage(p *views.ProblemPage, what, id string) {
	p.Title, p.Detail = "No such "+what, "No "+what+" is known as "+quoted(id)+"."
	p.Reasons = []string{
		"The id may be cut off or mistyped. It names stream and sequence, such as TASKS:255.",
		"Its task may be past the retention: finished tasks are deleted then (--retention).",
	}
	p.Search = address("/search", url.Values{"q": {id}})
}

// lists are the pages to which a problem below them leads back.
var lists = []views.Chip{
	{Href: "/dlq", Label: "DLQ"}, {Href: "/in-flight", Label: "In flight"}, {Href: "/operations", Label: "Operations"}, {Href: "/alerts", Label: "Alerts"}, {Href: "/audit", Label: "Audit"},
}

// listAbove is the list to which an address belongs; nil for that of the tasks.
func listAbove(path string) *views.Chip {
	for i, l := range lists {
		if path == l.Href || strings.HasPrefix(path, l.Href+"/") {
			return &lists[i]
		}
	}
	return nil
}

// quoted is text of the reader's own address, short enough for a sentence.
func quoted(s string) string { return "“" + views.Cut(s, 120) + "”" }
