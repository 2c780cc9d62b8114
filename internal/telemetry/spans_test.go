package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"fleetglass/decision"
	"fleetglass/lifecycle"
)

func recorder() (*tracetest.SpanRecorder, trace.Tracer) {
	r := tracetest.NewSpanRecorder()
	return r, sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r)).Tracer("test")
}

func TestARequestContinuesTheTraceOfItsCallerAndItsLogLinesNameIt(t *testing.T) {
	t.Parallel()
	spans, tracer := recorder()
	var lines bytes.Buffer
	log, err := NewLog(&lines, "info", "json")
	if err != nil {
		t.Fatal(err)
	}
	e := gin.New()
	e.Use(Spans(tracer))
	e.GET("/tasks/:id", func(c *gin.Context) {
		StoreCalls(tracer)(c.Request.Context(), "read a task")(errors.New("away"))
		log.With("a", 1).ErrorContext(c.Request.Context(), "failed")
		c.Status(503)
	})
	r := httptest.NewRequest("GET", "/tasks/secret-42", nil)
	r.Header.Set("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	e.ServeHTTP(httptest.NewRecorder(), r)
	ended := spans.Ended()
	if len(ended) != 2 {
		t.Fatalf("%d spans, want that of the call and that of the request", len(ended))
	}
	call, request := ended[0], ended[1]
	if request.Name() != "GET /tasks/:id" || request.Parent().SpanID().String() != "00f067aa0ba902b7" || request.Status().Code != codes.Error {
		t.Errorf("span of the request: %q, parent %s, status %v", request.Name(), request.Parent().SpanID(), request.Status())
	}
	if call.Name() != "read a task" || call.Parent().SpanID() != request.SpanContext().SpanID() || call.Status().Description != "away" {
		t.Errorf("span of the call: %q, parent %s, status %v", call.Name(), call.Parent().SpanID(), call.Status())
	}
	if strings.Contains(fmt.Sprint(request.Attributes()), "secret") {
		t.Errorf("attributes hold the path: %v", request.Attributes())
	}
	for _, want := range []string{`"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"`, `"span_id":"` + request.SpanContext().SpanID().String() + `"`} {
		if !strings.Contains(lines.String(), want) {
			t.Errorf("the log line lacks %s: %s", want, &lines)
		}
	}
}

func TestAForgedTraceparentIsIgnored(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"", "x", "00-00000000000000000000000000000000-00f067aa0ba902b7-01", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		strings.Repeat("4", 60_000)} {
		spans, tracer := recorder()
		e := gin.New()
		e.Use(Spans(tracer))
		r := httptest.NewRequest("BREW", "/x", nil)
		r.Header.Set("traceparent", header)
		e.ServeHTTP(httptest.NewRecorder(), r)
		if s := spans.Ended()[0]; s.Parent().IsValid() || s.Name() != "other none" {
			t.Errorf("traceparent %.60q: span %q with parent %v", header, s.Name(), s.Parent())
		}
	}
}

func TestCallsOfTheStoreThatBelongToNothingHaveNoSpan(t *testing.T) {
	t.Parallel()
	spans, tracer := recorder()
	StoreCalls(tracer)(t.Context(), "read")(nil)
	if n := len(spans.Ended()); n != 0 {
		t.Errorf("%d spans, want none", n)
	}
}

type failingStore struct{ err error }

func (s failingStore) Append(context.Context, lifecycle.Batch) (lifecycle.Appended, error) {
	return lifecycle.Appended{New: 2}, s.err
}

func TestABatchIsASpan(t *testing.T) {
	t.Parallel()
	spans, tracer := recorder()
	for _, err := range []error{nil, errors.New("full")} {
		_, _ = NewBatches(tracer, failingStore{err}).Append(t.Context(), lifecycle.Batch{Events: make([]lifecycle.Event, 3)})
	}
	good, bad := spans.Ended()[0], spans.Ended()[1]
	if !strings.Contains(fmt.Sprint(good.Attributes()), "events") || good.Status().Code != codes.Unset || bad.Status().Code != codes.Error {
		t.Errorf("%v %v, %v", good.Attributes(), good.Status(), bad.Status())
	}
}

// box is an outbox that hands out one effect again and again.
type box struct {
	decision.Outbox
	token uint64
	err   error
}

func (b *box) Claim(_ context.Context, r decision.ClaimRequest) ([]decision.Claimed, error) {
	b.token++
	return []decision.Claimed{{Effect: decision.Effect{ID: "e", Queue: "relay"}, Token: b.token, Until: r.Now.Add(time.Second)}}, nil
}
func (b *box) Settle(context.Context, decision.Settlement) (decision.Made, error) {
	return decision.Made{}, b.err
}
func (b *box) Return(context.Context, decision.Return) error { return b.err }

func TestAnEffectIsASpanFromItsClaimToItsEnd(t *testing.T) {
	t.Parallel()
	spans, tracer := recorder()
	now := noon
	under := &box{}
	e := NewEffects(tracer, under, func() time.Time { return now })
	claim := func() {
		_, _ = e.Claim(t.Context(), decision.ClaimRequest{Queue: "relay", Now: lifecycle.MicrosOf(now)})
	}
	settle := func(token uint64, status decision.Status) {
		_, _ = e.Settle(t.Context(), decision.Settlement{Effect: "e", Token: token, Status: status})
	}
	want := func(n int, code codes.Code) {
		t.Helper()
		ended := spans.Ended()
		if len(ended) != n {
			t.Fatalf("%d spans have ended, want %d", len(ended), n)
		}
		if last := ended[n-1]; last.Status().Code != code || last.Name() != "effect relay" {
			t.Errorf("span %q has status %v, want %v", last.Name(), last.Status(), code)
		}
	}
	claim()
	under.err = lifecycle.ErrUnable
	settle(1, decision.StatusDone) // It is tried again.
	under.err = nil
	settle(1, decision.StatusDone)
	want(1, codes.Unset)
	claim()
	settle(2, decision.StatusFailed)
	want(2, codes.Error)
	claim()
	_ = e.Return(t.Context(), decision.Return{Effect: "e", Token: 3})
	want(3, codes.Unset)
	claim()
	settle(3, decision.StatusDone) // By who no longer has it.
	now = now.Add(2 * time.Second)
	claim()
	want(4, codes.Error)
	if len(e.open) != 1 {
		t.Errorf("%d effects are open, want 1", len(e.open))
	}
}
