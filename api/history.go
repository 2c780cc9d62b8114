package api

import (
	"context"

	"fleetglass/access"
	"fleetglass/query"
)

// History is the fleet over time.
type History struct {
	AsOf   Instant       `json:"as_of"`
	From   Instant       `json:"from" doc:"Beginning of the first step."`
	To     Instant       `json:"to" doc:"End of the last step, which may be in the future."`
	StepS  int64         `json:"step_s" doc:"Length of a step in seconds. Steps begin at multiples of it since 1970, UTC." example:"3600"`
	Agent  Text          `json:"agent" doc:"Null: all of them."`
	Steps  []HistoryStep `json:"steps" nullable:"false" doc:"Oldest first, without holes."`
	Runs   RunHistory    `json:"run_times"`
	Deaths []DeathReason `json:"deaths" doc:"Why messages died, the most frequent reason first; null where dead letters are not read."`
	Costs  CostHistory   `json:"costs" doc:"What agents reported that tasks cost."`
	Gaps   []GapRef      `json:"gaps" nullable:"false"`
}

// CostHistory is what agents reported that the tasks cost which were published in the span, in whole hours.
type CostHistory struct {
	From    Instant  `json:"from" doc:"Beginning of the first hour."`
	CostUSD *float64 `json:"cost_usd" doc:"Null where no report of these tasks names a cost." example:"12.5"`
	Tasks   int64    `json:"tasks" doc:"Of which a cost was reported." example:"40"`
	ByAgent []CostOf `json:"by_agent" nullable:"false" doc:"The most expensive first."`
	ByType  []CostOf `json:"by_type" nullable:"false" doc:"Likewise."`
}

// CostOf is what the tasks of one agent, or of one type, cost.
type CostOf struct {
	Name    Text    `json:"name" doc:"Null for tasks that name none." example:"marketing"`
	Others  bool    `json:"others" doc:"It stands for all types beyond the first 200 of each agent, which are counted together; name is null."`
	Tasks   int64   `json:"tasks" doc:"Of which a cost was reported." example:"12"`
	CostUSD float64 `json:"cost_usd" example:"4.2"`
}

// HistoryStep is what came and went in one step of time.
type HistoryStep struct {
	At         Instant          `json:"at" doc:"Its beginning."`
	Observed   string           `json:"observed" enum:"all,part,none" doc:"part: lines were lost in it, and counts are lower bounds. none: nothing was observed, and every count is null." example:"all"`
	Published  *int64           `json:"published" doc:"Messages stored." example:"120"`
	Completed  *int64           `json:"completed" doc:"Tasks acknowledged." example:"118"`
	Failed     map[string]int64 `json:"failed_attempts" nullable:"true" doc:"Attempts that ended without success, by how they ended; null where nothing was observed. One of which only its agent's reports tell is not counted."`
	QueueDepth *int64           `json:"queue_depth" doc:"At the end of the step, in the last one now: messages that are stored and have not ended, whether they wait or are in a worker's hands. Computed from the messages that were seen to come and go. Null where nothing was observed at that time." example:"7"`
}

// RunHistory is how long tasks ran that completed in each step.
type RunHistory struct {
	From  Instant      `json:"from" doc:"Beginning of the first step."`
	StepS int64        `json:"step_s" doc:"Length of a step in seconds, at least 300." example:"3600"`
	Error float64      `json:"relative_error" doc:"Figures are read from a scale: they are at most so much above the true value." example:"0.19"`
	All   RunsOfType   `json:"all" doc:"Over all task types."`
	Types []RunsOfType `json:"types" nullable:"false" doc:"The one with most tasks first."`
}

// RunsOfType is the running times of one task type.
type RunsOfType struct {
	Type   Text             `json:"type" example:"code_review"`
	Others bool             `json:"others" doc:"It stands for all types beyond the first 200 of each agent, which are counted together; type is null."`
	Whole  Maybe[Typical]   `json:"whole" doc:"Of the whole span; null where no task completed."`
	Steps  []Maybe[RunStep] `json:"steps" nullable:"false" doc:"One for each step; null where no task completed."`
}

