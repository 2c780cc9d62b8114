package telemetry

import (
	"context"
	"fmt"
	"time"

	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Source is what receivers call this process.
type Source struct {
	Version     string
	Environment string // Optional. Name of the installation.
}

const (
	scope        = "fleetglass"
	flushTimeout = 3 * time.Second
	// valueLimit bounds the values of attributes, in characters: SQL statements and texts of errors may be long.
	valueLimit = 2000
)

// Resource describes this process. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence.
func (s Source) Resource(ctx context.Context, service string) (*resource.Resource, error) {
	own := []attribute.KeyValue{attribute.String("service.name", service), attribute.String("service.version", s.Version)}
	if s.Environment != "" {
		own = append(own, attribute.String("deployment.environment.name", s.Environment))
	}
	return resource.New(ctx, resource.WithAttributes(own...), resource.WithHost(), resource.WithTelemetrySDK(), resource.WithFromEnv())
}

// Traces makes spans of this process, and sends them.
type Traces struct{ provider *sdktrace.TracerProvider }

// NewTraces prepares spans of this process. It does not connect: a receiver that is away is tried again, and what it misses is dropped.
// Where traces are not sent, spans cost nothing.
func NewTraces(ctx context.Context, to OTLP, source Source) (*Traces, error) {
	exporter, err := NewSpanExporter(ctx, to)
	if err != nil || exporter == nil {
		return &Traces{}, err
	}
	about, err := source.Resource(ctx, scope)
	if err != nil {
		return nil, fmt.Errorf("describe the source of traces: %w", err)
	}
	limits := sdktrace.NewSpanLimits()
	if limits.AttributeValueLengthLimit < 0 {
		limits.AttributeValueLengthLimit = valueLimit
	}
	return &Traces{sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about), sdktrace.WithRawSpanLimits(limits))}, nil
}

// NewSpanExporter returns what sends spans; nil where they are not sent.
func NewSpanExporter(ctx context.Context, to OTLP) (sdktrace.SpanExporter, error) {
	switch to.Traces {
	case OverHTTP:
		return otlptracehttp.New(ctx)
	case OverGRPC:
		return otlptracegrpc.New(ctx)
	}
	return nil, nil
}

// Sent reports whether spans go anywhere.
func (t *Traces) Sent() bool { return t.provider != nil }

// Provider makes tracers.
func (t *Traces) Provider() trace.TracerProvider {
	if t.provider == nil {
		return noop.NewTracerProvider()
	}
	return t.provider
}

// Tracer makes spans.
func (t *Traces) Tracer() trace.Tracer { return t.Provider().Tracer(scope) }

// Close sends what waits, for a few seconds at most. What a receiver that is away misses is no error of ours.
func (t *Traces) Close() error {
	if t.provider != nil {
		closeWithin(t.provider.Shutdown)
	}
	return nil
}

// SendMetrics begins to send what /metrics shows, from the same registry, every minute or as OTEL_METRIC_EXPORT_INTERVAL says. The function that it
// returns sends it a last time and stops.
func SendMetrics(ctx context.Context, to OTLP, source Source, r *Registry) (stop func() error, err error) {
	exporter, err := newMetricExporter(ctx, to)
	if err != nil || exporter == nil {
		return func() error { return nil }, err
	}
	about, err := source.Resource(ctx, scope)
	if err != nil {
		return nil, fmt.Errorf("describe the source of metrics: %w", err)
	}
	reader := metric.NewPeriodicReader(exporter, metric.WithProducer(bridge.NewMetricProducer(bridge.WithGatherer(r.readable()))))
	provider := metric.NewMeterProvider(metric.WithReader(reader), metric.WithResource(about))
	return func() error { closeWithin(provider.Shutdown); return nil }, nil
}

func newMetricExporter(ctx context.Context, to OTLP) (metric.Exporter, error) {
	switch to.Metrics {
	case OverHTTP:
		return otlpmetrichttp.New(ctx)
	case OverGRPC:
		return otlpmetricgrpc.New(ctx)
	}
	return nil, nil
}

// closeWithin shuts something down. What goes wrong is told as all that cannot be sent is.
func closeWithin(shutdown func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	if err := shutdown(ctx); err != nil {
		otel.Handle(err)
	}
}
