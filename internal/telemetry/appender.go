package telemetry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fleetglass/lifecycle"
)

// Appender counts what is appended through it.
type Appender struct {
	next                               lifecycle.Appender
	now                                func() time.Time
	events, known, quarantined, failed prometheus.Counter
	seconds                            prometheus.Histogram
}

// NewAppender wraps next and registers its metrics.
func NewAppender(r *Registry, next lifecycle.Appender, now func() time.Time) *Appender {
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		r.MustRegister(c)
		return c
	}
	a := &Appender{
		next: next, now: now,
		events:      counter("fleetglass_events_appended_total", "Events that were new to the store."),
		known:       counter("fleetglass_events_known_total", "Events that were delivered again and changed nothing."),
		quarantined: counter("fleetglass_lines_quarantined_total", "Lines that could not be decoded, since start."),
		failed:      counter("fleetglass_append_failures_total", "Batches that the store did not take."),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "fleetglass_append_seconds", Help: "Time to commit a batch.", Buckets: prometheus.ExponentialBuckets(0.001, 2.5, 9),
		}),
	}
	r.MustRegister(a.seconds)
	return a
}

// Append implements lifecycle.Appender.
func (a *Appender) Append(ctx context.Context, b lifecycle.Batch) (lifecycle.Appended, error) {
	begin := a.now()
	done, err := a.next.Append(ctx, b)
	if err != nil {
		a.failed.Inc()
		return done, err
	}
	a.seconds.Observe(a.now().Sub(begin).Seconds())
	a.events.Add(float64(done.New))
	a.known.Add(float64(len(b.Events) - done.New))
	a.quarantined.Add(float64(len(b.Quarantined)))
	return done, nil
}
