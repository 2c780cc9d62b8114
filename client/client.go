package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Config says which server is asked.
type Config struct {
	Server string       // Required. Its address, such as "https://fleetglass.example.com".
	Token  string       // Optional; a bearer token with the scopes that the calls need.
	HTTP   *http.Client // Optional; default one that gives up after 30 seconds.
}

// Client asks one server. It may be used by several goroutines.
type Client struct {
	base  *url.URL
	token string
	http  *http.Client
}

// New validates the configuration and asks nothing.
func New(cfg Config) (*Client, error) {
	base, err := url.Parse(strings.TrimSuffix(cfg.Server, "/"))
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, fmt.Errorf("server %q is no address: it begins with http:// or https://, such as https://fleetglass.example.com", cfg.Server)
	}
	return &Client{base: base, token: cfg.Token, http: cmp.Or(cfg.HTTP, &http.Client{Timeout: 30 * time.Second})}, nil
}

// maxAnswer bounds an answer in bytes.
const maxAnswer = 64 << 20

// Get asks for a path below the base of the API, such as "/tasks", and returns the body as it came. It errors with a [*Problem] when the server
// refuses.
func (c *Client) Get(ctx context.Context, path string, query url.Values) (json.RawMessage, error) {
	return c.do(ctx, http.MethodGet, path, query, nil, "")
}

// post sends a call that has an effect. The key names it: the same key again has no second effect.
func (c *Client) post(ctx context.Context, path string, body any, key string) (json.RawMessage, error) {
	return c.do(ctx, http.MethodPost, path, nil, body, key)
}

func (c *Client) do(ctx context.Context, method, path string, query url.Values, body any, key string) (json.RawMessage, error) {
	r, err := c.request(ctx, method, path, query, body)
	if err != nil {
		return nil, err
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, c.unanswered(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the answer of %s broke off: %w", c.base.Redacted(), err)
	case len(text) > maxAnswer:
		return nil, fmt.Errorf("the answer of %s is longer than %d MiB", c.base.Redacted(), maxAnswer>>20)
	case answer.StatusCode >= http.StatusBadRequest:
		return nil, problemOf(answer, text)
	case !json.Valid(text):
		return nil, fmt.Errorf("%s sent no valid JSON (%s): something else may answer there, such as a proxy or a sign-in page", c.base.Redacted(),
			cmp.Or(answer.Header.Get("Content-Type"), "of no type"))
	}
	return text, nil
}

// unanswered says why there is no answer, and names the server once: errors of the network repeat its address.
func (c *Client) unanswered(err error) error {
	if asked, ok := errors.AsType[*url.Error](err); ok {
		if asked.Timeout() && c.http.Timeout > 0 {
			return fmt.Errorf("%s did not answer within %s", c.base.Redacted(), c.http.Timeout)
		}
		err = asked.Err
	}
	if called, ok := errors.AsType[*net.OpError](err); ok {
		err = called.Err
	}
	return fmt.Errorf("%s does not answer: %w", c.base.Redacted(), err)
}

func (c *Client) request(ctx context.Context, method, path string, query url.Values, body any) (*http.Request, error) {
	target := c.base.String() + "/api/v1" + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		sent = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, target, sent)
	if err != nil {
		return nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	return r, nil
}

// asked decodes the answer of a call.
func asked[T any](raw json.RawMessage, err error) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return Decode[T](raw)
}

// Decode reads an answer that [Client.Get] gave.
func Decode[T any](raw json.RawMessage) (T, error) {
	var out T
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, fmt.Errorf("the answer has another form than this program knows, so the server may have another version: %w", err)
	}
	return out, nil
}

// segment is a text as one segment of a path. Task ids may hold slashes.
func segment(text string) string { return "/" + url.PathEscape(text) }
