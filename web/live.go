package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"fleetglass/alerts"
	"fleetglass/internal/live"
	"fleetglass/views"
)

// Pace of the stream of changes.
const (
	livePace  = 50 * time.Millisecond // A reader is told of changes at most once in this time, however much happens.
	livePulse = 2 * time.Second       // A reader is told this often that the server is there, and how its parts are.
)

// liveMessage is what a page learns: which tasks have changed, and how many. It loads the rest from its own address.
type liveMessage struct {
	Tasks int    `json:"tasks"` // Tasks that changed.
	Signs string `json:"signs"` // Their signs ([views.Sign]), separated by spaces.
}

// live is the stream of changes as server-sent events. Many changes within the pace come as one message, or as a few.
func (w *Web) live(c *gin.Context) error {
	s := w.cfg.Hub.Subscribe(c.GetHeader("Last-Event-ID"))
	defer s.Close()
	h := c.Writer.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	c.Status(http.StatusOK)
	if c.Request.Method == http.MethodHead {
		return nil
	}
	if _, err := fmt.Fprint(c.Writer, "retry: 2000\n\n"); err != nil {
		return nil // The reader left.
	}
	c.Writer.Flush()
	pulse := time.NewTicker(livePulse)
	defer pulse.Stop()
	for {
		select {
		case <-c.Request.Context().Done():
			return nil
		case <-pulse.C:
			if err := w.writeBeat(c.Request.Context(), c.Writer); err != nil {
				return nil
			}
		case <-s.Ready():
			if err := writeChanges(c.Writer, s); err != nil {
				return nil
			}
			c.Writer.Flush()
			if !pause(c, livePace) {
				return nil
			}
		}
		c.Writer.Flush()
	}
}

// liveBeat says that the server is there, and what is wrong with what it sees; empty when nothing is.
type liveBeat struct {
	Alarm  string `json:"alarm"`
	Firing *int   `json:"firing,omitempty"` // Alerts that fire; nil while that cannot be told.

	Checked time.Time `json:"checked,omitzero"` // When the rules of alerts were last evaluated; zero while that is not known.
}

func (w *Web) writeBeat(ctx context.Context, to gin.ResponseWriter) error {
	beat := liveBeat{Alarm: alarmOf(w.health()).word}
	if c := w.rulesChecked(); c.At.Known() {
		beat.Checked = c.At.Time()
	}
	if counts, err := w.cfg.Query.AlertCounts(ctx); err == nil {
		firing := counts.Total(alerts.StateFiring)
		beat.Firing = &firing
	}
	data, err := json.Marshal(beat)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(to, "event: beat\ndata: %s\n\n", data)
	return err
}

// pause waits for the pace; it is false when the reader left meanwhile.
func pause(c *gin.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c.Request.Context().Done():
		return false
	case <-t.C:
		return true
	}
}

// writeChanges writes all that has changed, so that a reader cannot fall behind a fleet that changes faster than one message holds.
func writeChanges(w gin.ResponseWriter, s *live.Subscription) error {
	for {
		change, some := s.Take()
		if !some {
			return nil
		}
		if err := writeChange(w, change); err != nil {
			return err
		}
	}
}

func writeChange(w gin.ResponseWriter, change live.Change) error {
	if change.Reset {
		_, err := fmt.Fprintf(w, "id: %s\nevent: reset\ndata: {}\n\n", change.ID)
		return err
	}
	signs := make([]string, 0, len(change.Tasks))
	for _, t := range change.Tasks {
		signs = append(signs, views.Sign(t.TaskID))
	}
	data, err := json.Marshal(liveMessage{Tasks: len(signs), Signs: strings.Join(signs, " ")})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "id: %s\nevent: change\ndata: %s\n\n", change.ID, data)
	return err
}
