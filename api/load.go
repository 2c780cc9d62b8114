package api

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"fleetglass/lifecycle"
)

// load is what the rollups, the consumers and the leases say about all agents.
type load struct {
	now     lifecycle.Micros
	fleet   fleetContext
	held    holdings
	byAgent map[string]lifecycle.Tally
	agentOf func(string) string
}

// load reads what is known of all agents.
func (s *snapshot) load(ctx context.Context, now lifecycle.Micros) (load, error) {
	l := load{now: now, byAgent: map[string]lifecycle.Tally{}, agentOf: s.agentOf}
	var err error
	if l.fleet, err = s.fleet(ctx, now); err != nil {
		return l, err
	}
	if l.held, err = s.holdings(ctx, now); err != nil {
		return l, err
	}
	tally, err := s.agentTally(ctx, now)
	if err != nil {
		return l, err
	}
	for c, n := range tally {
		if l.byAgent[c.Agent] == nil {
			l.byAgent[c.Agent] = lifecycle.Tally{}
		}
		l.byAgent[c.Agent][c] = n
	}
	return l, nil
}

// agentTally reads three spans of rollups: a week of durations, a day by hours and an hour by minutes.
func (s *snapshot) agentTally(ctx context.Context, now lifecycle.Micros) (lifecycle.Tally, error) {
	return s.tally.get(now, holdingsAge, func() (lifecycle.Tally, error) {
		out := lifecycle.Tally{}
		for _, part := range []struct {
			span    time.Duration
			metrics []lifecycle.Metric
		}{
			{typicalSpan, []lifecycle.Metric{lifecycle.MetricRunning}},
			{24 * time.Hour, []lifecycle.Metric{
				lifecycle.MetricState, lifecycle.MetricPublished, lifecycle.MetricCompleted, lifecycle.MetricFailedAttempts,
				lifecycle.MetricDied, lifecycle.MetricDuplicates,
			}},
			{time.Hour, []lifecycle.Metric{lifecycle.MetricPublishedMin, lifecycle.MetricCompletedMin, lifecycle.MetricFailedMin}},
		} {
			tally, err := s.store.Rollups(ctx, part.metrics, now.Add(-part.span), now+1, true)
			if err != nil {
				return nil, err
			}
			maps.Copy(out, tally)
		}
		return out, nil
	})
}

// agents lists the names of all agents that anything is known of, sorted.
func (l load) agents() []string {
	names := map[string]bool{}
	for name := range l.byAgent {
		names[name] = true
	}
	for _, c := range l.fleet.consumers {
		names[l.agentOf(c.Name)] = true
	}
	for _, lease := range l.held.leases {
		names[lease.Agent] = true
	}
	delete(names, "")
	return slices.Sorted(maps.Keys(names))
}

func (l load) agent(name string) Agent {
	out := Agent{
		Agent: name, States: map[string]int64{}, Failures: Failures{HowDay: map[string]int64{}}, Consumers: []Consumer{},
		Queue: Queue{OldestAt: Instant(l.held.oldest[name])},
		Links: AgentLinks{Self: agentPath(name), Tasks: tasksOfAgent(name)},
	}
	seen := l.count(&out, name)
	for _, lease := range l.held.leases {
		if lease.Agent != name {
			continue
		}
		out.InFlight++
		if lease.Stale != "" {
			out.Stale++
		}
		seen = max(seen, lease.BeganAt, lease.LastBeat)
	}
	for _, c := range l.fleet.consumers {
		if l.agentOf(c.Name) != name {
			continue
		}
		out.Consumers = append(out.Consumers, consumerOf(c))
		seen = max(seen, c.DeliveredAt)
		if !c.Gone {
			pending := c.Pending
			if out.Queue.Pending != nil {
				pending += *out.Queue.Pending
			}
			out.Queue.Pending = &pending
		}
	}
	if t := typicalOverAll(l.byAgent[name]); t.Sample > 0 {
		out.Durations = just(Typical{P50MS: t.P50.Milliseconds(), P95MS: t.P95.Milliseconds(), Sample: t.Sample})
	}
	out.LastSeenAt = Instant(seen)
	return out
}

