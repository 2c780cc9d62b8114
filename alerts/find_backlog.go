package alerts

import (
	"cmp"
	"time"

	"fleetglass/lifecycle"
)

// findBacklogGrows finds the consumers for which more comes than ends, so much that what waits takes longer than the threshold.
func findBacklogGrows(f *Facts, r Rule) []Finding {
	return waitingFor(f, func(c lifecycle.ConsumerState, agent string) (Finding, bool) {
		flow := f.Flow[agent]
		takes := flow.takes(c.Pending)
		return Finding{
			What: number(int64(c.Pending), "message waits", "messages wait") + " for " + cut(cmp.Or(agent, c.Name), 40) + ", and more come than end",
			Why:  "The backlog grew by " + lifecycle.Grouped(flow.Grew) + " in 15 minutes. " + flow.paceWords(takes), Page: agentPage(agent), Harm: f.Load[agent].harm(),
		}, flow.Grew > 0 && takes > r.Threshold && !c.Gone && !c.Paused
	})
}

// takes is how long so many messages take at the pace of the flow. Where none ended it is what they would take if one had.
func (f Flow) takes(pending uint64) time.Duration {
	return time.Duration(float64(pending) / float64(max(f.Ended, 1)) * float64(FlowSpan))
}

func (f Flow) paceWords(takes time.Duration) string {
	if f.Ended == 0 {
		return "No end was seen meanwhile."
	}
	return "At its pace the agent needs " + lifecycle.Lasting(takes.Truncate(time.Minute)) + " for them."
}
