package telemetry

import "github.com/prometheus/client_golang/prometheus"

// Limited returns what counts requests that were refused because their principal asked too often.
func Limited(r *Registry) func() {
	limited := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "fleetglass_limited_requests_total", Help: "Requests that were refused because their token or person asked too often.",
	})
	r.MustRegister(limited)
	return limited.Inc
}
