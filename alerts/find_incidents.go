package alerts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"fleetglass/lifecycle"
)

// IncidentSpan is how far back the dead letters of one cause are counted.
const IncidentSpan = time.Hour

// What makes an incident of the dead letters of one cause: that there are many, that they are a good part of what ended at their agents, and that
// they are more than usual.
const (
	incidentLetters = 10
	incidentShare   = 0.25
	incidentTimes   = 4
)

// Deaths are the dead letters of one cause. Those of messages that no consumer takes are not among them: other rules name the consumer.
type Deaths struct {
	Cause    string // What they were classified as, or else their reason without numbers and ids.
	Category string
	Agents   []string // Whose they are, by name.
	Recent   int64    // How many died in the last [IncidentSpan].
	Ended    int64    // How many messages of these agents ended meanwhile, well or not.
	Usual    float64  // How many die of it in such a span, by the day before; negative where too little of that day was observed.

	Wave Wave // Only of an incident.
}

// Wave is the deaths of an incident since it began.
type Wave struct {
	Since lifecycle.Micros
	Count int64
	Open  int64  // Of these, those that wait for a decision.
	Page  string // Lists exactly these.
}

// Incident reports whether so many messages dying of one cause is more than a trickle.
func (d Deaths) Incident() bool {
	many := d.Recent >= incidentLetters && float64(d.Recent) >= incidentShare*float64(d.Ended)
	return many && (d.Usual < 0 || float64(d.Recent) >= incidentTimes*d.Usual)
}

// share is the part of what ended at the agents that died of the cause.
func (d Deaths) share() float64 {
	return float64(d.Recent) / float64(max(d.Ended, d.Recent, 1))
}

func findIncidents(f *Facts, _ Rule) []Finding {
	var out []Finding
	for _, d := range f.Deaths {
		if !d.Incident() {
			continue
		}
		what := number(d.Wave.Count, "dead letter", "dead letters") + " of one cause: " + cut(strings.ReplaceAll(d.Cause, "_", " "), 100)
		out = append(out, Finding{
			Key: d.Cause, What: what, Why: d.words(), Count: d.Wave.Count, Since: d.Wave.Since, Page: d.Wave.Page,
			Labels: Labels{Agent: only(d.Agents), Category: d.Category},
		})
	}
	return out
}

// words say how bad it is, and what is left to decide.
func (d Deaths) words() string {
	agents := cmp.Or(agentWords(d.Agents), "no agent")
	out := fmt.Sprintf("In the last hour %.0f %% of what ended at %s died of it.", 100*d.share(), agents)
	if d.Wave.Open > 0 {
		out += " " + number(d.Wave.Open, "waits for a decision.", "wait for a decision.")
	}
	return out
}

// only is the one agent that it is about; empty for several.
func only(agents []string) string {
	if agents = slices.Compact(slices.Clone(agents)); len(agents) == 1 {
		return agents[0]
	}
	return ""
}
