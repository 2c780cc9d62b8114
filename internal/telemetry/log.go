// Package telemetry is how the program speaks about itself: the log, the metrics at /metrics, and both with traces by OTLP.
package telemetry

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"go.opentelemetry.io/otel/trace"
)

// NewLog returns a log that writes to w. Lines of a request name its trace. level is debug, info, warn or error; format is text or json.
func NewLog(w io.Writer, level, format string) (*slog.Logger, error) {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("log level %q: %w", level, err)
	}
	options := &slog.HandlerOptions{Level: least}
	switch format {
	case "text":
		return slog.New(traced{slog.NewTextHandler(w, options)}), nil
	case "json":
		return slog.New(traced{slog.NewJSONHandler(w, options)}), nil
	}
	return nil, fmt.Errorf("log format %q: want text or json", format)
}

// traced adds to each line which trace and span it belongs to, where it belongs to one.
type traced struct{ slog.Handler }

// Handle implements [slog.Handler].
func (t traced) Handle(ctx context.Context, line slog.Record) error {
	if at := trace.SpanContextFromContext(ctx); at.IsValid() {
		line = line.Clone()
		line.AddAttrs(slog.String("trace_id", at.TraceID().String()), slog.String("span_id", at.SpanID().String()))
	}
	return t.Handler.Handle(ctx, line)
}

// WithAttrs implements [slog.Handler].
func (t traced) WithAttrs(attrs []slog.Attr) slog.Handler { return traced{t.Handler.WithAttrs(attrs)} }

// WithGroup implements [slog.Handler].
func (t traced) WithGroup(name string) slog.Handler { return traced{t.Handler.WithGroup(name)} }
