package telemetry

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"fleetglass/decision"
	"fleetglass/lifecycle"
)

// Effects is an outbox that makes a span of each effect, from its claim to its end. It is safe for concurrent use.
type Effects struct {
	decision.Outbox
	tracer trace.Tracer
	now    func() time.Time

	mu   sync.Mutex
	open map[string]openEffect // By id. Leases bound how long one stays.
}

// openEffect is an effect in our hands.
type openEffect struct {
	span  trace.Span
	token uint64
	until lifecycle.Micros
}

// NewEffects wraps next.
func NewEffects(tracer trace.Tracer, next decision.Outbox, now func() time.Time) *Effects {
	return &Effects{Outbox: next, tracer: tracer, now: now, open: map[string]openEffect{}}
}

// Claim implements [decision.Outbox].
func (e *Effects) Claim(ctx context.Context, r decision.ClaimRequest) ([]decision.Claimed, error) {
	began := e.now()
	claimed, err := e.Outbox.Claim(ctx, r)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.endLapsed(lifecycle.MicrosOf(began))
	for _, c := range claimed {
		_, span := e.tracer.Start(ctx, "effect "+c.Queue, trace.WithNewRoot(), trace.WithTimestamp(began), trace.WithSpanKind(trace.SpanKindProducer),
			trace.WithAttributes(attribute.String("fleetglass.effect.queue", c.Queue), attribute.String("fleetglass.effect.id", c.ID),
				attribute.String("fleetglass.action.id", c.Action), attribute.Int64("fleetglass.effect.claim", int64(c.Token))))
		if before, found := e.open[c.ID]; found {
			lapse(before.span)
		}
		e.open[c.ID] = openEffect{span, c.Token, c.Until}
	}
	return claimed, err
}

// Settle implements [decision.Outbox].
func (e *Effects) Settle(ctx context.Context, s decision.Settlement) (decision.Made, error) {
	made, err := e.Outbox.Settle(ctx, s)
	e.end(s.Effect, s.Token, string(s.Status), err)
	return made, err
}

// Return implements [decision.Outbox].
func (e *Effects) Return(ctx context.Context, r decision.Return) error {
	err := e.Outbox.Return(ctx, r)
	e.end(r.Effect, r.Token, "returned", err)
	return err
}

// end ends the span of a claim. A settlement that failed may be tried again, but not where somebody else has the effect.
func (e *Effects) end(id string, token uint64, status string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	open, found := e.open[id]
	lost := errors.Is(err, decision.ErrTakenOver) || errors.Is(err, lifecycle.ErrNotFound)
	if !found || open.token != token || (err != nil && !lost) {
		return
	}
	delete(e.open, id)
	if lost {
		lapse(open.span)
		return
	}
	open.span.SetAttributes(attribute.String("fleetglass.effect.status", status))
	if status == string(decision.StatusFailed) {
		open.span.SetStatus(codes.Error, "given up")
	}
	open.span.End()
}

// endLapsed ends the spans of claims whose lease has ended: somebody else may have the effect.
func (e *Effects) endLapsed(now lifecycle.Micros) {
	for id, open := range e.open {
		if open.until <= now {
			lapse(open.span)
			delete(e.open, id)
		}
	}
}

func lapse(span trace.Span) {
	span.SetStatus(codes.Error, "the lease ended, so what came of it is not known here")
	span.End()
}
