package api

import (
	"context"
	"slices"

	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
	"fleetglass/query"
)

// Agent is an agent and its load.
type Agent struct {
	Agent      string           `json:"agent" example:"marketing"`
	States     map[string]int64 `json:"states" doc:"Its tasks per state; states without tasks are absent."`
	Tasks      int64            `json:"tasks" example:"512"`
	InFlight   int              `json:"in_flight" doc:"Messages in its workers' hands now." example:"1"`
	Stale      int              `json:"stale" doc:"How many of these leases have something wrong." example:"0"`
	Queue      Queue            `json:"queue"`
	Throughput Throughput       `json:"throughput"`
	Failures   Failures         `json:"failures"`
	Durations  Maybe[Typical]   `json:"durations" doc:"Running time of the tasks it completed in the last 7 days; null when there are none."`
	CostDay    *float64         `json:"cost_usd_last_day" doc:"Reported cost of its tasks that were published in the last 24 hours; null when none was reported." example:"4.2"`
	LastSeenAt Instant          `json:"last_seen_at" doc:"When it last took a delivery, sent a heartbeat or answered, to the minute."`
	Consumers  []Consumer       `json:"consumers" nullable:"false" doc:"Those that are named after it, and other workers' consumers that take its tasks."`
	Links      AgentLinks       `json:"links"`
}

// Queue is what waits for an agent.
type Queue struct {
	Pending  *uint64 `json:"pending" doc:"Stored messages that its consumers have not delivered, by the state of the broker, without those of consumers that take other agents' tasks too; null when that is not known."`
	OldestAt Instant `json:"oldest_at" doc:"When the oldest message that no worker has now was stored."`
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
	AttemptsHour int64            `json:"attempts_last_hour" doc:"Attempts that ended by nak, termination or timeout. One of which only its agent's reports tell is not counted." example:"1"`
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
	Waiting       int      `json:"waiting_pulls" doc:"Pull requests that wait. Zero where the broker sends (push)." example:"1"`
	Push          bool     `json:"push" doc:"The broker sends to whoever is subscribed; nobody pulls."`
	PushBound     bool     `json:"push_bound" doc:"Somebody is subscribed to what the broker sends."`
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
	Others  bool    `json:"others" doc:"It stands for all types beyond the first 200 of the agent, which are counted together; type is empty."`
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
	agents, err := a.cfg.Query.Agents(ctx)
	if err != nil {
		return nil, err
	}
	gaps, err := a.recentGapRefs(ctx)
	if err != nil {
		return nil, err
	}
	l.now = agents.AsOf
	page, p := window(l, slices.Clone(agents.All), func(s query.AgentStatistics) query.Cursor { return query.Cursor{Key: s.Name} })
	rows := make([]Agent, len(page))
	for i, s := range page {
		rows[i] = agentOf(s)
	}
	return listReply(ctx, l, rows, p, gaps), nil
}

func (a *API) getAgent(ctx context.Context, in *AgentPathInput) (*reply[AgentDetail], error) {
	agents, err := a.cfg.Query.Agents(ctx)
	if err != nil {
		return nil, err
	}
	s := agents.Of(in.Agent)
	if s == nil {
		return nil, httperr.New(httperr.NotFound, nil).WithDetail("No agent of that name was seen; GET /api/v1/agents lists those that were.")
	}
	gaps, err := a.recentGapRefs(ctx)
	if err != nil {
		return nil, err
	}
	body := agentDetailOf(*s)
	body.Gaps, body.AsOf = gaps, Instant(agents.AsOf)
	stable := body
	stable.AsOf = 0
	return tagged(ctx, body, stable), nil
}

func agentOf(s query.AgentStatistics) Agent {
	out := Agent{
		Agent: s.Name, States: map[string]int64{}, Tasks: s.Tasks, InFlight: s.Held(), Stale: s.Stale(), Queue: Queue{OldestAt: Instant(s.OldestWaiting)},
		Throughput: Throughput{
			PublishedHour: s.Hour.Published, CompletedHour: s.Hour.Completed, PublishedDay: s.Day.Published, CompletedDay: s.Day.Completed,
			PerMinute: float64(s.Hour.Completed) / 60,
		},
		Failures: Failures{AttemptsHour: s.Hour.Failed, AttemptsDay: s.Day.Failed, HowDay: s.FailedHow, DiedDay: s.DiedDay},
		CostDay:  reportedCost(s.CostDay.Cost), LastSeenAt: Instant(s.LastSeen), Consumers: []Consumer{}, Links: AgentLinks{Self: agentPath(s.Name), Tasks: tasksOfAgent(s.Name)},
	}
	for state, n := range s.States {
		out.States[string(state)] = n
	}
	for _, c := range s.Consumers {
		out.Consumers = append(out.Consumers, consumerOf(c))
	}
	if s.PendingKnown {
		out.Queue.Pending = &s.Pending
	}
	out.Durations = maybeTypical(s.Durations)
	return out
}

func agentDetailOf(s query.AgentStatistics) AgentDetail {
	out := AgentDetail{Agent: agentOf(s), Minutes: []Minute{}, Types: []Kind{}}
	for _, m := range s.Minutes {
		out.Minutes = append(out.Minutes, Minute{At: Instant(m.At), Published: m.Published, Completed: m.Completed, Failed: m.Failed})
	}
	for _, t := range s.Types {
		if d := t.Durations; d.Sample > 0 {
			kind := Kind{Type: t.Name, Others: t.Others(), Typical: Typical{P50MS: d.P50.Milliseconds(), P95MS: d.P95.Milliseconds(), Sample: d.Sample}}
			if kind.Others {
				kind.Type = ""
			}
			out.Types = append(out.Types, kind)
		}
	}
	return out
}

func consumerOf(c lifecycle.ConsumerState) Consumer {
	out := Consumer{
		Stream: c.Stream.String(), Name: c.Name, Filters: append([]string{}, c.Filters...), AckWaitMS: c.AckWait.Milliseconds(), BackoffMS: []int64{},
		MaxDeliver: Count(max(0, c.MaxDeliver)), MaxAckPending: c.MaxAckPending, AckPending: c.AckPending, Redelivered: c.Redelivered,
		Pending: c.Pending, Waiting: c.Waiting, Push: c.Push, PushBound: c.Bound, DeliveredSeq: Sequence(c.DeliveredSeq), DeliveredAt: Instant(c.DeliveredAt),
		ObservedAt: Instant(c.ObservedAt), Paused: c.Paused, Gone: c.Gone,
	}
	for _, d := range c.Backoff {
		out.BackoffMS = append(out.BackoffMS, d.Milliseconds())
	}
	return out
}
