package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"fleetglass/access"
)

// call is a call of the JSON API.
type call struct {
	method string // Default GET.
	path   string // Below /api/v1, escaped.
	query  url.Values
	body   any    // Sent as JSON; nil for none.
	key    string // The Idempotency-Key; empty for none.
}

// reply is what the API answered.
type reply struct {
	status int
	body   json.RawMessage
}

// ok reports whether the call succeeded.
func (r reply) ok() bool { return r.status < http.StatusBadRequest }

// caller makes calls for who sent a request.
type caller struct {
	api  http.Handler
	from *http.Request
}

const base = "/api/v1"

// do makes a call. It errors only when the call cannot be made or its answer is not JSON; refusals are answers.
func (c *caller) do(ctx context.Context, what call) (reply, error) {
	var body bytes.Buffer
	if what.body != nil {
		if err := json.NewEncoder(&body).Encode(what.body); err != nil {
			return reply{}, err
		}
	}
	target := base + what.path
	if q := what.query.Encode(); q != "" {
		target += "?" + q
	}
	method := what.method
	if method == "" {
		method = http.MethodGet
	}
	r, err := http.NewRequestWithContext(access.WithVia(ctx, via), method, target, &body)
	if err != nil {
		return reply{}, fmt.Errorf("call %s %s: %w", method, what.path, err)
	}
	c.dress(r, what)
	w := &recorder{header: http.Header{}, status: http.StatusOK}
	c.api.ServeHTTP(w, r)
	if !json.Valid(w.body.Bytes()) {
		return reply{}, fmt.Errorf("call %s %s: the answer with status %d is not JSON", method, what.path, w.status)
	}
	return reply{w.status, bytes.TrimSpace(w.body.Bytes())}, nil
}

// dress gives a call what its sender sent: above all, who it is.
func (c *caller) dress(r *http.Request, what call) {
	r.Host, r.RemoteAddr, r.RequestURI = c.from.Host, c.from.RemoteAddr, r.URL.RequestURI()
	for _, name := range []string{"Authorization", "User-Agent", "X-Request-Id", "Traceparent"} {
		if v := c.from.Header.Values(name); len(v) > 0 {
			r.Header[name] = v
		}
	}
	r.Header.Set("Accept", "application/json")
	if what.body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if what.key != "" {
		r.Header.Set("Idempotency-Key", what.key)
	}
}

// recorder keeps an answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *recorder) WriteHeader(status int) { w.status = status }

// Write implements http.ResponseWriter.
func (w *recorder) Write(b []byte) (int, error) { return w.body.Write(b) }