// RunStep is the running times of one step.
type RunStep struct {
	Typical
	UpTo map[string]int64 `json:"up_to_ms" doc:"Tasks by how long they ran: the upper end of a part of the scale, in milliseconds."`
}

// DeathReason is the messages that died for one reason.
type DeathReason struct {
	Category Text    `json:"category" example:"transient"`
	Detail   Text    `json:"detail" example:"rate_limit"`
	Others   bool    `json:"others" doc:"It stands for all reasons that are not listed."`
	Total    int64   `json:"total" example:"12"`
	Steps    []int64 `json:"steps" nullable:"false" doc:"In the steps of the history, by the time of death."`
}

// HistoryQuery is the query of the history.
type HistoryQuery struct {
	Range string `query:"range" doc:"A span that ends now: 1h, 24h (default), 7d or 30d."`
	From  string `query:"from" doc:"Beginning of a span of your own: RFC 3339, a date, or a span back from now. At most 92 days before its end."`
	To    string `query:"to" doc:"Its end, in the same forms. Default: now."`
	Agent string `query:"agent" doc:"Of this agent only."`
}

func (a *API) describeHistory() {
	register(a, call{
		id: "get-history", needs: access.Read, path: Base + "/stats/history", tag: "fleet", summary: "The fleet over time", example: exampleHistory(),
		detail: "What was published and completed, how long the queue was, how long tasks ran and why messages died, in steps of a minute to a day that follow from " +
			"the length of the span. Spans of up to 12 hours in the last two days have steps below an hour.",
	}, a.history)
}

func (a *API) history(ctx context.Context, in *HistoryQuery) (*reply[History], error) {
	span, err := query.ParseHistory(in.Range, in.From, in.To, a.now())
	if err != nil {
		return nil, err
	}
	found, err := a.cfg.Query.History(ctx, span, in.Agent)
	if err != nil {
		return nil, err
	}
	body := historyOf(found)
	stable := body
	stable.AsOf = 0
	return tagged(ctx, body, stable), nil
}

func historyOf(h query.History) History {
	out := History{
		AsOf: Instant(h.AsOf), From: Instant(h.Span.From), To: Instant(h.Span.To), StepS: int64(h.Span.Step.Seconds()), Agent: Text(h.Agent),
		Steps: make([]HistoryStep, len(h.Flow)), Runs: runHistoryOf(h.Runs), Gaps: refsOf(h.Gaps[:min(len(h.Gaps), maxGapRefs)]),
	}
	out.Costs = costHistoryOf(h.Costs)
	for i, s := range h.Flow {
		out.Steps[i] = historyStepOf(s)
	}
	if h.Died.Known {
		out.Deaths = []DeathReason{}
	}
	for _, r := range h.Died.Reasons {
		out.Deaths = append(out.Deaths, DeathReason{Category: Text(r.Category), Detail: Text(r.Detail), Others: r.Others, Total: r.Total, Steps: r.Steps})
	}
	return out
}

func costHistoryOf(h query.CostHistory) CostHistory {
	list := func(of []query.CostOf) []CostOf {
		out := make([]CostOf, len(of))
		for i, c := range of {
			out[i] = CostOf{Name: Text(c.Name), Others: c.Others(), Tasks: c.Tasks, CostUSD: c.CostUSD()}
			if c.Others() {
				out[i].Name = ""
			}
		}
		return out
	}
	return CostHistory{From: Instant(h.From), CostUSD: reportedCost(h.Whole.Cost), Tasks: h.Whole.Tasks, ByAgent: list(h.ByAgent), ByType: list(h.ByType)}
}

func historyStepOf(s query.FlowStep) HistoryStep {
	out := HistoryStep{At: Instant(s.At), Observed: string(s.Observed)}
	if s.Observed != query.ObservedNone {
		out.Published, out.Completed, out.Failed = &s.Published, &s.Completed, s.Failed
	}
	if s.DepthKnown {
		out.QueueDepth = &s.Depth
	}
	return out
}
