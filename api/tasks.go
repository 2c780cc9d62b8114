package api

import (
	"context"

	"fleetglass/access"
	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
	"fleetglass/query"
)

// TaskRow is a task as lists show it.
type TaskRow struct {
	TaskID      string    `json:"task_id" example:"blog-post-118"`
	State       string    `json:"state" doc:"Where the newest message is in its life." example:"redelivered"`
	StateSince  Instant   `json:"state_since"`
	Rule        string    `json:"rule" doc:"The row of the table of verdicts that gave the state." example:"later attempt"`
	Agent       Text      `json:"agent" example:"marketing"`
	Type        Text      `json:"type" example:"content_creation"`
	Title       Text      `json:"title" doc:"A short name found in the payload. Untrusted." example:"Draft the launch post"`
	Stream      Text      `json:"stream" example:"TASKS"`
	Seq         Sequence  `json:"seq" doc:"Stream sequence of the newest message." example:"1042"`
	Consumer    Text      `json:"consumer" example:"marketing-task-worker"`
	Generation  int       `json:"generation" doc:"0 is the first message of the task; retries count up." example:"0"`
	Attempt     Count     `json:"attempt" doc:"Current or last delivery of the newest message; null when none is known." example:"2"`
	MaxDeliver  Count     `json:"max_deliver" doc:"Null when not known or without limit." example:"3"`
	Messages    int       `json:"messages" doc:"Stored messages known." example:"1"`
	PublishedAt Instant   `json:"published_at" doc:"Of the newest message."`
	LastEventAt Instant   `json:"last_event_at"`
	LastEvent   Text      `json:"last_event" doc:"What happened then, as one of the kinds of events." example:"heartbeat"`
	CompletedAt Instant   `json:"completed_at" doc:"Since when it is completed; null in any other state. When its completion was recorded or reported, the task's own call says."`
	EndedAt     Instant   `json:"ended_at" doc:"When the state stopped being open."`
	WaitingMS   int64     `json:"waiting_ms" doc:"Of the newest message: time without a worker, without the current wait." example:"1200"`
	RunningMS   int64     `json:"running_ms" doc:"Of the newest message: time in the hands of workers, without the current attempt." example:"300000"`
	Duplicates  int       `json:"duplicates" doc:"Publishes that the stream caught as duplicates." example:"0"`
	CostUSD     *float64  `json:"cost_usd" doc:"What agents reported that it cost, over all attempts; null when nothing was reported." example:"1.12"`
	TokensIn    Count     `json:"input_tokens" doc:"Likewise: tokens that a model read." example:"212431"`
	TokensOut   Count     `json:"output_tokens" doc:"Likewise: tokens that a model wrote." example:"1800"`
	Category    Text      `json:"category" doc:"Of the dead-letter entry."`
	Reason      Text      `json:"reason" doc:"Why it failed or died, as its worker, its agent, its dead-letter entry or the broker said. Untrusted." example:"token_budget_exceeded: 50,000 output tokens"`
	Anomalies   []Anomaly `json:"anomalies" nullable:"false" doc:"What is surprising about it."`
	Links       TaskLinks `json:"links"`
}

// Anomaly is a surprising set of facts.
type Anomaly struct {
	Code    string `json:"code" example:"silent_attempt"`
	Meaning string `json:"meaning" example:"At least one attempt never answered."`
}

// TaskLinks are the addresses of a task, with its id escaped as paths need it.
type TaskLinks struct {
	Self    string `json:"self" example:"/api/v1/tasks/blog-post-118"`
	Events  string `json:"events" example:"/api/v1/tasks/blog-post-118/events"`
	Payload string `json:"payload" example:"/api/v1/tasks/blog-post-118/payload"`
	Report  string `json:"report" example:"/api/v1/tasks/blog-post-118/report"`
}

func linksOf(id string) TaskLinks {
	self := taskPath(id)
	return TaskLinks{Self: self, Events: self + "/events", Payload: self + "/payload", Report: self + "/report"}
}

