package web

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
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
	Signs string `json:"signs"` // The signs ([views.Sign]) of those that the reader asked for, separated by spaces.
}

// live is the stream of changes as server-sent events. Many changes within the pace come as one message, or as a few. The parameter "only" lists signs, separated by
// spaces: of other tasks the reader learns at every beat how many changed, and no signs.
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
	r := liveReader{to: c.Writer, only: map[string]bool{}}
	for sign := range strings.FieldsSeq(c.Query("only")) {
		r.only[sign] = true
	}
	pulse := time.NewTicker(livePulse)
	defer pulse.Stop()
	for {
		select {
		case <-c.Request.Context().Done():
			return nil
		case <-pulse.C:
			if err := cmp.Or(r.tellOthers(), w.writeBeat(c.Request.Context(), c.Writer)); err != nil {
				return nil
			}
		case <-s.Ready():
			if err := r.tell(s); err != nil {
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

// liveReader is somebody who follows the stream.
type liveReader struct {
	to   io.Writer
	only map[string]bool // The signs of the tasks that it asked for; empty for all.

	others int    // Tasks that it did not ask for, and that changed since it was told.
	upTo   string // The position after these changes.
}

// tell writes all that has changed, so that a reader cannot fall behind a fleet that changes faster than one message holds.
func (r *liveReader) tell(s *live.Subscription) error {
	for {
		change, some := s.Take()
		if !some {
			return nil
		}
		if err := r.tellChange(change); err != nil {
			return err
		}
	}
}

func (r *liveReader) tellChange(change live.Change) error {
	if change.Reset {
		return r.write("reset", change.ID, struct{}{})
	}
	signs := make([]string, 0, len(change.Tasks))
	for _, t := range change.Tasks {
		signs = append(signs, views.Sign(t.TaskID))
	}
	if len(r.only) > 0 {
		signs = slices.DeleteFunc(signs, func(sign string) bool { return !r.only[sign] })
		r.others, r.upTo = r.others+len(change.Tasks)-len(signs), change.ID
		if len(signs) == 0 {
			return nil
		}
	}
	return r.write("change", change.ID, liveMessage{Tasks: len(signs), Signs: strings.Join(signs, " ")})
}

// tellOthers says how many of the tasks that the reader did not ask for have changed.
func (r *liveReader) tellOthers() error {
	if r.others == 0 {
		return nil
	}
	n := r.others
	r.others = 0
	return r.write("change", r.upTo, liveMessage{Tasks: n})
}

func (r *liveReader) write(event, id string, message any) error {
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(r.to, "id: %s\nevent: %s\ndata: %s\n\n", id, event, data)
	return err
}
