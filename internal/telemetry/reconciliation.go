package telemetry

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fleetglass/lifecycle"
	"fleetglass/reconcile"
)

// Reconciliation exports what the newest reconciliation found.
type Reconciliation struct {
	// Latest returns the newest one that is done, or lifecycle.ErrNotFound.
	Latest func(context.Context) (reconcile.Run, error)
}

var (
	discrepanciesDesc = prometheus.NewDesc("fleetglass_reconciliation_discrepancies", "What the newest reconciliation found wrong, by kind.", []string{"kind"}, nil)
	unexplainedDesc   = prometheus.NewDesc("fleetglass_reconciliation_unexplained", "Messages of which the newest reconciliation does not know what became.", nil, nil)
	reconciledDesc    = prometheus.NewDesc("fleetglass_reconciliation_timestamp_seconds", "As of when the newest reconciliation is; zero when there is none.", nil, nil)
)

// Describe implements prometheus.Collector.
func (Reconciliation) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{discrepanciesDesc, unexplainedDesc, reconciledDesc} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (r Reconciliation) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), reconciliationTimeout)
	defer cancel()
	latest, err := r.Latest(ctx)
	switch {
	case errors.Is(err, lifecycle.ErrNotFound):
		out <- prometheus.MustNewConstMetric(reconciledDesc, prometheus.GaugeValue, 0)
		return
	case err != nil || latest.Report == nil:
		return // The metrics of the fleet say that the store does not answer.
	}
	report := latest.Report
	out <- prometheus.MustNewConstMetric(reconciledDesc, prometheus.GaugeValue, float64(report.AsOf)/1e6)
	out <- prometheus.MustNewConstMetric(unexplainedDesc, prometheus.GaugeValue, float64(report.Total.Unexplained))
	for _, k := range reconcile.DiscrepancyKinds() {
		out <- prometheus.MustNewConstMetric(discrepanciesDesc, prometheus.GaugeValue, float64(report.List(k).Total), string(k))
	}
}

const reconciliationTimeout = 2 * time.Second