// reportedCost is the cost that agents reported, in USD; nil where none did.
func reportedCost(millionths int64) *float64 {
	if millionths == 0 {
		return nil
	}
	usd := lifecycle.ModelTotal{Cost: millionths}.CostUSD()
	return &usd
}

func rowOf(s query.TaskRow) TaskRow {
	row := TaskRow{
		TaskID: s.TaskID, State: string(s.State), StateSince: Instant(s.StateSince), Rule: s.Rule, Agent: Text(s.Agent),
		Type: Text(s.Type), Title: Text(s.Title), Consumer: Text(s.Consumer), Generation: s.Generation, Attempt: Count(s.Attempt),
		Messages: s.Messages, PublishedAt: Instant(s.PublishedAt), LastEventAt: Instant(s.LastEventAt), LastEvent: Text(s.LastEvent), EndedAt: Instant(s.EndedAt),
		WaitingMS: s.Waiting.Milliseconds(), RunningMS: s.Running.Milliseconds(), Duplicates: s.Duplicates, Category: Text(s.Category), Reason: Text(s.Reason),
		Anomalies: anomaliesOf(s.Anomalies), Links: linksOf(s.TaskID), MaxDeliver: Count(s.MaxDeliver),
		CostUSD: reportedCost(s.Used.Cost), TokensIn: Count(s.Used.InputTokens), TokensOut: Count(s.Used.OutputTokens),
	}
	if !s.Message.IsZero() {
		row.Stream, row.Seq = Text(s.Message.Stream.String()), Sequence(s.Message.Seq)
	}
	if s.State == lifecycle.StateCompleted {
		row.CompletedAt = Instant(s.EndedAt)
	}
	return row
}

func anomaliesOf(codes []lifecycle.AnomalyCode) []Anomaly {
	out := make([]Anomaly, len(codes))
	for i, c := range codes {
		out[i] = Anomaly{Code: string(c), Meaning: c.Meaning()}
	}
	return out
}

// FilterQuery declares the parameters of [lifecycle.ParseFilter], which reads them: the same filter as the pages and the search box.
type FilterQuery struct {
	State     []string `query:"state,explode" doc:"States of the newest message."`
	Agent     []string `query:"agent,explode" doc:"Agents."`
	Type      []string `query:"type,explode" doc:"Task types."`
	Publisher []string `query:"publisher,explode" doc:"Who published a message of the task, by the header X-Publisher, which nothing proves, or Fleetglass for a retry. Tasks whose messages do not say it are never found by it. A bound on published in q then holds for the messages of these publishers."`
	Stream    []string `query:"stream,explode" doc:"Streams, as stream fields write them."`
	Category  []string `query:"category,explode" doc:"Categories of the dead-letter entry."`
	ID        []string `query:"id,explode" doc:"Task ids, or their beginnings when they end in an asterisk."`
	Anomaly   []string `query:"anomaly,explode" doc:"Tasks that show one of these anomalies."`
	Has       []string `query:"has,explode" doc:"duplicate: only tasks with publishes that the stream caught."`
	Layer     []string `query:"layer,explode" doc:"Where duplicates ended: tasks with a finding of one of these layers of the duplicate ledger."`
	Q         []string `query:"q,explode" doc:"The search box. Words and \"quoted phrases\" match task and message ids, titles and reasons; field:value narrows, the same field twice means either, a minus in front leaves out (-state:completed, -word). attempt:>1, cost:>0.5 (USD, as agents reported it), duration:>30s (time in the hands of workers) and published:<2h (younger than two hours) compare, also with >=, < and <=. TASKS:255 finds a message by stream and sequence. An unknown field or value is refused."`
	From      string   `query:"from" doc:"Tasks whose last event is at or after this time: RFC 3339, a date, or a span back from now such as 15m, 24h, 7d."`
	To        string   `query:"to" doc:"Tasks whose last event is before this time, in the same forms."`
}

// TasksQuery is the query of the task list.
type TasksQuery struct {
	FilterQuery
	PageQuery
	Sort string `query:"sort" doc:"-last_event (default), last_event, -published, published, -cost or cost. By cost only tasks are listed of which agents reported one."`
}

