package telemetry

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel"
	"golang.org/x/time/rate"
)

// DroppedTasks returns what counts the tasks whose traces were given up.
func DroppedTasks(r *Registry) func(tasks int) {
	dropped := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "fleetglass_task_traces_dropped_total", Help: "Ended tasks whose trace was given up: the receiver refused it, or failed for a day.",
	})
	r.MustRegister(dropped)
	return func(tasks int) { dropped.Add(float64(tasks)) }
}

// TellUnsent counts what could not be sent by OTLP, and logs it once a minute. The library has one place for that in the whole process, so
// the program calls this once.
func TellUnsent(r *Registry, log *slog.Logger) {
	failed := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "fleetglass_otlp_failures_total", Help: "Failures to send traces or metrics by OTLP. What could not be sent is missing at the receiver.",
	})
	r.MustRegister(failed)
	now := rate.Sometimes{First: 1, Interval: time.Minute}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		failed.Inc()
		now.Do(func() { log.Warn("telemetry could not be sent", "error", err) })
	}))
}
