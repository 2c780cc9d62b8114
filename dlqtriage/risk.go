package dlqtriage

import (
	"math"
	"strconv"
	"time"

	"fleetglass/lifecycle"
)

// RiskCell is what happened to the tasks of one type of one agent in one hour.
type RiskCell struct {
	Agent string
	Type  string
	Hour  lifecycle.Micros // Its beginning.
	Tasks int64            // Messages published.
	Died  int64            // Messages that died.
}

// RiskQuestion asks how likely a task is to die.
type RiskQuestion struct {
	Agent string
	Type  string
	At    lifecycle.Micros // When it would be published.
	Load  int64            // Messages published for the agent in the hour before At; negative for not known.
}

// Risk is the answer: how likely, how sure, and why.
type Risk struct {
	Probability float64
	Low, High   float64 // Nine times in ten the true rate lies between them, as far as the sample of the agent's type tells.
	Sample      int64   // Tasks of this type and agent that the answer rests on.
	Factors     []RiskFactor
}

// RiskFactor is something that makes the risk higher or lower than the fleet's.
type RiskFactor struct {
	Name   string  // agent, type, hour or load.
	Value  string  // Such as marketing, or 16:00.
	Effect float64 // By how much the odds of dying are multiplied: 1 for no difference.
	Sample int64   // Tasks that it rests on.
}

// riskPrior is how many tasks' worth of evidence a group must bring to count as much as what its larger group says.
const riskPrior = 20

// rateOf counts tasks and deaths.
type rateOf struct{ tasks, died int64 }

func (r *rateOf) add(c RiskCell) {
	r.tasks += c.Tasks
	r.died += c.Died
}

// towards is the rate of the group, pulled towards the rate of the larger group that it is a part of.
func (r rateOf) towards(p float64) float64 {
	died := float64(min(r.died, r.tasks))
	return (died + riskPrior*p) / (float64(r.tasks) + riskPrior)
}

// RiskModel is what the past says about the risk of dying.
type RiskModel struct {
	fleet  rateOf
	agents map[string]rateOf
	types  map[[2]string]rateOf // By agent and type.
	hours  [24]rateOf           // By hour of the day, UTC.
	loads  map[load]rateOf
	usual  map[string]float64 // Messages an hour of each agent, over the hours in which it had any.
}

// load is how busy an agent is in an hour.
type load string

const (
	loadQuiet load = "quiet" // At most half of what is usual.
	loadUsual load = "usual"
	loadBusy  load = "busy" // At least twice what is usual.
)

// NewRiskModel learns from the past.
func NewRiskModel(cells []RiskCell) *RiskModel {
	m := &RiskModel{agents: map[string]rateOf{}, types: map[[2]string]rateOf{}, loads: map[load]rateOf{}, usual: map[string]float64{}}
	type agentHour struct {
		agent string
		hour  lifecycle.Micros
	}
	hourly := map[agentHour]rateOf{}
	for _, c := range cells {
		m.fleet.add(c)
		addTo(m.agents, c.Agent, c)
		addTo(m.types, [2]string{c.Agent, c.Type}, c)
		m.hours[c.Hour.Time().Hour()].add(c)
		addTo(hourly, agentHour{c.Agent, c.Hour}, c)
	}
	hours := map[string]float64{}
	for at, r := range hourly {
		if r.tasks > 0 {
			hours[at.agent]++
			m.usual[at.agent] += float64(r.tasks)
		}
	}
	for agent, n := range hours {
		m.usual[agent] /= n
	}
	for at, r := range hourly {
		addTo(m.loads, m.loadOf(at.agent, r.tasks), RiskCell{Tasks: r.tasks, Died: r.died})
	}
	return m
}

func addTo[K comparable](rates map[K]rateOf, key K, c RiskCell) {
	r := rates[key]
	r.add(c)
	rates[key] = r
}

func (m *RiskModel) loadOf(agent string, tasks int64) load {
	switch usual := m.usual[agent]; {
	case usual == 0 || tasks < 0:
		return loadUsual
	case float64(tasks) >= 2*usual:
		return loadBusy
	case float64(tasks) <= usual/2:
		return loadQuiet
	}
	return loadUsual
}

// base is the rate of the fleet (Jeffreys' prior: half a death in one task, so that nothing known is a half with the widest interval).
func (m *RiskModel) base() float64 {
	return (float64(min(m.fleet.died, m.fleet.tasks)) + 0.5) / (float64(m.fleet.tasks) + 1)
}

// Risk predicts. The odds of the fleet are multiplied by the effect of each factor; each factor's rate is pulled towards that of the larger
// group by [riskPrior] tasks, so that a few deaths among a few tasks do not say much.
func (m *RiskModel) Risk(q RiskQuestion) Risk {
	base := m.base()
	agent := m.agents[q.Agent]
	byAgent := agent.towards(base)
	byType := m.types[[2]string{q.Agent, q.Type}]
	hour, load := q.At.Time().Hour(), m.loadOf(q.Agent, q.Load)
	out := Risk{Sample: byType.tasks, Factors: []RiskFactor{
		{"agent", q.Agent, odds(byAgent) / odds(base), agent.tasks},
		{"type", q.Type, odds(byType.towards(byAgent)) / odds(byAgent), byType.tasks},
		{"hour", strconv.Itoa(hour) + ":00 UTC", odds(m.hours[hour].towards(base)) / odds(base), m.hours[hour].tasks},
		{"load", string(load), odds(m.loads[load].towards(base)) / odds(base), m.loads[load].tasks},
	}}
	all := odds(base)
	for _, f := range out.Factors {
		all *= f.Effect
	}
	out.Probability = all / (1 + all)
	out.Low, out.High = 0, 1 // Where nothing is known.
	if m.fleet.tasks > 0 {
		out.Low, out.High = wilson(out.Probability, m.weight(byType.tasks))
	}
	return out
}

// weight is the number of tasks that the interval rests on: those of the group, and of the larger group what it is pulled by.
func (m *RiskModel) weight(sample int64) float64 {
	return float64(sample) + min(riskPrior, float64(m.fleet.tasks)) + 1
}

func odds(p float64) float64 { return p / (1 - p) }

// wilson is the interval of a rate seen in n trials, for nine cases in ten (E. B. Wilson, 1927).
func wilson(p, n float64) (low, high float64) {
	const z = 1.6449
	middle := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, middle-half), min(1, middle+half)
}

// riskSpan is how far back the past is learned from.
const riskSpan = 30 * 24 * time.Hour

// RiskSpan is the span before now that a model learns from.
func RiskSpan(now lifecycle.Micros) (from, to lifecycle.Micros) {
	return now.Add(-riskSpan).Truncate(time.Hour), now
}
