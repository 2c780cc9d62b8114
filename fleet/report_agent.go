package fleet

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/cloudevents/sdk-go/v2/event"

	"fleetglass/lifecycle"
)

// ForeignReport refuses a report for an agent for which its sender may not report.
type ForeignReport struct {
	Field string // Where the report names the agent, as a JSON pointer into the CloudEvent.
	Agent string // The agent that it names; empty for none, where the sender may report for several.
}

// Error implements error. The sender may read it.
func (f *ForeignReport) Error() string {
	if f.Agent == "" {
		return "names no agent, and the token may report for several"
	}
	return fmt.Sprintf("names agent %q, for which the token may not report", oneLine(f.Agent, maxTextRunes))
}

// agentClaim is an agent that a report names, and where.
type agentClaim struct{ field, agent string }

// claimedAgents lists where a report may name its agent. The first that names one counts.
func claimedAgents(ce event.Event, d reportData) []agentClaim {
	extension, _ := ce.Extensions()["agent"].(string)
	return []agentClaim{
		{"/data/agent", d.id("agent")}, {"/data/agent_id", d.id("agent_id")}, {"/agent", cleanID(extension)}, {"/source", agentOfSource(ce.Source())},
	}
}

// reportID is the id of a report: its source, its id and what it says. Senders should use an id once; where one says something else under it, that is another report,
// and none of them is lost. Where it is proved whose report it is, and the source names somebody else or nobody, the agent is part of it, so that nobody takes the
// id of another's report. e must not yet have what tells of the way that the report came.
func reportID(ce event.Event, e *lifecycle.Event, from ReportOrigin) lifecycle.EventID {
	said, _ := json.Marshal(&e.Detail) // Texts and finite numbers can always be written.
	parts := []string{ce.Source(), ce.ID(), string(e.Kind), strconv.Itoa(e.Attempt), string(said)}
	if proved := from.Agent != "" || len(from.Agents) > 0; proved && agentOfSource(ce.Source()) != e.Agent {
		parts = append(parts, e.Agent)
	}
	return lifecycle.NewEventID("report", parts...)
}

// nameAgent gives a report its agent, unless the way that it came did. A sender that may report for some agents only must not name another one
// anywhere; one that may report for a single agent need not name it.
func nameAgent(e *lifecycle.Event, may []string, claims []agentClaim) error {
	for _, c := range claims {
		if c.agent != "" && len(may) > 0 && !slices.Contains(may, c.agent) {
			return &ForeignReport{c.field, c.agent}
		}
		e.Agent = firstNonEmpty(e.Agent, c.agent)
	}
	if e.Agent == "" && len(may) > 1 {
		return &ForeignReport{Field: claims[0].field}
	}
	if e.Agent == "" && len(may) == 1 {
		e.Agent = may[0]
	}
	return nil
}
