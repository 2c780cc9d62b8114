package telemetry

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fleetglass/lifecycle"
)

const (
	fleetCache   = 5 * time.Second
	fleetTimeout = 5 * time.Second
	openLimit    = 20_000 // Open messages looked at for ages and leases.
	agentLimit   = 200    // Agents with labels of their own; the rest is "other".
	gapSpan      = 24 * time.Hour
)

// FleetReader is what the fleet's metrics are made of.
type FleetReader interface {
	Rollups(ctx context.Context, metrics []lifecycle.Metric, from, to lifecycle.Micros, byAgent bool) (lifecycle.Tally, error)
	OpenMessages(ctx context.Context, stream lifecycle.StreamID, from uint64, limit int) ([]lifecycle.OpenMessage, error)
	Consumers(ctx context.Context) ([]lifecycle.ConsumerState, error)
	Gaps(ctx context.Context, from, to lifecycle.Micros, limit int) ([]lifecycle.Gap, error)
	Quarantine(ctx context.Context, limit int) ([]lifecycle.QuarantinedLine, int64, error)
}

// Fleet exports the metrics about the fleet (SPEC 7), read from the store when they are asked for, at most every five seconds.
type Fleet struct {
	store FleetReader
	now   func() time.Time

	mu     sync.Mutex
	readAt time.Time
	sample []prometheus.Metric
	daily  dailyCounters
}

// NewFleet returns the collector of the fleet's metrics.
func NewFleet(store FleetReader, now func() time.Time) *Fleet {
	return &Fleet{store: store, now: now}
}

var (
	tasksDesc = prometheus.NewDesc("fleetglass_tasks", "Tasks by agent and state.", []string{"agent", "state"}, nil)
	inFlight  = prometheus.NewDesc("fleetglass_in_flight", "Messages that some worker holds.", []string{"agent"}, nil)
	staleDesc = prometheus.NewDesc("fleetglass_stale_in_flight", "Leases with something wrong, by what is wrong.", []string{"agent", "kind"}, nil)
	queueAge  = prometheus.NewDesc("fleetglass_pending_queue_age_seconds", "Age of the oldest message that no worker has taken yet.", []string{"agent"}, nil)
	gapsDesc  = prometheus.NewDesc("fleetglass_capture_gaps", "Spans of the last day in which we may have been blind and that were not repaired.",
		[]string{"source"}, nil)
	quarantine = prometheus.NewDesc("fleetglass_quarantined_lines", "Undecodable lines that are kept.", nil, nil)
	scrapeOK   = prometheus.NewDesc("fleetglass_fleet_metrics_ok", "1 when the metrics about the fleet could be read.", nil, nil)
)

// Describe implements prometheus.Collector.
func (f *Fleet) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{tasksDesc, inFlight, staleDesc, queueAge, gapsDesc, quarantine, scrapeOK} {
		out <- d
	}
	for _, d := range dailyDescs {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (f *Fleet) Collect(out chan<- prometheus.Metric) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := f.now(); f.readAt.IsZero() || now.Sub(f.readAt) >= fleetCache || now.Before(f.readAt) {
		f.sample, f.readAt = f.read(now), now
	}
	for _, m := range f.sample {
		out <- m
	}
}

func (f *Fleet) read(now time.Time) []prometheus.Metric {
	ctx, cancel := context.WithTimeout(context.Background(), fleetTimeout)
	defer cancel()
	var s sampler
	at := lifecycle.MicrosOf(now)
	for _, part := range []func(context.Context, *sampler, lifecycle.Micros) error{f.states, f.leases, f.today, f.blindness} {
		if err := part(ctx, &s, at); err != nil {
			return []prometheus.Metric{prometheus.MustNewConstMetric(scrapeOK, prometheus.GaugeValue, 0), prometheus.NewInvalidMetric(scrapeErr, err)}
		}
	}
	s.gauge(scrapeOK, 1)
	return s.metrics
}

