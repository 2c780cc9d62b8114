package embednats

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
)

// logger sends the server's log lines to slog. Notices are of interest to nobody but us, so they are debug lines.
type logger struct {
	log *slog.Logger

	mu    sync.Mutex
	fatal string
}

const line = "nats server"

func (l *logger) Noticef(format string, args ...any) {
	l.log.Debug(line, "text", fmt.Sprintf(format, args...))
}

// inMemory is the server's advice to hash passwords in its configuration file. Ours exists in memory only.
const inMemory = "Plaintext passwords detected"

func (l *logger) Warnf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if strings.HasPrefix(text, inMemory) {
		return
	}
	l.log.Warn(line, "text", text)
}

func (l *logger) Errorf(format string, args ...any) {
	l.log.Error(line, "text", fmt.Sprintf(format, args...))
}

// Fatalf does not end the process: the server then never becomes ready, and Start reports the line.
func (l *logger) Fatalf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	l.log.Error(line, "text", text)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fatal = text
}

func (l *logger) Debugf(format string, args ...any) {
	l.log.Debug(line, "text", fmt.Sprintf(format, args...))
}

func (l *logger) Tracef(string, ...any) {}

func (l *logger) lastFatal() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fatal == "" {
		return "no reason given"
	}
	return l.fatal
}
