package httperr

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/gin-gonic/gin"
)

// Limits are the bounds of a request that net/http does not set by itself. MaxHeaderBytes, ReadHeaderTimeout and the other
// connection timeouts belong to [http.Server].
type Limits struct {
	MaxBody    int64         // Optional; bytes of a request body, default 1 MiB.
	MaxURI     int           // Optional; bytes of the request target, default 16 KiB.
	MaxHeaders int           // Optional; number of header fields, default 100.
	Timeout    time.Duration // Optional; for the whole answer, default 15 s. Negative: none, as for streams.
}

// WithDefaults fills what is zero.
func (l Limits) WithDefaults() Limits {
	if l.MaxBody == 0 {
		l.MaxBody = 1 << 20
	}
	if l.MaxURI == 0 {
		l.MaxURI = 16 << 10
	}
	if l.MaxHeaders == 0 {
		l.MaxHeaders = 100
	}
	if l.Timeout == 0 {
		l.Timeout = 15 * time.Second
	}
	return l
}

// Middleware refuses requests beyond the limits before a handler sees them, bounds the reading of bodies, and gives the request's
// context a deadline, which the stores observe.
func (l Limits) Middleware(log *slog.Logger) gin.HandlerFunc { return l.Answering(document(log)) }

// Answer tells a client of an error, before anything was written.
type Answer func(c *gin.Context, err error)

// document answers by a problem document.
func document(log *slog.Logger) Answer {
	return func(c *gin.Context, err error) { Write(c.Writer, c.Request, log, err) }
}

// Answering is [Limits.Middleware] with answers of another form.
func (l Limits) Answering(answer Answer) gin.HandlerFunc {
	l = l.WithDefaults()
	return func(c *gin.Context) {
		if err := l.check(c.Request); err != nil {
			readOut(c)
			answer(c, err)
			c.Abort()
			return
		}
		if c.Request.Body != nil {
			c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, l.MaxBody)
		}
		if l.Timeout > 0 {
			ctx, cancel := context.WithTimeout(c.Request.Context(), l.Timeout)
			defer cancel()
			c.Request = c.Request.WithContext(ctx)
		}
		c.Next()
	}
}

// Bounds of what is read of a body that is refused.
const (
	mostReadOut     = 64 << 20
	readOutPatience = 5 * time.Second
)

// readOut reads the body of a request that is refused: many clients send all of it before they read the answer, which a connection that is
// closed before takes away. A client that waits to be told to send it is not told.
func readOut(c *gin.Context) {
	if c.Request.Body == nil || c.Request.ContentLength > mostReadOut || c.GetHeader("Expect") != "" {
		return
	}
	_ = http.NewResponseController(c.Writer).SetReadDeadline(time.Now().Add(readOutPatience)) // Where that cannot be set the server's own holds.
	_, _ = io.CopyN(io.Discard, c.Request.Body, mostReadOut)
}

func (l Limits) check(r *http.Request) error {
	fields := 0
	for _, values := range r.Header {
		fields += len(values)
	}
	switch {
	case len(r.URL.RequestURI()) > l.MaxURI:
		return New(URITooLong, nil).WithDetail("The address is longer than the %d bytes that are accepted.", l.MaxURI)
	case fields > l.MaxHeaders:
		return New(HeaderTooLarge, nil).WithDetail("The request has more than the %d header fields that are accepted.", l.MaxHeaders)
	case r.ContentLength > l.MaxBody:
		return &http.MaxBytesError{Limit: l.MaxBody}
	}
	return nil
}

// Recover turns a panic of a handler into an internal problem and logs its stack. [http.ErrAbortHandler] passes: it ends a response
// whose beginning was sent.
func Recover(log *slog.Logger) gin.HandlerFunc { return RecoverAnswering(log, document(log)) }

// RecoverAnswering is [Recover] with answers of another form.
func RecoverAnswering(log *slog.Logger, answer Answer) gin.HandlerFunc {
	return func(c *gin.Context) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if err, ok := v.(error); (ok && errors.Is(err, http.ErrAbortHandler)) || c.Writer.Written() {
				log.ErrorContext(c.Request.Context(), "handler panicked after it began to answer", "path", c.Request.URL.EscapedPath(), "error", fmt.Sprint(v))
				panic(http.ErrAbortHandler)
			}
			log.ErrorContext(c.Request.Context(), "handler panicked", "path", c.Request.URL.EscapedPath(), "error", fmt.Sprint(v), "stack", string(debug.Stack()))
			answer(c, New(Internal, fmt.Errorf("panic: %v", v)))
			c.Abort()
		}()
		c.Next()
	}
}
