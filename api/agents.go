package api

import (
	"context"
	"slices"

	"fleetglass/internal/httperr"
)

// Agent is an agent and its load.
type Agent struct {
	Agent      string           `json:"agent" example:"marketing"`
	States     map[string]int64 `json:"states" doc:"Its tasks per state; states without tasks are absent."`
	Tasks      int64            `json:"tasks" example:"512"`
	InFlight   int              `json:"in_flight" doc:"Messages in its workers' hands now." example:"1"`
	Stale      int              `json:"stale" doc:"Of these, those with something wrong." example:"0"`
	Queue      Queue            `json:"queue"`
	Throughput Throughput       `json:"throughput"`
	Failures   Failures         `json:"failures"`
	Durations  Maybe[Typical]   `json:"durations" doc:"Running time of the tasks it completed in the last 7 days; null when there are none."`
	LastSeenAt Instant          `json:"last_seen_at" doc:"Its last sign of life: a delivery taken, a heartbeat, or an answer (to the minute)."`
	Consumers  []Consumer       `json:"consumers" nullable:"false"`
	Links      AgentLinks       `json:"links"`
}

// Queue is what waits for an agent.
type Queue struct {
	Pending  *uint64 `json:"pending" doc:"Stored messages that its consumers have not delivered, said by the broker; null when it did not say."`
	OldestAt Instant `json:"oldest_at" doc:"When the oldest message that nobody has taken was stored."`
}

// Throughput counts messages.
type Throughput struct {
	PublishedHour int64   `json:"published_last_hour" example:"12"`
	CompletedHour int64   `json:"completed_last_hour" example:"11"`
	PublishedDay  int64   `json:"published_last_day" example:"240"`
	CompletedDay  int64   `json:"completed_last_day" example:"233"`
	PerMinute     float64 `json:"completed_per_minute" doc:"Mean of the last hour." example:"0.18"`
}

// Failures counts what went wrong.
type Failures struct {
	AttemptsHour int64            `json:"attempts_last_hour" doc:"Attempts that ended by nak, termination or timeout." example:"1"`
	AttemptsDay  int64            `json:"attempts_last_day" example:"9"`
	HowDay       map[string]int64 `json:"how_last_day" doc:"The same by how they ended."`
	DiedDay      int64            `json:"died_last_day" doc:"Tasks that ended exhausted, dead-lettered or unknown." example:"2"`
}

// Consumer is what the broker says about a durable.
type Consumer struct {
	Stream        string   `json:"stream" example:"TASKS"`
	Name          string   `json:"name" example:"marketing-task-worker"`
	Filters       []string `json:"filters" nullable:"false"`
	AckWaitMS     int64    `json:"ack_wait_ms" example:"300000"`
	BackoffMS     []int64  `json:"backoff_ms" nullable:"false"`
	MaxDeliver    Count    `json:"max_deliver" doc:"Null: without limit." example:"3"`
	MaxAckPending int      `json:"max_ack_pending" example:"1"`
	AckPending    int      `json:"ack_pending" example:"1"`
	Redelivered   int      `json:"redelivered" example:"0"`
	Pending       uint64   `json:"pending" example:"4"`
	Waiting       int      `json:"waiting_pulls" example:"1"`
	DeliveredSeq  Sequence `json:"delivered_seq"`
	DeliveredAt   Instant  `json:"delivered_at"`
	ObservedAt    Instant  `json:"observed_at"`
	Paused        bool     `json:"paused"`
	Gone          bool     `json:"gone" doc:"It was there before and is not now."`
}

// AgentLinks are the addresses of an agent.
type AgentLinks struct {
	Self  string `json:"self" example:"/api/v1/agents/marketing"`
	Tasks string `json:"tasks" example:"/api/v1/tasks?agent=marketing"`
}

// AgentDetail is one agent with its last hour.
type AgentDetail struct {
	Agent
	Minutes []Minute `json:"minutes" nullable:"false" doc:"The last hour by minute, oldest first; minutes without events are absent."`
	Types   []Kind   `json:"types" nullable:"false" doc:"What it completed in the last 7 days, by task type."`
	Gaps    []GapRef `json:"gaps" nullable:"false"`
	AsOf    Instant  `json:"as_of"`
}

// Minute counts the messages of one minute.
type Minute struct {
	At        Instant `json:"at"`
	Published int64   `json:"published"`
	Completed int64   `json:"completed"`
	Failed    int64   `json:"failed"`
}

// Kind is how long an agent takes for a task type.
type Kind struct {
	Type    string  `json:"type" example:"content_creation"`
	Typical Typical `json:"typical"`
}

// AgentsQuery is the query of the agent list.
type AgentsQuery struct{ PageQuery }

// AgentPathInput names an agent.
type AgentPathInput struct {
	Agent string `path:"agent" doc:"The agent's name as one escaped path segment."`
}

func (a *API) listAgents(ctx context.Context, in *AgentsQuery) (*reply[List[Agent]], error) {
	l, err := a.listRequest(ctx, in.PageQuery)
	if err != nil {
		return nil, err
	}
	load, err := a.fleet.load(ctx, l.now)
	if err != nil {
		return nil, err
	}
	gaps, err := a.gapRefs(ctx, 0, 0)
	if err != nil {
		return nil, err
	}
	names, p := window(l, load.agents(), func(name string) cursor { return cursor{Key: name} })
	rows := make([]Agent, len(names))
	for i, name := range names {
		rows[i] = load.agent(name)
	}
	return listReply(ctx, l, rows, p, gaps), nil
}

func (a *API) getAgent(ctx context.Context, in *AgentPathInput) (*reply[AgentDetail], error) {
	now := a.now()
	load, err := a.fleet.load(ctx, now)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(load.agents(), in.Agent) {
		return nil, httperr.New(httperr.NotFound, nil).WithDetail("No agent of that name was seen.")
	}
	gaps, err := a.gapRefs(ctx, 0, 0)
	if err != nil {
		return nil, err
	}
	body := AgentDetail{
		Agent: load.agent(in.Agent), Minutes: load.minutes(in.Agent), Types: load.types(in.Agent), Gaps: gaps, AsOf: Instant(now),
	}
	stable := body
	stable.AsOf = 0
	return tagged(ctx, body, stable), nil
}
