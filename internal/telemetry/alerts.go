package telemetry

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"fleetglass/alerts"
	"fleetglass/query"
)

// Alerts exports how many alerts stand how. Labels are bounded: rules, severities and states are fixed sets.
type Alerts struct {
	Board func(context.Context) (query.Alerts, error) // Required.
}

var alertsDesc = prometheus.NewDesc("fleetglass_alerts", "Alerts on the board, by rule, severity and state; resolved ones of the last day.", []string{"rule", "severity", "state"}, nil)

// Describe implements prometheus.Collector.
func (Alerts) Describe(out chan<- *prometheus.Desc) { out <- alertsDesc }

// Collect implements prometheus.Collector.
func (a Alerts) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), fleetTimeout)
	defer cancel()
	board, err := a.Board(ctx)
	if err != nil {
		return // The metrics of the fleet say that the store does not answer.
	}
	type key struct {
		rule     alerts.RuleID
		severity alerts.Severity
		state    alerts.State
	}
	counts := map[key]float64{}
	for _, s := range board.All {
		counts[key{s.Rule, s.Severity, s.State}]++
	}
	for k, n := range counts {
		out <- prometheus.MustNewConstMetric(alertsDesc, prometheus.GaugeValue, n, string(k.rule), string(k.severity), string(k.state))
	}
}
