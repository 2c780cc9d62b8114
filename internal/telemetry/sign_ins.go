package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"fleetglass/internal/routes"
)

// SignIns returns what counts sign-ins that failed, by the reason. All reasons are there from the start, so that the first failure is an
// increase.
func SignIns(r *Registry) func(routes.Failure) {
	failed := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "fleetglass_failed_sign_ins_total", Help: "Requests with a token that is not valid, by the reason.",
	}, []string{"reason"})
	r.MustRegister(failed)
	for _, why := range routes.Failures() {
		failed.WithLabelValues(string(why))
	}
	return func(why routes.Failure) { failed.WithLabelValues(string(why)).Inc() }
}
