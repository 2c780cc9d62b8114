package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"fleetglass/internal/health"
)

var (
	partUp = prometheus.NewDesc("fleetglass_part_up", "1 while the part does its work, 0 while it is down or starting.",
		[]string{"part", "kind", "state"}, nil)
	partLag        = prometheus.NewDesc("fleetglass_collector_lag_seconds", "How far the part is behind its source; not told while it looks at nothing.", []string{"part"}, nil)
	partPending    = prometheus.NewDesc("fleetglass_collector_pending_lines", "Lines that wait at the source.", []string{"part"}, nil)
	partHandled    = prometheus.NewDesc("fleetglass_collector_lines_total", "Lines taken in since start.", []string{"part"}, nil)
	partQuarantine = prometheus.NewDesc("fleetglass_collector_quarantined_total", "Undecodable lines since start.", []string{"part"}, nil)
)

// Health exports how the parts of the program are. The names of parts are fixed in the code, so the labels are bounded.
type Health struct{ Parts health.Reporter }

// Describe implements prometheus.Collector.
func (Health) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{partUp, partLag, partPending, partHandled, partQuarantine} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (h Health) Collect(out chan<- prometheus.Metric) {
	for _, p := range h.Parts.Health() {
		up := 1.0
		if !health.Ready([]health.Part{p}) {
			up = 0
		}
		out <- prometheus.MustNewConstMetric(partUp, prometheus.GaugeValue, up, p.Name, p.Kind, string(p.State))
		if p.Kind != "collector" {
			continue
		}
		if p.Measured() {
			out <- prometheus.MustNewConstMetric(partLag, prometheus.GaugeValue, p.Lag.Seconds(), p.Name)
			out <- prometheus.MustNewConstMetric(partPending, prometheus.GaugeValue, float64(p.Pending), p.Name)
		}
		out <- prometheus.MustNewConstMetric(partHandled, prometheus.CounterValue, float64(p.Handled), p.Name)
		out <- prometheus.MustNewConstMetric(partQuarantine, prometheus.CounterValue, float64(p.Quarantine), p.Name)
	}
}
