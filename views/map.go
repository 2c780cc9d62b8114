package views

import (
	"math"

	"fleetglass/lifecycle"
)

// MapPage is who gives work to whom.
type MapPage struct {
	Links  ViewLinks
	Head   string
	Agents []MapAgent
	Ends   []MapEnd
	Note   string // What is not known.
	Empty  EmptyState
}

// MapAgent is an agent, or several that have one place.
type MapAgent struct {
	Name, Href   string
	Activity     string // busy, idle, silent, paused or gone.
	Waits        bool   // Work waits for it.
	Held, Rate   string // What is in hand and waits; how much it completes.
	Retries      string // Attempts that failed; empty for none.
	Published    int64
	Completed    int64
	Failed, Died int64
	LastSeen     lifecycle.Micros
	Types        []MapType
}

// MapType is the tasks of one type at an agent.
type MapType struct {
	Name, Href           string
	Published, Completed int64
}

// MapEnd is what became of work.
type MapEnd struct {
	Name, Href, Tone, Icon string
	Count                  int64
	Of                     func(MapAgent) int64 // What of an agent ended so.
}

// activityLook gives what an agent does now its shape, colour and words; waits says that work waits for it.
func activityLook(activity string, waits bool) look {
	switch activity {
	case "busy":
		return look{Icon: "processing", Tone: "run", Word: "busy"}
	case "silent":
		return look{Icon: "stale", Tone: "bad", Word: "silent"}
	case "paused":
		return look{Icon: "pause", Tone: "warn", Word: "paused"}
	case "gone":
		return look{Icon: "gap", Tone: "bad", Word: "consumer gone"}
	}
	if waits {
		return look{Icon: "published", Tone: "wait", Word: "idle, work waits"}
	}
	return look{Icon: "published", Tone: "wait", Word: "idle"}
}

// activityMeaning is a sentence for people.
func activityMeaning(activity string, waits bool) string {
	switch activity {
	case "busy":
		return "A message is in its workers' hands."
	case "silent":
		return "Work waits, none is in its hands, and nothing was seen of it for five minutes."
	case "paused":
		return "A consumer of it is paused."
	case "gone":
		return "A consumer of it existed and no longer does."
	}
	if waits {
		return "Work waits and none is in its workers' hands, but it was seen in the last five minutes."
	}
	return "No message is in its workers' hands, and none waits."
}

// layout places what the page has.
func (p MapPage) layout() mapLayout {
	types := make([]int, len(p.Agents))
	for i, a := range p.Agents {
		types[i] = len(a.Types)
	}
	return layOut(types, len(p.Ends))
}

// edges are all lines. Those of nothing are left out.
func (p MapPage) edges(l mapLayout) []mapEdge {
	most := int64(1)
	for _, a := range p.Agents {
		most = max(most, a.Published, a.Completed, a.Died)
	}
	var out []mapEdge
	add := func(from, to [2]float64, n int64, tone, title string) {
		if n > 0 {
			out = append(out, mapEdge{From: from, To: to, Width: edgeWidth(n, most), Tone: tone, Label: Count(n), Title: title + ": " + Count(n) + " in 24 h"})
		}
	}
	for i, a := range p.Agents {
		for k, t := range a.Types {
			box := l.Types[i][k]
			add(l.Publisher.right(), box.left(), t.Published, "run", "published to "+a.Name+", "+t.Name)
			add(box.right(), l.Agents[i].left(), t.Completed, "ok", t.Name+" completed by "+a.Name)
		}
		for k, end := range p.Ends {
			add(l.Agents[i].right(), l.Ends[k].left(), end.Of(a), end.Tone, end.Name+", "+a.Name)
		}
	}
	return out
}

// edgeWidth grows with the logarithm, so that little is seen beside much.
func edgeWidth(n, most int64) float64 {
	return 1 + 5*math.Log1p(float64(n))/math.Log1p(float64(most))
}
