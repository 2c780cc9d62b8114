//go:build linux

package torture

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"fleetglass/lifecycle"
)

// seen is what Fleetglass says about one task, as its API gives it.
type seen struct {
	TaskID      string          `json:"task_id"`
	State       string          `json:"state"`
	Rule        string          `json:"rule"`
	Agent       string          `json:"agent"`
	Attempts    int             `json:"attempts"`
	Messages    []seenMessage   `json:"messages"`
	Anomalies   []seenAnomaly   `json:"anomalies"`
	Gaps        []seenGap       `json:"gaps"`
	Idempotency json.RawMessage `json:"idempotency"`
	Duplicates  struct {
		CaughtByStream      int `json:"caught_by_stream"`
		CaughtByIdempotency int `json:"caught_by_idempotency"`
		ReachedExecution    int `json:"reached_execution"`
		Unknown             int `json:"unknown"`
		KeyConflicts        int `json:"key_conflicts"`
		Publishes           []struct {
			Unclear int `json:"unclear"`
		} `json:"publishes"`
	} `json:"duplicates"`
	Answers struct {
		Recovery struct{ Text string }
	}
	Events []seenEvent `json:"-"`
}

// unclear is how many publishes were refused or caught, and nothing tells which.
func (s *seen) unclear() (n int) {
	for _, p := range s.Duplicates.Publishes {
		n += p.Unclear
	}
	return n
}

type seenMessage struct {
	Seq         string        `json:"seq"`
	State       string        `json:"state"`
	PublishedAt string        `json:"published_at"`
	Attempts    []seenAttempt `json:"attempts"`
}

type seenAttempt struct {
	N   int    `json:"n"`
	End string `json:"end"`
}

type seenAnomaly struct {
	Code string `json:"code"`
}

type seenEvent struct {
	ID        string `json:"id"`
	At        string `json:"at"`
	Kind      string `json:"kind"`
	Source    string `json:"source"`
	SourceSeq string `json:"source_seq"`
	Seq       string `json:"seq"`
	Attempt   int    `json:"attempt"`

	ConsumerSeq string `json:"consumer_seq"`
}

type seenGap struct {
	Source   string `json:"source"`
	From     string `json:"from"`
	To       string `json:"to"`
	FromSeq  string `json:"from_seq"`
	ToSeq    string `json:"to_seq"`
	Reason   string `json:"reason"`
	Repaired bool   `json:"repaired"`
}

// covers reports whether sequence seq is among those that the gap lost.
func (g seenGap) covers(seq uint64) bool {
	from, errFrom := strconv.ParseUint(g.FromSeq, 10, 64)
	to, errTo := strconv.ParseUint(g.ToSeq, 10, 64)
	return errFrom == nil && errTo == nil && from <= seq && seq <= to
}

// seenRow is a task as the list shows it.
type seenRow struct {
	TaskID     string `json:"task_id"`
	State      string `json:"state"`
	Agent      string `json:"agent"`
	Type       string `json:"type"`
	Attempt    int    `json:"attempt"`
	Duplicates int    `json:"duplicates"`
	Messages   int    `json:"messages"`
}

// client asks one Fleetglass.
type client struct{ base string }

func (c client) get(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // Read whole.
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s: %.3000s", path, response.Status, text)
	}
	return json.Unmarshal(text, into)
}

// page is the form of every list.
type page[T any] struct {
	Data []T `json:"data"`
	Page struct {
		Next *string `json:"next"`
	} `json:"page"`
	Total int64 `json:"total"`
}

// list reads all pages.
func list[T any](ctx context.Context, c client, path string) ([]T, error) {
	var out []T
	query := url.Values{"limit": {"200"}}
	for {
		var p page[T]
		if err := c.get(ctx, path+"?"+query.Encode(), &p); err != nil {
			return nil, err
		}
		out = append(out, p.Data...)
		if p.Page.Next == nil {
			return out, nil
		}
		query.Set("cursor", *p.Page.Next)
	}
}

// task reads everything about a task.
func (c client) task(ctx context.Context, id string) (*seen, error) {
	var s seen
	path := "/api/v1/tasks/" + url.PathEscape(id)
	if err := c.get(ctx, path, &s); err != nil {
		return nil, err
	}
	var err error
	s.Events, err = list[seenEvent](ctx, c, path+"/events")
	return &s, err
}

// count is how many events of a kind there are.
func (s *seen) count(kind string) int {
	n, concluded := 0, 0
	for _, e := range s.Events {
		switch {
		case e.Kind != kind:
		case e.Source == "brokersync":
			concluded++
		default:
			n++
		}
	}
	if n > 0 && (kind == string(lifecycle.AckConfirmed) || kind == string(lifecycle.TermConfirmed)) {
		return n // What was concluded before the broker's own word came says the same.
	}
	return n + concluded
}

// countIn is how many events of a kind there are in one attempt.
func (s *seen) countIn(kind string, attempt int) int {
	n := 0
	for _, e := range s.Events {
		if e.Kind == kind && e.Attempt == attempt {
			n++
		}
	}
	return n
}
