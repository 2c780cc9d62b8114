package views

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"fleetglass/lifecycle"
)

// MapPage is who gives work to whom.
type MapPage struct {
	Links      ViewLinks
	Head       string
	Publishers []MapPublisher
	Agents     []MapAgent
	Ends       []MapEnd
	Note       string // What is not known, and of which time the numbers are.
	Empty      EmptyState
}

// MapFlow is how much of something there was.
type MapFlow struct {
	Day  int64  // In 24 hours.
	Rate string // In the last hour, such as "12/h".
}

// MapPublisher is who publishes tasks, or several that have one place.
type MapPublisher struct {
	Name    string
	Href    string // Its tasks; empty where no list has exactly them.
	Unknown bool   // No message says who published it.
	MapFlow
}

// MapAgent is an agent, or several that have one place.
type MapAgent struct {
	Name, Href                         string
	Activity                           string // busy, idle, silent, paused, gone or unseen.
	Waits                              bool   // Work waits for it.
	Held                               string // What is in hand and waits.
	Published, Completed, Failed, Died MapFlow
	LastSeen                           lifecycle.Micros
	Types                              []MapType
	From                               []MapGiven // Over all its types.
}

// MapType is the tasks of one type at an agent.
type MapType struct {
	Name, Href           string
	Published, Completed MapFlow
	From                 []MapGiven
}

// MapGiven is what one publisher gave.
type MapGiven struct {
	Publisher int // Of the page's publishers.
	MapFlow
}

// MapEnd is what became of work.
type MapEnd struct {
	Name, Href, Tone string
	MapFlow
	Of func(MapAgent) MapFlow // What of an agent ended so.
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
	case "unseen":
		return look{Icon: "gap", Tone: "warn", Word: "never seen"}
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
		return "Its workers hold a message."
	case "silent":
		return "Work waits, and no worker holds any. The agent gave no sign of life in the last five minutes."
	case "paused":
		return "A consumer of it is paused."
	case "gone":
		return "Its consumer no longer exists."
	case "unseen":
		return "It was given work. No consumer of it is known, and nothing was ever seen of it."
	}
	if waits {
		return "Work waits, and no worker holds any. The agent gave a sign of life in the last five minutes."
	}
	return "Its workers hold no message, and none waits."
}

// layout places what the page has.
func (p MapPage) layout() mapLayout {
	lines := make([][]int, len(p.Agents))
	for i, a := range p.Agents {
		for _, t := range a.Types {
			lines[i] = append(lines[i], len(t.From))
		}
	}
	l := layOut(len(p.Publishers), lines, len(p.Ends))
	l.Publishers = p.near(l)
	return l
}

// near gives each publisher the place nearest to what it gives, so that fewer lines cross.
func (p MapPage) near(l mapLayout) []mapBox {
	sum, weight := make([]float64, len(p.Publishers)), make([]float64, len(p.Publishers))
	for i, a := range p.Agents {
		for k, t := range a.Types {
			for _, g := range t.From {
				sum[g.Publisher] += float64(g.Day) * l.Types[i][k].Y
				weight[g.Publisher] += float64(g.Day)
			}
		}
	}
	order := make([]int, len(p.Publishers))
	for i := range order {
		order[i] = i
		sum[i] /= max(1, weight[i])
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sum[a], sum[b]) })
	out := make([]mapBox, len(order))
	for at, i := range order {
		out[i] = l.Publishers[at]
	}
	return out
}

// ordered are publishers from the highest place to the lowest.
func (l mapLayout) ordered(from []MapGiven) []MapGiven {
	return slices.SortedFunc(slices.Values(from), func(a, b MapGiven) int { return cmp.Compare(l.Publishers[a.Publisher].Y, l.Publishers[b.Publisher].Y) })
}

// giver is the publisher in words.
func (p MapPage) giver(g MapGiven) string {
	if from := p.Publishers[g.Publisher]; !from.Unknown {
		return from.Name
	}
	return "somebody not known"
}

// edges are all lines. Those of nothing are left out, but work that nobody completes still goes to its agent.
func (p MapPage) edges(l mapLayout) []mapEdge {
	most := int64(1)
	for _, a := range p.Agents {
		most = max(most, a.Published.Day, a.Completed.Day, a.Failed.Day, a.Died.Day)
	}
	var out []mapEdge
	add := func(e mapEdge, f MapFlow) {
		e.Width, e.Rate = edgeWidth(f.Day, most), f.Rate
		e.Title += ": " + f.Rate + " in the last hour, " + Count(f.Day) + " in 24 h"
		out = append(out, e)
	}
	for i, a := range p.Agents {
		agent := l.Agents[i]
		for k, t := range a.Types {
			box := l.Types[i][k]
			for j, g := range l.ordered(t.From) {
				from, to := l.Publishers[g.Publisher].middle(), apart(box.middle(), j, len(t.From))
				add(mapEdge{Layer: 0, From: from, To: to, Tone: "run", RateAtEnd: true, Title: p.giver(g) + " published " + t.Name + " for " + a.Name}, g.MapFlow)
			}
			e := mapEdge{Layer: 1, From: box.middle(), To: agent.middle(), Tone: "ok", Title: a.Name + " completed " + t.Name}
			if t.Completed.Day == 0 {
				e.Tone = "wait"
			}
			add(e, t.Completed)
		}
		for k, end := range p.Ends {
			if f := end.Of(a); f.Day > 0 {
				from := apart(agent.middle(), k, len(p.Ends))
				add(mapEdge{Layer: 2, From: from, To: l.Ends[k].middle(), Tone: end.Tone, Title: a.Name + ", " + end.Name}, f)
			}
		}
	}
	return out
}

// edgeWidth grows with the logarithm, so that little is seen beside much.
func edgeWidth(n, most int64) float64 {
	return 1 + 5*math.Log1p(float64(n))/math.Log1p(float64(most))
}

// heldInLines keeps each number with its word where the cell is too narrow for all.
func heldInLines(held string) string {
	parts := strings.Split(held, ", ")
	for i := range parts {
		parts[i] = inOneLine(parts[i])
	}
	return strings.Join(parts, ", ")
}
