package httpguard

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Streams gives each response a write deadline that moves on with every write, so that a live stream may last for hours while a
// client that stops reading is cut off; and it can end all live streams, for which a graceful stop would otherwise wait forever.
type Streams struct {
	patience time.Duration

	mu     sync.Mutex
	ended  bool
	cancel map[*response]context.CancelFunc
}

// NewStreams returns Streams that give a client patience for each write.
func NewStreams(patience time.Duration) *Streams {
	return &Streams{patience: patience, cancel: map[*response]context.CancelFunc{}}
}

// Middleware wraps responses.
func (s *Streams) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		res := &response{ResponseWriter: w, control: http.NewResponseController(w), streams: s, cancel: cancel}
		defer s.forget(res)
		next.ServeHTTP(res, r.WithContext(ctx))
	})
}

// End cancels the requests that are answered by event streams, now and from now on. It is idempotent.
func (s *Streams) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for _, cancel := range s.cancel {
		cancel()
	}
	clear(s.cancel)
}

func (s *Streams) add(r *response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		r.cancel()
		return
	}
	s.cancel[r] = r.cancel
}

func (s *Streams) forget(r *response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.cancel, r)
}

// response is a response whose deadline moves.
type response struct {
	http.ResponseWriter
	control *http.ResponseController
	streams *Streams
	cancel  context.CancelFunc
	began   bool
}

// WriteHeader notes whether an event stream begins.
func (r *response) WriteHeader(status int) {
	r.begin()
	r.extend()
	r.ResponseWriter.WriteHeader(status)
}

// Write moves the deadline before it writes.
func (r *response) Write(b []byte) (int, error) {
	r.begin()
	r.extend()
	return r.ResponseWriter.Write(b)
}

// FlushError moves the deadline before it flushes.
func (r *response) FlushError() error {
	r.begin()
	r.extend()
	return r.control.Flush()
}

// Flush is FlushError for those who do not ask.
func (r *response) Flush() { _ = r.FlushError() }

// Unwrap gives [http.ResponseController] the connection's own writer.
func (r *response) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *response) begin() {
	if r.began {
		return
	}
	r.began = true
	if strings.HasPrefix(r.Header().Get("Content-Type"), "text/event-stream") {
		r.streams.add(r)
	}
}

// extend moves the deadline. A writer that knows no deadlines, as in tests of handlers, keeps none.
func (r *response) extend() { _ = r.control.SetWriteDeadline(time.Now().Add(r.streams.patience)) }