// count adds the rollups of an agent and returns the last minute in which it answered.
func (l load) count(out *Agent, name string) (answered lifecycle.Micros) {
	for c, n := range l.byAgent[name] {
		switch c.Metric {
		case lifecycle.MetricState:
			out.States[c.Label] += n
			out.Tasks += n
		case lifecycle.MetricPublished:
			out.Throughput.PublishedDay += n
		case lifecycle.MetricCompleted:
			out.Throughput.CompletedDay += n
		case lifecycle.MetricFailedAttempts:
			out.Failures.AttemptsDay += n
			out.Failures.HowDay[c.Label] += n
		case lifecycle.MetricDied:
			out.Failures.DiedDay += n
		case lifecycle.MetricPublishedMin:
			out.Throughput.PublishedHour += n
		case lifecycle.MetricCompletedMin:
			out.Throughput.CompletedHour += n
			answered = max(answered, c.Bucket)
		case lifecycle.MetricFailedMin:
			out.Failures.AttemptsHour += n
		}
	}
	out.Throughput.PerMinute = float64(out.Throughput.CompletedHour) / 60
	return answered
}

func (l load) minutes(name string) []Minute {
	byMinute := map[lifecycle.Micros]*Minute{}
	for c, n := range l.byAgent[name] {
		if !c.Metric.Minute() {
			continue
		}
		m := byMinute[c.Bucket]
		if m == nil {
			m = &Minute{At: Instant(c.Bucket)}
			byMinute[c.Bucket] = m
		}
		switch c.Metric {
		case lifecycle.MetricPublishedMin:
			m.Published += n
		case lifecycle.MetricCompletedMin:
			m.Completed += n
		case lifecycle.MetricFailedMin:
			m.Failed += n
		}
	}
	out := []Minute{}
	for _, at := range slices.Sorted(maps.Keys(byMinute)) {
		out = append(out, *byMinute[at])
	}
	return out
}

func (l load) types(name string) []Kind {
	typical := lifecycle.TypicalDurations(l.byAgent[name])
	out := []Kind{}
	for _, taskType := range slices.Sorted(maps.Keys(typical)) {
		out = append(out, Kind{Type: taskType, Typical: *typicalOf(typical, taskType).Value})
	}
	return out
}

// typicalOverAll is the distribution over all task types.
func typicalOverAll(t lifecycle.Tally) lifecycle.Typical {
	merged := lifecycle.Tally{}
	for c, n := range t {
		if i := strings.LastIndexByte(c.Label, '|'); c.Metric == lifecycle.MetricRunning && i >= 0 {
			merged[lifecycle.Cell{Metric: c.Metric, Label: c.Label[i:]}] += n
		}
	}
	return lifecycle.TypicalDurations(merged)[""]
}

func consumerOf(c lifecycle.ConsumerState) Consumer {
	out := Consumer{
		Stream: c.Stream.String(), Name: c.Name, Filters: append([]string{}, c.Filters...), AckWaitMS: c.AckWait.Milliseconds(), BackoffMS: []int64{},
		MaxDeliver: Count(max(0, c.MaxDeliver)), MaxAckPending: c.MaxAckPending, AckPending: c.AckPending, Redelivered: c.Redelivered,
		Pending: c.Pending, Waiting: c.Waiting, DeliveredSeq: Sequence(c.DeliveredSeq), DeliveredAt: Instant(c.DeliveredAt),
		ObservedAt: Instant(c.ObservedAt), Paused: c.Paused, Gone: c.Gone,
	}
	for _, d := range c.Backoff {
		out.BackoffMS = append(out.BackoffMS, d.Milliseconds())
	}
	return out
}
