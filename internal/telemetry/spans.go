package telemetry

import (
	"context"
	"errors"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"fleetglass/lifecycle"
)

// Spans makes a span of each request, which continues the traceparent of the caller. It is named by the pattern of the route, never by the path.
func Spans(tracer trace.Tracer) gin.HandlerFunc {
	return func(c *gin.Context) {
		route, verb := c.FullPath(), method(c.Request.Method)
		if route == "" {
			route = "none"
		}
		ctx := propagation.TraceContext{}.Extract(c.Request.Context(), propagation.HeaderCarrier(c.Request.Header))
		ctx, span := tracer.Start(ctx, verb+" "+route, trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(attribute.String("http.request.method", verb), attribute.String("http.route", route)))
		defer span.End()
		c.Request = c.Request.WithContext(ctx)
		c.Next()
		status := c.Writer.Status()
		span.SetAttributes(attribute.Int("http.response.status_code", status))
		if status >= 500 {
			span.SetStatus(codes.Error, "")
		}
	}
}

// StoreCalls returns what makes a span of a call of the store, where the call is part of something that has one: a request, a batch. what is
// the name of the call. The function that it returns ends the span.
func StoreCalls(tracer trace.Tracer) func(ctx context.Context, what string) func(error) {
	return func(ctx context.Context, what string) func(error) {
		if !trace.SpanFromContext(ctx).IsRecording() {
			return func(error) {}
		}
		_, span := tracer.Start(ctx, what, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attribute.String("db.system.name", "sqlite")))
		return func(err error) { end(span, err) }
	}
}

// end ends a span that may have failed. What is not there, or was given up by the caller, is no failure.
func end(span trace.Span, err error) {
	if err != nil && !errors.Is(err, lifecycle.ErrNotFound) && !errors.Is(err, context.Canceled) {
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}

// Batches makes a span of each batch that a collector commits.
type Batches struct {
	next   lifecycle.Appender
	tracer trace.Tracer
}

// NewBatches wraps next.
func NewBatches(tracer trace.Tracer, next lifecycle.Appender) *Batches {
	return &Batches{next: next, tracer: tracer}
}

// Append implements lifecycle.Appender.
func (b *Batches) Append(ctx context.Context, batch lifecycle.Batch) (lifecycle.Appended, error) {
	ctx, span := b.tracer.Start(ctx, "commit batch", trace.WithAttributes(attribute.Int("fleetglass.batch.events", len(batch.Events)),
		attribute.Int("fleetglass.batch.quarantined", len(batch.Quarantined)), attribute.Int("fleetglass.batch.gaps", len(batch.Gaps))))
	done, err := b.next.Append(ctx, batch)
	span.SetAttributes(attribute.Int("fleetglass.batch.new", done.New))
	end(span, err)
	return done, err
}
