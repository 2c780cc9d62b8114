package query

import (
	"context"
	"time"

	"fleetglass/lifecycle"
)

// depth is the length of the queue at the end of each step. The rollups hold by how much it grew and shrank: the sum of all months before, then of
// the hours since, is the depth where the span begins.
func (s *Service) depth(ctx context.Context, span HistorySpan, agent string) ([]int64, error) {
	q := queueSums{store: s.cfg.Store, agent: agent}
	month := lifecycle.MetricQueueMonth.Bucket(span.From)
	hour := span.From.Truncate(time.Hour)
	base := q.sum(ctx, lifecycle.MetricQueueMonth, 1, month) + q.sum(ctx, lifecycle.MetricQueue, month, hour)
	metric := lifecycle.MetricQueue
	if span.minutes() {
		metric = lifecycle.MetricQueueMin
		base += q.sum(ctx, metric, hour, span.From)
	}
	out := make([]int64, span.Steps())
	q.each(ctx, metric, span.From, span.To, func(at lifecycle.Micros, n int64) {
		if i, inside := span.step(at); inside {
			out[i] += n
		}
	})
	for i := range out {
		base += out[i]
		out[i] = max(0, base)
	}
	return out, q.err
}

// queueSums adds up changes of the queue. After an error it does nothing more.
type queueSums struct {
	store Store
	agent string
	err   error
}

func (q *queueSums) each(ctx context.Context, metric lifecycle.Metric, from, to lifecycle.Micros, visit func(at lifecycle.Micros, n int64)) {
	if q.err != nil || from >= to {
		return
	}
	cells, err := q.store.Rollups(ctx, []lifecycle.Metric{metric}, from, to, q.agent != "")
	if err != nil {
		q.err = err
		return
	}
	for c, n := range cells {
		if q.agent == "" || c.Agent == q.agent {
			visit(c.Bucket, n)
		}
	}
}

func (q *queueSums) sum(ctx context.Context, metric lifecycle.Metric, from, to lifecycle.Micros) (sum int64) {
	q.each(ctx, metric, from, to, func(_ lifecycle.Micros, n int64) { sum += n })
	return sum
}
