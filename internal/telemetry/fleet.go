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
	"fleetglass/query"
)

const fleetTimeout = 5 * time.Second

// Questions are what the fleet's metrics are made of; [query.Service] answers them.
type Questions interface {
	Agents(ctx context.Context) (query.Agents, error)
	Today(ctx context.Context) (query.Today, error)
	RecentGaps(ctx context.Context) ([]lifecycle.Gap, error)
	Quarantine(ctx context.Context, limit int) ([]lifecycle.QuarantinedLine, int64, error)
}

// Fleet exports the metrics about the fleet (SPEC 7), asked for when they are.
type Fleet struct {
	ask    Questions
	labels agentLabels

	mu    sync.Mutex
	daily dailyCounters
}

// NewFleet returns the collector of the fleet's metrics.
func NewFleet(ask Questions) *Fleet { return &Fleet{ask: ask} }

var (
	tasksDesc = prometheus.NewDesc("fleetglass_tasks", "Tasks by agent and state.", []string{"agent", "state"}, nil)
	inFlight  = prometheus.NewDesc("fleetglass_in_flight", "Messages that some worker holds.", []string{"agent"}, nil)
	staleDesc = prometheus.NewDesc("fleetglass_stale_in_flight", "Leases with something wrong, by what is wrong.", []string{"agent", "kind"}, nil)
	queueAge  = prometheus.NewDesc("fleetglass_pending_queue_age_seconds", "Age of the oldest message that no worker has now.", []string{"agent"}, nil)
	partial   = prometheus.NewDesc("fleetglass_in_flight_partial", "1 when more messages are open than were looked at, so that counts of leases read: at least.", nil, nil)
	gapsDesc  = prometheus.NewDesc("fleetglass_capture_gaps", "Spans of the last day in which we may have been blind and that were not repaired.",
		[]string{"source"}, nil)
	quarantine = prometheus.NewDesc("fleetglass_quarantined_lines", "Undecodable lines that are kept.", nil, nil)
	scrapeOK   = prometheus.NewDesc("fleetglass_fleet_metrics_ok", "1 when the metrics about the fleet could be read.", nil, nil)
)

// Describe implements prometheus.Collector.
func (f *Fleet) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{tasksDesc, inFlight, staleDesc, queueAge, partial, gapsDesc, quarantine, scrapeOK} {
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
	for _, m := range f.read() {
		out <- m
	}
}

func (f *Fleet) read() []prometheus.Metric {
	ctx, cancel := context.WithTimeout(context.Background(), fleetTimeout)
	defer cancel()
	s := sampler{labels: &f.labels}
	for _, part := range []func(context.Context, *sampler) error{f.agents, f.today, f.blindness} {
		if err := part(ctx, &s); err != nil {
			return []prometheus.Metric{prometheus.MustNewConstMetric(scrapeOK, prometheus.GaugeValue, 0), prometheus.NewInvalidMetric(scrapeErr, err)}
		}
	}
	s.gauge(scrapeOK, 1)
	return s.metrics
}

var scrapeErr = prometheus.NewDesc("fleetglass_fleet_metrics_error", "Why the metrics about the fleet could not be read.", nil, nil)

// agents exports tasks, leases and what waits, by agent.
func (f *Fleet) agents(ctx context.Context, s *sampler) error {
	agents, err := f.ask.Agents(ctx)
	if err != nil {
		return fmt.Errorf("ask for the agents: %w", err)
	}
	var l loads
	for _, a := range append(slices.Clone(agents.All), agents.Unnamed) {
		l.add(s.agent(a.Name), a, agents.AsOf)
	}
	s.gauges(tasksDesc, l.tasks)
	s.gauges(staleDesc, l.stale)
	for _, agent := range slices.Sorted(maps.Keys(l.held)) {
		s.gauge(inFlight, l.held[agent], agent)
		s.gauge(queueAge, l.age[agent], agent)
	}
	s.gauge(partial, map[bool]float64{true: 1}[agents.Partial])
	return nil
}

// loads gathers the values of agents by their labels, which several may share.
type loads struct {
	tasks, stale map[[2]string]float64
	held, age    map[string]float64
}

func (l *loads) add(label string, a query.AgentStatistics, now lifecycle.Micros) {
	if l.tasks == nil {
		*l = loads{map[[2]string]float64{}, map[[2]string]float64{}, map[string]float64{}, map[string]float64{}}
	}
	for state, n := range a.States {
		l.tasks[[2]string{label, string(state)}] += float64(n)
	}
	for _, lease := range a.Leases {
		if lease.Stale != "" {
			l.stale[[2]string{label, string(lease.Stale)}]++
		}
	}
	if label == "" && len(a.Leases) == 0 && !a.OldestWaiting.Known() {
		return
	}
	l.held[label] += float64(a.Held())
	if a.OldestWaiting.Known() {
		l.age[label] = max(l.age[label], now.Sub(a.OldestWaiting).Seconds())
	}
}

func (f *Fleet) blindness(ctx context.Context, s *sampler) error {
	gaps, err := f.ask.RecentGaps(ctx)
	if err != nil {
		return fmt.Errorf("read gaps: %w", err)
	}
	counts := map[string]float64{}
	for _, g := range query.OpenGaps(gaps) {
		counts[printable(g.Source)]++
	}
	for _, source := range slices.Sorted(maps.Keys(counts)) {
		s.gauge(gapsDesc, counts[source], source)
	}
	_, kept, err := f.ask.Quarantine(ctx, 1)
	if err != nil {
		return fmt.Errorf("read quarantine: %w", err)
	}
	s.gauge(quarantine, float64(kept))
	return nil
}

// sampler gathers metrics and keeps the number of agents within bounds.
type sampler struct {
	metrics []prometheus.Metric
	labels  *agentLabels
}

func (s *sampler) agent(name string) string { return s.labels.label(name) }

func (s *sampler) gauge(d *prometheus.Desc, value float64, labels ...string) {
	s.metrics = append(s.metrics, prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...))
}

func (s *sampler) gauges(d *prometheus.Desc, values map[[2]string]float64) {
	for labels, value := range values {
		s.gauge(d, value, labels[0], labels[1])
	}
}
