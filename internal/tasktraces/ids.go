package tasktraces

import (
	"context"
	"crypto/sha256"
	"strconv"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// ids are those of the span that is begun next; see [generator].
type ids struct {
	trace trace.TraceID
	span  trace.SpanID
}

type idsKey struct{}

// generator takes the ids of a span from the context that it is begun with.
type generator struct{}

// NewIDs implements the generator of the SDK.
func (generator) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	at, _ := ctx.Value(idsKey{}).(ids)
	return at.trace, at.span
}

// NewSpanID implements the generator of the SDK.
func (generator) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	at, _ := ctx.Value(idsKey{}).(ids)
	return at.span
}

// digest derives an id from what it is the id of.
func digest(what string, task string, coordinates ...int) [sha256.Size]byte {
	text := "fleetglass " + what + "\x00" + task
	for _, c := range coordinates {
		text += "\x00" + strconv.Itoa(c)
	}
	sum := sha256.Sum256([]byte(text))
	sum[0] |= 1 // Ids are never zero.
	return sum
}

func spanID(what, task string, coordinates ...int) (id trace.SpanID) {
	sum := digest(what, task, coordinates...)
	copy(id[:], sum[:])
	return id
}

func traceID(task string) (id trace.TraceID) {
	sum := digest("trace", task)
	copy(id[:], sum[:])
	return id
}

// parentOf reads a traceparent, which anybody may have written. What is not well formed is none.
func parentOf(traceparent string) trace.SpanContext {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": traceparent})
	return trace.SpanContextFromContext(ctx)
}
