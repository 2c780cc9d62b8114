package telemetry

import (
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
)

// Registry holds the metrics of this process. Nothing is registered globally.
type Registry struct {
	*prometheus.Registry
	log *slog.Logger
}

// NewRegistry returns a registry with the metrics of the Go runtime, the process and the build.
func NewRegistry(version string, log *slog.Logger) *Registry {
	r := prometheus.NewRegistry()
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "fleetglass_build_info", Help: "Always 1; the label says which version runs.",
	}, []string{"version"})
	build.WithLabelValues(version).Set(1)
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), build)
	return &Registry{Registry: r, log: log}
}

// readable is the registry for readers that take all or nothing: where a collector fails, they get what the others say. /metrics logs the
// failure.
func (r *Registry) readable() prometheus.Gatherer {
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		families, err := r.Gather()
		if len(families) > 0 {
			err = nil
		}
		return families, err
	})
}

// Handler answers /metrics. A collector that fails is logged; what the others say is still served.
func (r *Registry) Handler() http.Handler {
	return promhttp.InstrumentMetricHandler(r, promhttp.HandlerFor(r, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(r.log.Handler(), slog.LevelWarn), ErrorHandling: promhttp.ContinueOnError, EnableOpenMetrics: true,
		MaxRequestsInFlight: 4, DisableCompression: true,
	}))
}
