// Package telemetry is how the program speaks about itself: the log, and the metrics at /metrics.
package telemetry

import (
	"fmt"
	"io"
	"log/slog"
)

// NewLog returns a log that writes to w. level is debug, info, warn or error; format is text or json.
func NewLog(w io.Writer, level, format string) (*slog.Logger, error) {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("log level %q: %w", level, err)
	}
	options := &slog.HandlerOptions{Level: least}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	}
	return nil, fmt.Errorf("log format %q: want text or json", format)
}
