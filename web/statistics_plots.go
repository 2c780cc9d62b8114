package web

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

// fill adds the figures and the charts.
func (q statisticsQuery) fill(p *views.StatisticsPage, h query.History) {
	p.Head = fmt.Sprintf("%s to %s, in steps of %s. Choose a step to list its tasks: the first chart lists them by when they were published, the others by their last event.",
		q.word(h.Span.From), q.word(min(h.Span.To, h.AsOf)), stepWord(h.Span.Step))
	p.Stats = q.figures(h)
	p.Flow, p.Queue, p.Failed = q.flowPlot(h), q.queuePlot(h), q.failedPlot(h)
	if h.Died.Known {
		died := q.diedPlot(h)
		p.Died = &died
	}
	p.Costs = q.costPanel(h)
	p.RunStep = stepWord(h.Runs.Span.Step)
	for i, r := range h.Runs.Types[:min(len(h.Runs.Types), maxRunPlots)] {
		p.Runs = append(p.Runs, q.runPlot(fmt.Sprintf("run-%d", i), h, r))
	}
	if more := len(h.Runs.Types) - maxRunPlots; more > 0 {
		p.MoreRuns = counted(int64(more), "more type completes", "more types complete") + " fewer tasks: the JSON has all of them."
	}
	if len(p.Runs) > 0 {
		q.addHeat(p, h)
	}
}

// stepsOf are the steps of a chart without values. Their links lead to path, narrowed by v to the step.
func (q statisticsQuery) stepsOf(span query.HistorySpan, path string, v url.Values) []views.PlotStep {
	out := make([]views.PlotStep, span.Steps())
	for i := range out {
		from, to := instant(span.At(i)), instant(span.At(i+1))
		narrowed := url.Values{"from": {from}, "to": {to}, "agent": {q.agent}}
		for name, values := range v {
			narrowed[name] = values
		}
		label := q.label(span, i)
		open := span.At(i+1) > q.now
		if open {
			label += ", so far"
		}
		out[i] = views.PlotStep{Label: label, Open: open, Href: address(path, narrowed), From: from, To: to}
	}
	return out
}

// plot is a chart of a span without values.
func (q statisticsQuery) plot(id string, span query.HistorySpan, path string, v url.Values) views.Plot {
	listed, own := url.Values{"agent": {q.agent}}, url.Values{"agent": {q.agent}, "type": {q.typ}}
	for name, values := range v {
		listed[name] = values
	}
	word := "Tasks"
	if path == "/dlq" {
		word = "Dead letters"
	}
	return views.Plot{
		ID: id, Unit: "From (" + q.zone.String() + ")", Steps: q.stepsOf(span, path, v), Ticks: views.TimeTicks(span.From.Time(), span.To.Time(), q.zone, 7),
		Listing: views.PlotListing{Tasks: address(path, listed), Word: word, Page: address(statisticsPath, own)},
	}
}

// listPublished makes the steps of a chart lead to the tasks that were published in them.
func listPublished(p *views.Plot, agent string) {
	p.Listing.By = "published"
	for i, s := range p.Steps {
		p.Steps[i].Href = publishedIn(s.From, s.To, agent)
	}
}

// publishedIn is the list of the tasks whose newest message was published from one time until before another.
func publishedIn(from, to, agent string) string {
	return address("/tasks", url.Values{"q": {"published:>=" + from + " published:<" + to}, "agent": {agent}, "sort": {string(lifecycle.SortPublishedDesc)}})
}

// label names a step by its beginning; one of several hours by its end too.
func (q statisticsQuery) label(span query.HistorySpan, i int) string {
	at := span.At(i).Time().In(q.zone)
	switch {
	case span.Step > time.Hour && span.Step < 24*time.Hour:
		return at.Format("2 Jan 15:04") + span.At(i+1).Time().In(q.zone).Format("–15:04")
	case span.Step >= 24*time.Hour && at.Hour() == 0 && at.Minute() == 0:
		return at.Format("Mon 2 Jan")
	}
	return at.Format("2 Jan 15:04")
}

func (q statisticsQuery) word(at lifecycle.Micros) string {
	return at.Time().In(q.zone).Format("2 Jan 15:04 MST")
}

// stepWord names the length of a step.
func stepWord(step time.Duration) string {
	switch {
	case step == time.Minute:
		return "a minute"
	case step < time.Hour:
		return fmt.Sprintf("%d minutes", int(step.Minutes()))
	case step == time.Hour:
		return "an hour"
	case step < 24*time.Hour:
		return fmt.Sprintf("%d hours", int(step.Hours()))
	}
	return "a day (UTC)"
}

// notObserved is why a step shows nothing where nothing was observed.
const notObserved = "not observed"

// blindWord is why a step shows nothing; empty where it shows something.
func blindWord(s query.FlowStep) string {
	if s.Observed == query.ObservedNone {
		return notObserved
	}
	return ""
}

// blindRun is why a step of the run times shows nothing: no task completed in it, and nothing was observed all the while.
func blindRun(h query.History, i int) string {
	if h.Runs.All.Steps[i].Typical.Sample > 0 {
		return ""
	}
	from, to, none := h.Runs.Span.At(i), h.Runs.Span.At(i+1), false
	for _, s := range h.Flow {
		if s.At < to && s.End > from {
			if s.Observed != query.ObservedNone {
				return ""
			}
			none = true
		}
	}
	if none {
		return notObserved
	}
	return ""
}

func countValue(n int64) views.PlotValue {
	return views.PlotValue{Y: float64(n), Text: views.Count(n), Known: true}
}

// reasonWord names why messages died.
func reasonWord(r query.DeathReason) string {
	switch {
	case r.Others:
		return "other reasons"
	case r.Detail == "":
		return strings.ReplaceAll(r.Category, "_", " ")
	}
	return strings.ReplaceAll(r.Detail, "_", " ")
}
