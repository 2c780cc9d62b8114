package web_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
	"fleetglass/web/webtest"
)

// oddStore panics for one agent, and does not answer for another until nobody asks any more.
type oddStore struct{ lifecycle.Store }

func (s oddStore) ListTasks(ctx context.Context, f lifecycle.Filter, p lifecycle.Page) (lifecycle.TaskPage, error) {
	switch {
	case len(f.Agents) == 1 && f.Agents[0] == "panics":
		panic("the store is odd")
	case len(f.Agents) == 1 && f.Agents[0] == "hangs":
		<-ctx.Done()
		return lifecycle.TaskPage{}, ctx.Err()
	}
	return s.Store.ListTasks(ctx, f, p)
}

// hangingStore answers nobody until nobody asks any more.
type hangingStore struct{ lifecycle.Store }

func (hangingStore) ListTasks(ctx context.Context, _ lifecycle.Filter, _ lifecycle.Page) (lifecycle.TaskPage, error) {
	<-ctx.Done()
	return lifecycle.TaskPage{}, ctx.Err()
}

func (hangingStore) CountTasks(ctx context.Context, _ lifecycle.Filter) (map[lifecycle.State]int64, bool, error) {
	<-ctx.Done()
	return nil, false, ctx.Err()
}

func TestAPageOfAStoreThatHangsIsAPageInTime(t *testing.T) {
	t.Parallel()
	const limit = 3 * time.Second
	s := newSite(t, webtest.Rich(noon).Batch, func(c *setup) {
		c.Limits = httperr.Limits{Timeout: limit}
		c.Store = hangingStore{c.Store}
	})
	began := time.Now()
	answer := s.fetch(t, "/tasks", nil)
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != 503 || !strings.Contains(string(text), "Took too long") || !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html") {
		t.Errorf("got %s, %s: %.200s", answer.Status, answer.Header.Get("Content-Type"), text)
	}
	if took := time.Since(began); took > 3*limit/2 { // Two questions hang: one after the other they would take twice the limit.
		t.Errorf("it took %s; an answer may take %s", took, limit)
	}
}

func TestAPageThatCannotBeHadIsStillAPage(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch, func(c *setup) {
		c.Limits = httperr.Limits{Timeout: 300 * time.Millisecond, MaxURI: 1000}
		real := c.Store
		c.Store = oddStore{real}
	})
	many := http.Header{}
	for n := range 101 {
		many.Set(fmt.Sprintf("X-%d", n), "x")
	}
	for _, tt := range []struct {
		path   string
		header http.Header
		status int
		says   string
	}{
		{"/tasks?agent=panics", nil, 500, "Internal error"},
		{"/tasks?agent=hangs", nil, 503, "Took too long"},
		{"/tasks?agent=" + strings.Repeat("x", 1000), nil, 414, "Address too long"},
		{"/live?" + strings.Repeat("x", 1000), nil, 414, "Address too long"},
		{"/tasks", many, 431, "Header too large"},
		{"/tasks?q=" + strings.Repeat("w", 10) + "+a+b+c+d+e+f+g+h+i+j+k+l+m+n+o+p", nil, 400, "has 17 words; at most 16 are allowed"},
		{"/dlq?q=a+b+c+d+e+f+g+h+i+j+k+l+m+n+o+p+q", nil, 400, "has 17 words; at most 16 are allowed"},
		{"/tasks", nil, 200, "blog"},
	} {
		answer := s.fetch(t, tt.path, tt.header)
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != tt.status || !strings.Contains(string(text), tt.says) || !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html") {
			t.Errorf("%.40s: got %s, %s without %q", tt.path, answer.Status, answer.Header.Get("Content-Type"), tt.says)
		}
	}
}