var scrapeErr = prometheus.NewDesc("fleetglass_fleet_metrics_error", "Why the metrics about the fleet could not be read.", nil, nil)

func (f *Fleet) states(ctx context.Context, s *sampler, _ lifecycle.Micros) error {
	tally, err := f.store.Rollups(ctx, []lifecycle.Metric{lifecycle.MetricState}, 0, 0, true)
	if err != nil {
		return fmt.Errorf("read task counts: %w", err)
	}
	counts := map[[2]string]float64{}
	for cell, n := range tally {
		counts[[2]string{s.agent(cell.Agent), cell.Label}] += float64(n)
	}
	s.gauges(tasksDesc, counts)
	return nil
}

func (f *Fleet) leases(ctx context.Context, s *sampler, now lifecycle.Micros) error {
	open, err := f.store.OpenMessages(ctx, lifecycle.StreamID{}, 0, openLimit)
	if err != nil {
		return fmt.Errorf("read open messages: %w", err)
	}
	consumers, err := f.store.Consumers(ctx)
	if err != nil {
		return fmt.Errorf("read consumers: %w", err)
	}
	held, ages, stale := map[string]float64{}, map[string]float64{}, map[[2]string]float64{}
	for _, o := range open {
		agent := s.agent(o.Message.Agent)
		held[agent] += 0
		lease, ok := lifecycle.LeaseOf(o, consumerOf(consumers, o.Message), lifecycle.Typical{}, now)
		switch {
		case ok && lease.State.InFlight():
			held[agent]++
		case o.Message.Stored != nil && o.Message.CurrentAttempt() == 0:
			ages[agent] = max(ages[agent], now.Sub(o.Message.Stored.At).Seconds())
		}
		if ok && lease.Stale != "" {
			stale[[2]string{agent, string(lease.Stale)}]++
		}
	}
	for _, agent := range slices.Sorted(maps.Keys(held)) {
		s.gauge(inFlight, held[agent], agent)
		s.gauge(queueAge, ages[agent], agent)
	}
	s.gauges(staleDesc, stale)
	return nil
}

func consumerOf(consumers []lifecycle.ConsumerState, m lifecycle.MessageFacts) *lifecycle.ConsumerState {
	for i, c := range consumers {
		if c.Name == m.Consumer && c.Stream == m.Key.Stream {
			return &consumers[i]
		}
	}
	return nil
}

func (f *Fleet) blindness(ctx context.Context, s *sampler, now lifecycle.Micros) error {
	gaps, err := f.store.Gaps(ctx, now.Add(-gapSpan), now, 1000)
	if err != nil {
		return fmt.Errorf("read gaps: %w", err)
	}
	counts := map[string]float64{}
	for _, g := range gaps {
		if !g.Repaired {
			counts[g.Source]++
		}
	}
	for _, source := range slices.Sorted(maps.Keys(counts)) {
		s.gauge(gapsDesc, counts[source], source)
	}
	_, kept, err := f.store.Quarantine(ctx, 1)
	if err != nil {
		return fmt.Errorf("read quarantine: %w", err)
	}
	s.gauge(quarantine, float64(kept))
	return nil
}

// sampler gathers metrics and keeps the number of agents within bounds.
type sampler struct {
	metrics []prometheus.Metric
	agents  map[string]bool
}

func (s *sampler) agent(name string) string {
	if s.agents[name] {
		return name
	}
	if len(s.agents) >= agentLimit {
		return "other"
	}
	if s.agents == nil {
		s.agents = map[string]bool{}
	}
	s.agents[name] = true
	return name
}

func (s *sampler) gauge(d *prometheus.Desc, value float64, labels ...string) {
	s.metrics = append(s.metrics, prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...))
}

func (s *sampler) gauges(d *prometheus.Desc, values map[[2]string]float64) {
	for labels, value := range values {
		s.gauge(d, value, labels[0], labels[1])
	}
}
