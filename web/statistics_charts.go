package web

import (
	"fmt"
	"net/url"

	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

// flowPlot is what came and what was completed.
func (q statisticsQuery) flowPlot(h query.History) views.Plot {
	p := q.plot("flow", h.Span, "/tasks", nil)
	listPublished(&p, q.agent)
	p.Title, p.Note = "Published messages and completed tasks", "Messages by when they were stored, tasks by when they were acknowledged."
	p.Series = []views.PlotSeries{{Name: "published", Tone: "run", Line: true}, {Name: "completed", Tone: "ok", Line: true}}
	var most, published, completed int64
	for i, s := range h.Flow {
		p.Steps[i].Values = []views.PlotValue{countValue(s.Published), countValue(s.Completed)}
		p.Steps[i].Blind, p.Steps[i].Partial = blindWord(s), s.Observed == query.ObservedPart
		most, published, completed = max(most, s.Published, s.Completed), published+s.Published, completed+s.Completed
	}
	p.Desc = fmt.Sprintf("%s and %s.", counted(published, "message was published", "messages were published"), counted(completed, "task completed", "tasks completed"))
	p.Marks, p.Top = views.CountMarks(float64(most))
	return p
}

// queuePlot is what had not ended at the end of each step.
func (q statisticsQuery) queuePlot(h query.History) views.Plot {
	p := q.plot("queue", h.Span, "/tasks", nil)
	p.Title = "Depth of the queue at the end of each step"
	p.Note = "Messages that are stored and have not ended: they wait, a worker holds them, or they are due again. Counted from the messages that were seen to come and go; not known where nothing was observed."
	p.Series = []views.PlotSeries{{Name: "in the queue", Tone: "run"}}
	var most int64
	for i, s := range h.Flow {
		p.Steps[i].Values = []views.PlotValue{{Y: float64(s.Depth), Text: views.Count(s.Depth), Known: s.DepthKnown}}
		p.Steps[i].Open = false // How deep it is now is no part of anything.
		if !s.DepthKnown {
			p.Steps[i].Blind = notObserved
		}
		most = max(most, s.Depth)
	}
	p.Desc = "At most " + counted(most, "message", "messages") + "."
	p.Marks, p.Top = views.CountMarks(float64(most))
	return p
}

// endTones are the colours of the ways in which attempts fail.
var endTones = map[string]string{string(lifecycle.EndTimedOut): "bad", string(lifecycle.EndNacked): "warn", string(lifecycle.EndTerminated): "dead"}

// failedPlot is the attempts that ended without success, by how they ended.
func (q statisticsQuery) failedPlot(h query.History) views.Plot {
	p := q.plot("failed", h.Span, "/tasks", nil)
	p.Title, p.Note = "Failed attempts by how they ended", "Attempts by when they ended. A task may have several."
	ends := []string{string(lifecycle.EndTimedOut), string(lifecycle.EndNacked), string(lifecycle.EndTerminated)}
	for _, end := range ends {
		p.Series = append(p.Series, views.PlotSeries{Name: endWord(end), Tone: endTones[end]})
	}
	var most, total int64
	for i, s := range h.Flow {
		for _, end := range ends {
			p.Steps[i].Values = append(p.Steps[i].Values, countValue(s.Failed[end]))
		}
		p.Steps[i].Blind, p.Steps[i].Partial = blindWord(s), s.Observed == query.ObservedPart
		most, total = max(most, s.FailedAttempts()), total+s.FailedAttempts()
	}
	p.Desc = counted(total, "attempt", "attempts") + " failed."
	p.Marks, p.Top = views.CountMarks(float64(most))
	return p
}

func endWord(end string) string {
	switch lifecycle.AttemptEnd(end) {
	case lifecycle.EndTimedOut:
		return "timed out"
	case lifecycle.EndNacked:
		return "handed back"
	}
	return "terminated"
}

// deathTones tell reasons apart; what is left of them is grey.
var deathTones = []string{"bad", "warn", "dead", "run", "dup", "wait"}

// diedPlot is why messages died.
func (q statisticsQuery) diedPlot(h query.History) views.Plot {
	p := q.plot("died", h.Span, "/dlq", nil)
	p.Title, p.Note = "Messages that died, by reason", "By the time of death."
	sums := make([]int64, h.Span.Steps())
	var most, total int64
	for n, r := range h.Died.Reasons {
		p.Series = append(p.Series, views.PlotSeries{Name: views.Cut(reasonWord(r), 60), Tone: deathTones[n%len(deathTones)]})
		for i, died := range r.Steps {
			p.Steps[i].Values = append(p.Steps[i].Values, countValue(died))
			sums[i] += died
			most = max(most, sums[i])
		}
		total += r.Total
	}
	for i, s := range h.Flow {
		if sums[i] == 0 {
			p.Steps[i].Blind = blindWord(s)
		}
	}
	p.Desc = counted(total, "message", "messages") + " died."
	p.Marks, p.Top = views.CountMarks(float64(most))
	return p
}

// figures are the sums of the span.
func (q statisticsQuery) figures(h query.History) []views.Stat {
	var published, completed, failed int64
	for _, s := range h.Flow {
		published, completed, failed = published+s.Published, completed+s.Completed, failed+s.FailedAttempts()
	}
	unseen := ""
	if len(h.Gaps) > 0 {
		unseen = ", or more: lines were lost"
	}
	last := h.Flow[len(h.Flow)-1]
	queue, detail := "not known", "at the end of the span"
	if last.DepthKnown {
		queue = views.Count(last.Depth)
	}
	if last.End > h.AsOf {
		detail = "now"
	}
	listed := url.Values{"from": {instant(h.Span.From)}, "to": {instant(h.Span.To)}, "agent": {q.agent}}
	tasks := address("/tasks", listed)
	listed.Set("state", string(lifecycle.StateCompleted))
	done := address("/tasks", listed)
	return []views.Stat{
		{Href: publishedIn(instant(h.Span.From), instant(h.Span.To), q.agent), Icon: "published", Tone: "run", Label: "Published", Value: views.Count(published), Detail: "messages" + unseen},
		{Href: done, Icon: "completed", Tone: "ok", Label: "Completed", Value: views.Count(completed), Detail: "tasks" + unseen},
		{Href: tasks, Icon: "failed", Tone: "bad", Label: "Failed attempts", Value: views.Count(failed), Detail: "attempts" + unseen},
		{Href: "/in-flight", Icon: "inflight", Tone: "run", Label: "Queue", Value: queue, Detail: detail},
		{Href: done, Icon: "clock", Tone: "wait", Label: "Median run time", Value: typicalWord(h.Runs.All.Whole.P50), Detail: "all types"},
		{Href: done, Icon: "clock", Tone: "wait", Label: "95th percentile", Value: typicalWord(h.Runs.All.Whole.P95), Detail: "all types"},
	}
}
