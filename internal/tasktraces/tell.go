package tasktraces

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"fleetglass/lifecycle"
)

// Bounds of what one task may send: agents decide how often they publish, fail and report.
const (
	mostMessages = 20 // The newest ones.
	mostAttempts = 50 // The latest ones of a message.
	mostEvents   = 64 // Of a span.
	mostText     = 500
)

// telling makes the spans of one task.
type telling struct {
	tracer trace.Tracer
	task   lifecycle.Trace
	top    trace.SpanContext // The span of the task.
}

// tell makes the spans of the messages beyond the generation that was told already; with -1 of the task itself, too.
func tell(tracer trace.Tracer, task lifecycle.Trace, told int) {
	t := &telling{tracer: tracer, task: task}
	id := task.Summary.TaskID
	parent := t.parent()
	at := ids{traceID(id), spanID("task", id)}
	if parent.IsValid() {
		at.trace = parent.TraceID()
	}
	t.top = trace.NewSpanContext(trace.SpanContextConfig{TraceID: at.trace, SpanID: at.span, TraceFlags: trace.FlagsSampled, Remote: true})
	if told < 0 {
		t.tellTask(parent, at)
	}
	messages := task.Messages[max(0, len(task.Messages)-mostMessages):]
	for i := range messages {
		if messages[i].Facts.Generation() > told {
			t.tellMessage(&messages[i])
		}
	}
}

// parent is the span that the task was published in: that of its first message that names one.
func (t *telling) parent() trace.SpanContext {
	for i := range t.task.Messages {
		if s := t.task.Messages[i].Facts.Stored; s != nil {
			if parent := parentOf(s.TraceParent); parent.IsValid() {
				return parent
			}
		}
	}
	return trace.SpanContext{}
}

func (t *telling) tellTask(parent trace.SpanContext, at ids) {
	s, m := t.task.Summary, t.first()
	began := firstKnown(m.at(), t.task.Facts.FirstAt, s.LastEventAt)
	span := t.begin(parent, at, "task", began, trace.SpanKindConsumer, append(m.attributes(),
		attribute.String("fleetglass.task.type", text(s.Type)), attribute.String("fleetglass.category", text(s.Category)),
		attribute.Int("fleetglass.messages", s.Messages), attribute.Int("fleetglass.duplicates", s.Duplicates),
		attribute.StringSlice("fleetglass.anomalies", anomalies(s)), attribute.Int("fleetglass.gaps", openGaps(t.task.Gaps)),
		attribute.Int64("fleetglass.waiting_ms", t.task.Waiting.Milliseconds()), attribute.Int64("fleetglass.running_ms", t.task.Running.Milliseconds()),
		attribute.Int64("fleetglass.unsplit_ms", t.task.Unsplit.Milliseconds()))...)
	t.judged(span, s.State, s.Died, s.Rule, s.Reason)
	events{span: span}.reports(t.task.Facts.Reports, func(r lifecycle.ReportFacts) bool { return t.attemptOf(r) == nil })
	span.End(trace.WithTimestamp(max(began, firstKnown(s.EndedAt, s.LastEventAt)).Time()))
}

// tellMessage makes the spans of a message's attempts; those of a retry lie below a span of the retry.
func (t *telling) tellMessage(m *lifecycle.MessageTrace) {
	below := t.top
	if g := m.Facts.Generation(); g > 0 {
		at := ids{t.top.TraceID(), spanID("retry", t.task.Summary.TaskID, g)}
		began := firstKnown(stored{m}.at(), m.Facts.FirstAt)
		span := t.begin(t.top, at, "retry", began, trace.SpanKindConsumer, stored{m}.attributes()...)
		t.judged(span, m.Verdict.State, m.Verdict.Death.State, m.Verdict.Rule, "")
		span.End(trace.WithTimestamp(max(began, firstKnown(m.Verdict.Since, m.Facts.LastAt)).Time()))
		below = span.SpanContext()
	}
	attempts := m.Attempts[max(0, len(m.Attempts)-mostAttempts):]
	for i := range attempts {
		t.tellAttempt(below, m, &attempts[i])
	}
}

