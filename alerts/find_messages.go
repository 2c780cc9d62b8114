package alerts

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"fleetglass/lifecycle"
)

func findOrphaned(f *Facts, _ Rule) []Finding {
	var out []Finding
	for _, u := range f.Untaken {
		n := number(u.Count, "message", "messages")
		if u.More {
			n = "At least " + n
		}
		filter := UntakenTasks()
		if u.Agent != "" {
			filter = UntakenTasks(u.Agent)
		}
		out = append(out, Finding{
			Key: u.Agent, What: n + " for " + cut(cmp.Or(u.Agent, "no agent"), 40) + ": no consumer", Count: u.Count, Since: u.Since,
			Labels: Labels{Agent: u.Agent}, Page: listOf(filter),
		})
	}
	return out
}

// UntakenTasks selects the tasks that wait and that no consumer takes, the oldest first.
func UntakenTasks(agents ...string) lifecycle.Filter {
	return lifecycle.Filter{
		States: []lifecycle.State{lifecycle.StatePublished}, Anomalies: []lifecycle.AnomalyCode{lifecycle.AnomalyOrphaned}, Agents: agents,
		Sort: lifecycle.SortPublished,
	}
}

// beingCopied is how long a message may be dead before it is missed in the DLQ: a monitor needs a few seconds to copy it.
const beingCopied = 10 * time.Second

func findNotInDLQ(f *Facts, _ Rule) []Finding {
	var out []Finding
	for _, state := range lifecycle.StatesThat(lifecycle.State.Abandoned) {
		n, since := f.States[state], f.Oldest[state]
		if n == 0 || (since.Known() && f.AsOf.Sub(since) < beingCopied) {
			continue
		}
		found := Finding{
			Key: string(state), Count: n, Since: since, Page: listOf(lifecycle.Filter{States: []lifecycle.State{state}}),
			What: number(n, "message is ", "messages are ") + string(state) + " and not in the DLQ",
		}
		if !f.EntriesKnown {
			found.What = number(n, "message is ", "messages are ") + string(state)
			found.Why, found.Harm = "Whether the DLQ has an entry is not known: it was not read to its end.", HarmDoubt
		}
		out = append(out, found)
	}
	return out
}

func findUnknown(f *Facts, _ Rule) []Finding {
	n := f.States[lifecycle.StateOutcomeUnknown]
	if n == 0 {
		return nil
	}
	return []Finding{{
		Count: n, Since: f.Oldest[lifecycle.StateOutcomeUnknown], What: number(n, "task has an unknown outcome", "tasks have an unknown outcome"),
		Page: listOf(lifecycle.Filter{States: []lifecycle.State{lifecycle.StateOutcomeUnknown}}),
	}}
}

// openEntriesPage lists the dead letters that wait for a decision.
const openEntriesPage = "/dlq?status=open"

func findDLQUntouched(f *Facts, _ Rule) []Finding {
	var out []Finding
	for _, e := range f.Open {
		found := Finding{Key: e.Agent, Count: e.Count, Since: e.Since, Labels: Labels{Agent: e.Agent}, Page: openEntriesPage}
		of := ""
		if e.Agent == "" && f.Causes != "" { // They are those of all agents.
			found.Why = f.Causes + "."
		}
		if e.Agent != "" {
			of, found.Page = " of "+cut(e.Agent, 40), found.Page+"&agent="+url.QueryEscape(e.Agent)
		}
		found.What = number(e.Count, "dead letter"+of+" waits", "dead letters"+of+" wait") + " for a decision"
		out = append(out, found)
	}
	return out
}

func findQueueAge(f *Facts, r Rule) []Finding {
	var out []Finding
	for agent, since := range f.OldestWaiting {
		if age := f.AsOf.Sub(since); age > r.Threshold {
			out = append(out, Finding{
				Key: agent, Since: since, Labels: Labels{Agent: agent}, Count: f.Load[agent].Waiting, Harm: f.Load[agent].harm(),
				What: f.Load[agent].words() + " for " + cut(cmp.Or(agent, "no agent"), 40) + ", the oldest stored " + lifecycle.Lasting(age) + " ago",
				Page: listOf(lifecycle.Filter{States: []lifecycle.State{lifecycle.StatePublished}, Agents: some(agent), Sort: lifecycle.SortPublished}),
			})
		}
	}
	slices.SortFunc(out, func(a, b Finding) int { return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.Key, b.Key)) })
	return out
}

// words say how many tasks wait. It is at least the oldest.
func (l Load) words() string {
	return number(max(l.Waiting, 1), "task waits", "tasks wait")
}

// harm is what it costs that tasks wait: whether a worker of their agent has anything in hand.
func (l Load) harm() Harm {
	if l.Held == 0 {
		return HarmUntaken
	}
	return HarmWaiting
}

