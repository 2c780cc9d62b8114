//go:build linux

package situations

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// feed is what the stream of changes says: open pages show no more than that.
type feed struct {
	mu     sync.Mutex
	states map[string]string // The latest state of each task that changed.
	lost   error             // Why nothing more comes.
}

// follow reads the stream of changes until the test ends.
func (g *glass) follow(t *testing.T) *feed {
	t.Helper()
	c := &feed{states: map[string]string{}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.base+"/api/v1/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		defer response.Body.Close()
		c.read(t.Context(), bufio.NewScanner(response.Body))
	})
	t.Cleanup(reading.Wait)
	return c
}

func (c *feed) read(ctx context.Context, lines *bufio.Scanner) {
	kind := ""
	for lines.Scan() {
		if name, is := strings.CutPrefix(lines.Text(), "event: "); is {
			kind = name
		}
		data, is := strings.CutPrefix(lines.Text(), "data: ")
		switch {
		case !is:
		case kind == "task":
			var changed struct {
				TaskID string `json:"task_id"`
				State  string
			}
			if err := json.Unmarshal([]byte(data), &changed); err != nil {
				c.end(err)
				return
			}
			c.mu.Lock()
			c.states[changed.TaskID] = changed.State
			c.mu.Unlock()
		case kind == "reset":
			c.end(errors.New("changes were missed"))
			return
		}
	}
	if ctx.Err() == nil {
		c.end(fmt.Errorf("the stream ended: %w", lines.Err()))
	}
}

func (c *feed) end(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = why
}

// streamTold holds when the last change of each task that the stream told is the state that the task has.
func (w *life) streamTold(s story) error {
	if w.feed == nil {
		return nil
	}
	w.feed.mu.Lock()
	defer w.feed.mu.Unlock()
	if w.feed.lost != nil {
		return w.feed.lost
	}
	for _, told := range s.tasks {
		if told != nil && w.feed.states[told.TaskID] != told.State {
			return fmt.Errorf("the stream of changes says that %s is %q, and it is %s", told.TaskID, w.feed.states[told.TaskID], told.State)
		}
	}
	return nil
}
