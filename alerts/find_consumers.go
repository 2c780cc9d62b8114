package alerts

import (
	"cmp"
	"slices"

	"fleetglass/lifecycle"
)

const consumersPage = "/capture#consumers"

// waitingFor makes a finding of each consumer for which messages wait and of which say holds, those with most messages first.
func waitingFor(f *Facts, say func(c lifecycle.ConsumerState, agent string) (Finding, bool)) []Finding {
	var out []Finding
	for _, c := range f.Consumers {
		if c.Gone {
			c.Pending = f.leftBy(c)
		}
		if c.Pending == 0 {
			continue
		}
		agent := f.AgentOf(c.Name)
		found, holds := say(c, agent)
		if !holds {
			continue
		}
		found.Key, found.Count = c.Stream.String()+" "+c.Name, int64(c.Pending)
		found.Labels = Labels{Agent: agent, Stream: c.Stream.Name, Consumer: c.Name}
		out = append(out, found)
	}
	slices.SortStableFunc(out, func(a, b Finding) int { return cmp.Compare(b.Count, a.Count) })
	return out
}

// leftBy is how many messages wait for a consumer that is gone, its workers' among them: none gets them until a consumer exists. What it had when it was
// seen last may have left its stream since.
func (f *Facts) leftBy(c lifecycle.ConsumerState) (n uint64) {
	if c.Pending == 0 && c.AckPending == 0 {
		return 0 // It went with nothing to do: what comes now waits for no consumer.
	}
	for agent, load := range f.Load {
		if takes(c, agent) && !served(f, agent) {
			n += uint64(max(load.Waiting, 0))
		}
	}
	for _, u := range f.Untaken {
		if takes(c, u.Agent) && served(f, u.Agent) { // Another consumer takes a part of what the agent gets.
			n += uint64(u.Count)
		}
	}
	for _, l := range f.Leases {
		if l.Message.Stream == c.Stream && l.Consumer == c.Name && l.Resolved == nil && !served(f, l.Agent) {
			n++
		}
	}
	return n
}

// waitingSince is since when messages wait for a consumer: since its last delivery, or since the oldest of them was stored where that is later. The broker forgets
// the time of the last delivery when it restarts.
func (f *Facts) waitingSince(c lifecycle.ConsumerState, agent string) lifecycle.Micros {
	return max(cmp.Or(c.DeliveredAt, c.CreatedAt), f.OldestWaiting[agent])
}

func findConsumerGone(f *Facts, _ Rule) []Finding {
	return waitingFor(f, func(c lifecycle.ConsumerState, _ string) (Finding, bool) {
		return Finding{
			What: "Consumer " + cut(c.Name, 40) + " is gone", Why: number(int64(c.Pending), "message waits for it.", "messages wait for it."),
			Since: c.ObservedAt, Page: consumersPage,
		}, c.Gone
	})
}

func findPaused(f *Facts, _ Rule) []Finding {
	return waitingFor(f, func(c lifecycle.ConsumerState, agent string) (Finding, bool) {
		return Finding{
			What: number(int64(c.Pending), "message waits", "messages wait") + ": consumer " + cut(c.Name, 40) + " is paused", Since: f.waitingSince(c, agent), Page: consumersPage,
		}, c.Paused && !c.Gone
	})
}

func findBacklogIdle(f *Facts, r Rule) []Finding {
	return waitingFor(f, func(c lifecycle.ConsumerState, agent string) (Finding, bool) {
		since, missing := f.waitingSince(c, agent), "no worker pulls"
		idle := !c.Gone && !c.Paused && c.AckPending == 0 && !c.Attended() && since.Known() && c.ObservedAt.Sub(since) >= r.Threshold
		if c.Push {
			missing = "no worker is subscribed"
		}
		return Finding{
			What: number(int64(c.Pending), "message waits", "messages wait") + " for " + cut(cmp.Or(agent, c.Name), 40) + ": " + missing, Since: since, Page: agentPage(agent),
		}, idle
	})
}

// findNoConsumer finds the agents for which something was published today while no consumer takes their subjects. Agents whose messages wait
// have the finding of [RuleOrphaned] or [RuleConsumerGone].
func findNoConsumer(f *Facts, _ Rule) []Finding {
	var out []Finding
	for agent, n := range f.Published {
		if agent == "" || n == 0 || slices.ContainsFunc(f.Untaken, func(u Untaken) bool { return u.Agent == agent }) || served(f, agent) || missesItsConsumer(f, agent) {
			continue
		}
		out = append(out, Finding{
			Key: agent, What: "No consumer takes the subjects of " + cut(agent, 40) + ": " + number(n, "message", "messages") + " published today", Labels: Labels{Agent: agent}, Page: agentPage(agent),
		})
	}
	slices.SortFunc(out, func(a, b Finding) int { return cmp.Compare(a.Key, b.Key) })
	return out
}

// missesItsConsumer reports whether messages wait for a consumer that took the agent's subjects and is gone.
func missesItsConsumer(f *Facts, agent string) bool {
	return slices.ContainsFunc(f.Consumers, func(c lifecycle.ConsumerState) bool { return c.Gone && takes(c, agent) && f.leftBy(c) > 0 })
}

// served reports whether some consumer takes the agent's subjects, or may: without any consumer nothing is known of the fleet's streams.
func served(f *Facts, agent string) bool {
	for _, c := range f.Consumers {
		if c.Gone || c.Watches {
			continue
		}
		if f.AgentOf(c.Name) == agent || takes(c, agent) {
			return true
		}
	}
	return len(f.Consumers) == 0
}

// takes reports whether a consumer takes tasks of the agent, or may.
func takes(c lifecycle.ConsumerState, agent string) bool {
	agents, all := c.TakesOf()
	return all || slices.Contains(agents, agent)
}
