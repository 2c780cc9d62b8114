package web

import (
	"fmt"
	"net/url"

	"fleetglass/dlqtriage"
	"fleetglass/query"
	"fleetglass/views"
)

// untakenSay is why messages that no consumer takes are not retried first.
const untakenSay = "until a consumer takes them, a retry dies the same way"

// offers are what can be done with the open messages of a group, which a filter selects: what its advice says comes first, and no retry where none helps.
func offers(open dlqtriage.EntryFilter, a query.EntryAdvice) (say string, out []views.GroupOffer) {
	all := a.Retry + a.Untaken + a.Blocked
	open.Statuses = []dlqtriage.Status{dlqtriage.StatusOpen}
	count := views.Count(all)
	switch {
	case a.Retry == all:
	case a.Retry > 0:
		count = views.Count(a.Retry) + " of " + count
	case a.Untaken > 0:
		say = untakenSay
	default:
		say = views.ObstacleWords(a.Why)
	}
	if a.Retry > 0 {
		retry := open
		if a.Untaken > 0 && len(open.Paths) == 0 {
			retry.Not.Paths = append([]dlqtriage.Path{dlqtriage.PathFilterRejected}, retry.Not.Paths...)
		}
		out = append(out, bulkOffer(dlqtriage.ActionRetry, retry, "", count))
	}
	if a.Untaken > 0 {
		out = append(out, startOffer(a.Agents))
	}
	if all > 0 && a.Retry == 0 {
		out = append(out, bulkOffer(dlqtriage.ActionReassign, open, a.Why.TargetAgent, count))
	}
	return say, out
}

// startOffer leads to the agents whose messages no consumer takes.
func startOffer(agents []string) views.GroupOffer {
	if len(agents) == 1 && agents[0] != "" {
		return views.GroupOffer{Href: agentAddress(agents[0]), Icon: "agents", Label: "Start " + views.Cut(agents[0], 40) + " first"}
	}
	return views.GroupOffer{Href: "/agents", Icon: "agents", Label: fmt.Sprintf("Start %d agents first", len(agents))}
}

// bulkOffer leads to the dry run of an action on what a filter selects.
func bulkOffer(action dlqtriage.ActionKind, f dlqtriage.EntryFilter, agent, count string) views.GroupOffer {
	v := url.Values{"select": {"all"}, "filter": {f.Values().Encode()}, "action": {string(action)}}
	if agent != "" {
		v.Set("agent", agent)
	}
	return views.GroupOffer{Href: address("/operations/new", v), Icon: views.ActionIcon(action), Label: views.ActionName(action) + " " + count + " open…", Dry: true}
}