func (a *API) describeTasks() {
	register(a, call{
		id: "list-tasks", needs: access.Read, path: Base + "/tasks", tag: "tasks", summary: "Tasks by filter", example: exampleTasks(),
		detail:   "Tasks of which a stored message, or a publish that was not stored, is known. The task with the latest event comes first, unless sort says otherwise.",
		failures: []httperr.Code{httperr.InvalidCursor},
	}, a.listTasks)
	register(a, call{
		id: "count-tasks", needs: access.Read, path: Base + "/tasks/counts", tag: "tasks", summary: "Tasks per state", example: exampleCounts(),
		detail: "How many tasks the filter selects in each state. The parameter state is ignored.",
	}, a.countTasks)
	enumerateFilter(a, "/tasks/counts")
	enumerateTasks(a, "/tasks")
}

func enumerateFilter(a *API, path string) {
	enumerate(a, path, "state", lifecycle.States())
	enumerate(a, path, "has", []string{"duplicate"})
	enumerate(a, path, "layer", lifecycle.Layers())
}

// enumerateTasks is for calls with the whole query of the task list.
func enumerateTasks(a *API, path string) {
	enumerateFilter(a, path)
	enumerate(a, path, "sort", lifecycle.Sorts())
}

func (a *API) listTasks(ctx context.Context, in *TasksQuery) (*reply[List[TaskRow]], error) {
	l, wrongPage := a.listRequest(ctx, in.PageQuery)
	filter, wrongFilter := lifecycle.ParseFilter(l.values, l.base.Time())
	if err := together(wrongFilter, wrongPage); err != nil {
		return nil, err
	}
	found, err := a.cfg.Query.Tasks(ctx, filter, l.from.Page(l.limit))
	if err != nil {
		return nil, err
	}
	gaps, err := a.gapsOfList(ctx, found, filter)
	if err != nil {
		return nil, err
	}
	rows := make([]TaskRow, len(found.Rows))
	for i, s := range found.Rows {
		rows[i] = rowOf(s)
	}
	return listReply(ctx, l, rows, pageOf(l, found), gaps), nil
}

func pageOf(l listRequest, found query.TaskList) Page {
	return Page{Next: l.cursor(query.CursorOf(found.Next, false)), Prev: l.cursor(query.CursorOf(found.Prev, true))}
}

// gapsOfList are the gaps in the time that the rows of a list tell of.
func (a *API) gapsOfList(ctx context.Context, found query.TaskList, f lifecycle.Filter) ([]GapRef, error) {
	from, to := found.Span(f)
	return a.gapRefs(ctx, from, to)
}

// TaskCounts is the answer of the counts call.
type TaskCounts struct {
	Counts map[string]int64 `json:"counts" doc:"Tasks per state; every state is present."`
	Total  int64            `json:"total" example:"26147"`
	Capped bool             `json:"capped" doc:"Only the first 10,000 rows were counted: the numbers are lower bounds."`
	AsOf   Instant          `json:"as_of"`
	Gaps   []GapRef         `json:"gaps" nullable:"false"`
}

func (a *API) countTasks(ctx context.Context, _ *struct{ FilterQuery }) (*reply[TaskCounts], error) {
	filter, err := lifecycle.ParseFilter(requestOf(ctx).URL.Query(), a.now().Time())
	if err != nil {
		return nil, err
	}
	counts, err := a.cfg.Query.Counts(ctx, filter)
	if err != nil {
		return nil, err
	}
	body := TaskCounts{Counts: countsOf(counts), Total: counts.Total(), Capped: counts.Capped, AsOf: Instant(a.now())}
	if body.Gaps, err = a.gapRefs(ctx, filter.From, filter.To); err != nil {
		return nil, err
	}
	stable := body
	stable.AsOf = 0
	return tagged(ctx, body, stable), nil
}

// countsOf names every state.
func countsOf(c query.StateCounts) map[string]int64 {
	out := map[string]int64{}
	for _, s := range lifecycle.States() {
		out[string(s)] = c.Of(s)
	}
	return out
}