func some(agent string) []string {
	if agent == "" {
		return nil
	}
	return []string{agent}
}

// tasksFound makes a finding of each task whose last event is within the rule's threshold.
func tasksFound(f *Facts, r Rule, tasks []lifecycle.TaskSummary, what string) []Finding {
	var out []Finding
	for _, t := range tasks {
		if f.AsOf.Sub(t.LastEventAt) > r.Threshold {
			continue
		}
		out = append(out, Finding{
			Key: t.TaskID, TaskID: t.TaskID, Since: t.LastEventAt, What: taskName(t.Title, t.TaskID) + " " + what,
			Labels: Labels{Agent: t.Agent, Stream: streamName(t.Message), Consumer: t.Consumer, Category: t.Category},
		})
	}
	return out
}

func findExecutedTwice(f *Facts, r Rule) []Finding {
	return tasksFound(f, r, f.Executed, "ran again after it was complete")
}

func findKeyConflict(f *Facts, r Rule) []Finding {
	return tasksFound(f, r, f.Conflicts, "has one idempotency key with different payloads")
}

func findForged(f *Facts, r Rule) []Finding {
	return tasksFound(f, r, f.Forged, "has evidence that contradicts itself")
}

// findRemoved tells of a flood in one sentence for each cause, and of few tasks one by one.
func findRemoved(f *Facts, r Rule) []Finding {
	of := map[lifecycle.Removal][]lifecycle.TaskSummary{}
	for _, t := range f.Removed {
		for _, cause := range RemovedByItself() {
			if t.Reason == removedWords(cause) && f.AsOf.Sub(t.LastEventAt) <= r.Threshold {
				of[cause] = append(of[cause], t)
			}
		}
	}
	var out []Finding
	for _, cause := range RemovedByItself() {
		if tasks := of[cause]; len(tasks) > shownAlone {
			out = append(out, removedTogether(f, cause, tasks))
		} else {
			out = append(out, tasksFound(f, r, tasks, "left its stream before any worker had it")...)
		}
	}
	return out
}

// removedTogether is one finding about many tasks that were removed by one cause.
func removedTogether(f *Facts, cause lifecycle.Removal, tasks []lifecycle.TaskSummary) Finding {
	page := listOf(RemovedTasks(cause, f.RemovedFrom))
	out := Finding{Key: string(cause), Count: max(f.RemovedCounts[cause], int64(len(tasks))), Page: page, Do: Action{Label: "List the tasks", Page: page}, Labels: Labels{Agent: tasks[0].Agent}}
	for _, t := range tasks {
		if out.Since = earlier(out.Since, t.LastEventAt); t.Agent != out.Labels.Agent {
			out.Labels.Agent = ""
		}
	}
	out.Why = whyRemoved[cause]
	out.What = number(out.Count, "task was ", "tasks were ") + removedWords(cause) + " before any worker had them"
	if out.Count >= lifecycle.CountLimit {
		out.What = "at least " + out.What
	}
	return out
}

// whyRemoved say what happened, where the cause is known.
var whyRemoved = map[lifecycle.Removal]string{
	lifecycle.RemovedByLimit: "The stream was full, or had its most messages of one subject. It dropped the oldest to make room.",
	lifecycle.RemovedByAge:   "They reached the max_age of the stream while they waited.",
	lifecycle.RemovedByTTL:   "They reached their own TTL while they waited.",
}

// RemovedByItself are the causes by which a stream itself drops messages. What may have been an operator is none of them.
func RemovedByItself() []lifecycle.Removal {
	return []lifecycle.Removal{lifecycle.RemovedByLimit, lifecycle.RemovedByAge, lifecycle.RemovedByTTL}
}

// RemovedTasks selects the tasks that a stream removed by a cause since an instant, before any worker had them.
func RemovedTasks(cause lifecycle.Removal, from lifecycle.Micros) lifecycle.Filter {
	return lifecycle.Filter{States: []lifecycle.State{lifecycle.StateRemoved}, Words: []string{removedWords(cause)}, From: from, Sort: lifecycle.SortLastEventDesc}
}

// removedWords is the reason of a task that was removed by a cause.
func removedWords(cause lifecycle.Removal) string { return "removed " + cause.Words() }

func streamName(k lifecycle.MessageKey) string { return k.Stream.Name }

// listOf is the address of the list of the tasks that a filter selects.
func listOf(f lifecycle.Filter) string {
	q := url.Values{}
	for name, values := range f.Values() {
		if values = slices.DeleteFunc(slices.Clone(values), func(s string) bool { return s == "" }); len(values) > 0 {
			q[name] = values
		}
	}
	return strings.TrimSuffix("/tasks?"+q.Encode(), "?")
}