func (t *telling) tellAttempt(below trace.SpanContext, m *lifecycle.MessageTrace, a *lifecycle.Attempt) {
	former := 0
	if a.Former {
		former = 1
	}
	at := ids{below.TraceID(), spanID("attempt", t.task.Summary.TaskID, m.Facts.Generation(), int(m.Facts.Key.Seq), former, a.N)}
	began := firstKnown(a.BeganAt, a.EndedAt, m.Verdict.Since, m.Facts.LastAt)
	span := t.begin(below, at, "attempt", began, trace.SpanKindConsumer,
		attribute.Int("fleetglass.attempt", a.N), attribute.String("fleetglass.began", howBegan(a)), attribute.String("fleetglass.end", string(a.End)),
		attribute.String("fleetglass.consumer", text(m.Facts.Consumer)), attribute.String("fleetglass.reason", text(a.Reason)))
	switch {
	case a.End == lifecycle.EndAcked && m.Verdict.State == lifecycle.StateCompleted:
		span.SetStatus(codes.Ok, "")
	case a.End == lifecycle.EndNacked, a.End == lifecycle.EndTerminated, a.End == lifecycle.EndTimedOut:
		span.SetStatus(codes.Error, string(a.End))
	}
	out := events{span: span}
	out.ofAttempt(a)
	out.reports(t.task.Facts.Reports, func(r lifecycle.ReportFacts) bool { return t.attemptOf(r) == a })
	span.End(trace.WithTimestamp(max(began, firstKnown(a.EndedAt, m.Verdict.Since, m.Facts.LastAt)).Time()))
}

// howBegan says how the begin of an attempt is known.
func howBegan(a *lifecycle.Attempt) string {
	switch {
	case a.BeganExact:
		return "exact"
	case a.BeganSaid:
		return "reported"
	case a.BeganAt.Known():
		return "no later than this"
	}
	return "unknown"
}

// attemptOf finds the attempt that a report speaks of; nil where it names no message that is known, or another attempt.
func (t *telling) attemptOf(r lifecycle.ReportFacts) *lifecycle.Attempt {
	for i := range t.task.Messages {
		m := &t.task.Messages[i]
		if m.Facts.Stored == nil || m.Facts.Stored.MsgID == "" || m.Facts.Stored.MsgID != r.MsgID {
			continue
		}
		for j := range m.Attempts {
			if a := &m.Attempts[j]; a.N == max(r.Attempt, 1) && !a.Former {
				return a
			}
		}
	}
	return nil
}

func (t *telling) begin(parent trace.SpanContext, at ids, name string, began lifecycle.Micros, kind trace.SpanKind, attributes ...attribute.KeyValue) trace.Span {
	ctx := context.WithValue(trace.ContextWithRemoteSpanContext(context.Background(), parent), idsKey{}, at)
	_, span := t.tracer.Start(ctx, name, trace.WithTimestamp(began.Time()), trace.WithSpanKind(kind), trace.WithAttributes(attributes...),
		trace.WithAttributes(attribute.String("fleetglass.task.id", text(t.task.Summary.TaskID)), attribute.String("fleetglass.agent", text(t.task.Summary.Agent)),
			attribute.String("fleetglass.as_of", t.task.AsOf.Time().UTC().Format(time.RFC3339Nano))))
	return span
}

// judged says what a task or a message came to: well only where it is known to be complete, failed only where it is known to have died.
func (t *telling) judged(span trace.Span, state, died lifecycle.State, rule, reason string) {
	span.SetAttributes(attribute.String("fleetglass.state", string(state)), attribute.String("fleetglass.rule", rule), attribute.String("fleetglass.reason", text(reason)))
	switch {
	case state == lifecycle.StateCompleted:
		span.SetStatus(codes.Ok, "")
	case state.Died():
		span.SetAttributes(attribute.String("fleetglass.died", string(died)))
		span.SetStatus(codes.Error, text(string(state)+": "+reason))
	}
}

// collected gathers the spans that have ended.
type collected struct{ spans []sdktrace.ReadOnlySpan }

func (c *collected) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd implements the processor of the SDK.
func (c *collected) OnEnd(s sdktrace.ReadOnlySpan) { c.spans = append(c.spans, s) }

// Shutdown implements the processor of the SDK.
func (c *collected) Shutdown(context.Context) error { return nil }

// ForceFlush implements the processor of the SDK.
func (c *collected) ForceFlush(context.Context) error { return nil }

// take returns what was gathered, and forgets it.
func (c *collected) take() []sdktrace.ReadOnlySpan {
	out := c.spans
	c.spans = nil
	return out
}
