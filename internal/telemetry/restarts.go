package telemetry

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"fleetglass/query"
	"fleetglass/restarts"
)

// Restarts exports how long the fleet took to recover from the latest restart, and what is still open. Labels are bounded: the causes.
type Restarts struct {
	Latest func(context.Context) ([]restarts.Restart, error) // Required. The latest first.
}

var (
	recoveryDesc = prometheus.NewDesc("fleetglass_recovery_seconds", "How long it took after the latest restart of each kind that is over until it was known what became of every message in hand.", []string{"cause"}, nil)
	victimsDesc  = prometheus.NewDesc("fleetglass_recovery_open_messages", "Messages that were in hand during a restart and of which it is not known yet what became of them.", []string{"cause"}, nil)
)

// Describe implements prometheus.Collector.
func (Restarts) Describe(out chan<- *prometheus.Desc) {
	out <- recoveryDesc
	out <- victimsDesc
}

// Collect implements prometheus.Collector.
func (r Restarts) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), fleetTimeout)
	defer cancel()
	all, err := r.Latest(ctx)
	if err != nil {
		return // The metrics of the fleet say that the store does not answer.
	}
	for _, cause := range restarts.Causes() {
		var of []restarts.Restart
		open := 0
		for _, one := range all {
			if one.Cause == cause {
				of = append(of, one)
				open += one.Open()
			}
		}
		out <- prometheus.MustNewConstMetric(victimsDesc, prometheus.GaugeValue, float64(open), string(cause))
		if last := query.LastRecovered(of); last != nil {
			out <- prometheus.MustNewConstMetric(recoveryDesc, prometheus.GaugeValue, last.RecoveryTime(0).Seconds(), string(cause))
		}
	}
}
