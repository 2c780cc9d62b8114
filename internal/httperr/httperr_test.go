package httperr

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"

	"fleetglass/lifecycle"
)

func TestErrorsMapToProblems(t *testing.T) {
	t.Parallel()
	secret := errors.New("pq: password authentication failed for user postgres")
	cases := []struct {
		name   string
		err    error
		code   Code
		status int
		retry  bool
	}{
		{"nothing stored", fmt.Errorf("task: %w", lifecycle.ErrNotFound), NotFound, 404, false},
		{"closed store", lifecycle.ErrClosed, Unavailable, 503, true},
		{"filter", &lifecycle.FilterError{Parameter: "state", Detail: `"lost" is not a state`}, InvalidParameter, 400, false},
		{"large body", fmt.Errorf("read: %w", &http.MaxBytesError{Limit: 5}), BodyTooLarge, 413, false},
		{"deadline", fmt.Errorf("list: %w", context.DeadlineExceeded), Timeout, 503, true},
		{"client gone", context.Canceled, ClientClosed, 499, true},
		{"problem in a chain", fmt.Errorf("x: %w", New(Conflict, secret)), Conflict, 409, false},
		{"anything else", secret, Internal, 500, true},
		{"a code without an entry", New("mystery", secret), Internal, 500, true},
	}
	for _, c := range cases {
		p := From(c.err)
		if p.Code != c.code || p.Status != c.status || p.Retryable != c.retry {
			t.Errorf("%s: got %s %d retryable %v, want %s %d %v", c.name, p.Code, p.Status, p.Retryable, c.code, c.status, c.retry)
		}
		if strings.Contains(p.Detail+p.Title, "password") {
			t.Errorf("%s: the cause is shown to users: %q", c.name, p.Detail)
		}
	}
}

func TestEveryCodeHasOneCompleteEntry(t *testing.T) {
	t.Parallel()
	seen := map[Code]bool{}
	last := 0
	for _, e := range Table() {
		if seen[e.Code] || e.Title == "" || e.Detail == "" || e.Status < 400 || e.Status < last {
			t.Errorf("entry %+v is double, incomplete or out of order", e)
		}
		seen[e.Code], last = true, e.Status
		if !strings.HasSuffix(e.Detail, ".") {
			t.Errorf("%s: detail is not a sentence: %q", e.Code, e.Detail)
		}
	}
}

func TestAWrittenProblemHidesItsCauseAndTheLogHasIt(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	log := slog.New(slog.NewTextHandler(&logged, nil))
	w := httptest.NewRecorder()
	w.Header().Set("Content-Length", "17")
	Write(w, httptest.NewRequest("GET", "/api/v1/tasks", nil), log, fmt.Errorf("list tasks: disk on fire"))
	if w.Code != 500 || w.Header().Get("Content-Type") != "application/problem+json" || w.Header().Get("Content-Length") != "" {
		t.Errorf("got %d %v", w.Code, w.Header())
	}
	if strings.Contains(w.Body.String(), "fire") || !strings.Contains(logged.String(), "list tasks: disk on fire") {
		t.Errorf("body %s, log %s", w.Body, &logged)
	}
	var got map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"type": "/api/docs#problem-internal", "title": "Internal error", "status": 500.0, "code": "internal", "retryable": true,
		"detail": "Something went wrong in Fleetglass. Its log has the cause.", "errors": []any{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
}

func TestHeadGetsNoBodyAndHeadersAreKept(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	Write(w, httptest.NewRequest("HEAD", "/", nil), slog.New(slog.DiscardHandler), New(RateLimited, nil).WithHeader("Retry-After", "7"))
	if w.Code != 429 || w.Body.Len() != 0 || w.Header().Get("Retry-After") != "7" {
		t.Errorf("got %d, %d bytes, %v", w.Code, w.Body.Len(), w.Header())
	}
}

func TestFieldsPointIntoTheRequestAndStayValidText(t *testing.T) {
	t.Parallel()
	p := Parameter("a/b~c\xff", "bad \xfe")
	want := []FieldError{{Pointer: "/query/a~1b~0c\uFFFD", Detail: "bad \uFFFD"}}
	if diff := cmp.Diff(want, p.Errors); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

func engine(l Limits, handler gin.HandlerFunc) *gin.Engine {
	log := slog.New(slog.DiscardHandler)
	e := gin.New()
	e.Use(Recover(log), l.Middleware(log))
	e.Any("/*path", handler)
	return e
}

func TestLimits(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	e := engine(Limits{MaxBody: 10, MaxURI: 30, MaxHeaders: 3, Timeout: time.Minute}, func(c *gin.Context) {
		if _, err := io.ReadAll(c.Request.Body); err != nil {
			Write(c.Writer, c.Request, log, err)
			return
		}
		if _, ok := c.Request.Context().Deadline(); !ok {
			t.Error("no deadline")
		}
		c.Status(http.StatusNoContent)
	})
	big := strings.Repeat("x", 11)
	cases := []struct {
		name   string
		target string
		body   io.Reader
		header http.Header
		want   int
	}{
		{"within", "/a", strings.NewReader("0123456789"), nil, 204},
		{"body with a length", "/a", strings.NewReader(big), nil, 413},
		{"body without a length", "/a", io.MultiReader(strings.NewReader(big)), nil, 413},
		{"address", "/" + strings.Repeat("a", 30), nil, nil, 414},
		{"headers", "/a", nil, http.Header{"A": {"1", "2", "3", "4"}}, 431},
	}
	for _, c := range cases {
		r := httptest.NewRequest("POST", c.target, c.body)
		r.Header = c.header
		w := httptest.NewRecorder()
		e.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s: got %d, want %d: %s", c.name, w.Code, c.want, w.Body)
		}
	}
}

func TestAPanicIsAnInternalProblem(t *testing.T) {
	t.Parallel()
	e := engine(Limits{}, func(*gin.Context) { panic("secret state") })
	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if w.Code != 500 || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

func TestAPanicAfterTheFirstByteEndsTheConnection(t *testing.T) {
	t.Parallel()
	e := engine(Limits{}, func(c *gin.Context) {
		_, _ = c.Writer.WriteString("half an ans")
		panic("wer")
	})
	defer func() {
		if v := recover(); v != http.ErrAbortHandler {
			t.Errorf("recovered %v, want http.ErrAbortHandler", v)
		}
	}()
	e.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
}
