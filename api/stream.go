package api

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"fleetglass/access"
	"fleetglass/internal/httperr"
	"fleetglass/internal/live"
	"fleetglass/lifecycle"
	"fleetglass/query"
)

const streamOperation = "stream-changes"

const streamDetail = "Server-sent events. task: something about a task changed; several changes may be sent as one. dlq: something about the dead letters of a task may have changed; its self lists them. operation: how far an operation on dead letters is. alert: how an alert stands. counts: tasks per " +
	"state, and alerts that fire per severity, when they changed. reset: changes were missed; load again what you show. When nothing happens a comment is sent from time to time. " +
	"A client that reconnects with Last-Event-ID, as browsers do, continues after that event. After a restart of the server it " +
	"gets reset."

const eventStream = "text/event-stream"

// StreamInput declares the header of the stream.
type StreamInput struct {
	LastEventID string `header:"Last-Event-ID" doc:"The id of the last event that was received."`
}

type streamReply struct {
	Body func(huma.Context)
}

// TaskChanged is the data of a task event.
type TaskChanged struct {
	TaskID string  `json:"task_id"`
	State  string  `json:"state"`
	Agent  Text    `json:"agent"`
	At     Instant `json:"at"`
	Self   string  `json:"self"`
}

// EntriesChanged is the data of a dlq event.
type EntriesChanged struct {
	TaskID string  `json:"task_id"`
	Agent  Text    `json:"agent"`
	At     Instant `json:"at"`
	Self   string  `json:"self"` // Lists the dead letters of the task.
}

// OperationChanged is the data of an operation event.
type OperationChanged struct {
	ID     string          `json:"id"`
	Status string          `json:"status"`
	Counts OperationCounts `json:"counts"`
	At     Instant         `json:"at"`
	Self   string          `json:"self"`
}

func operationChangedOf(o live.OperationChange) OperationChanged {
	return OperationChanged{
		ID: o.ID, Status: o.Status, At: Instant(o.At), Self: operationPath(o.ID),
		Counts: OperationCounts{Selected: o.Selected, Eligible: o.Eligible, Blocked: o.Blocked, Done: o.Done, Failed: o.Failed},
	}
}

// CountsChanged is the data of a counts event.
type CountsChanged struct {
	Counts map[string]int64 `json:"counts"`
	Total  int64            `json:"total"`
	Alerts map[string]int   `json:"alerts"` // That fire, by severity.
}

func (a *API) describeStream() {
	register(a, call{
		id: streamOperation, needs: access.Read, path: Base + "/stream", tag: "live", summary: "Live changes",
		detail: streamDetail, shape: shapeStream,
		failures: []httperr.Code{httperr.RateLimited},
	}, a.stream)
}

func shapeStream(op *huma.Operation) {
	op.Responses["200"] = &huma.Response{Description: "A stream without end", Content: map[string]*huma.MediaType{
		eventStream: {Schema: &huma.Schema{Type: huma.TypeString}, Example: exampleStream()},
	}}
}

func (a *API) stream(ctx context.Context, in *StreamInput) (*streamReply, error) {
	return &streamReply{Body: func(hc huma.Context) {
		c := humagin.Unwrap(hc)
		h := c.Writer.Header()
		h.Set("Content-Type", eventStream)
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no") // Proxies must not hold events back.
		c.Writer.WriteHeader(http.StatusOK)
		if c.Request.Method == http.MethodHead {
			return
		}
		sub := a.cfg.Hub.Subscribe(in.LastEventID)
		defer sub.Close()
		s := &streaming{api: a, w: c.Writer, flush: http.NewResponseController(c.Writer).Flush, sub: sub}
		s.run(ctx)
	}}, nil
}

// streaming writes one stream. It runs in the request's goroutine and starts no other.
type streaming struct {
	api   *API
	w     io.Writer
	flush func() error
	sub   *live.Subscription

	err        error
	lastCounts string
	counting   bool // Counts are due when the timer fires.
	stale      bool // Something changed after they became due.
}

// countsDelay is how long after a change counts are sent: shared counts are no older, so that they are of after it.
const countsDelay = query.CountsAge

// run writes until the client goes away or the request is ended.
func (s *streaming) run(ctx context.Context) {
	options := s.api.cfg.Options
	heartbeat, counts, pace := time.NewTimer(options.Heartbeat), time.NewTimer(0), time.NewTimer(0)
	defer heartbeat.Stop()
	defer counts.Stop()
	defer pace.Stop()
	s.write("retry: 2000\n\n")
	s.counting = true // The first counts come at once.
	ready := (<-chan struct{})(nil)
	for s.err == nil {
		select {
		case <-ctx.Done():
			return
		case <-pace.C:
			ready = s.sub.Ready()
		case <-ready:
			ready = nil
			pace.Reset(options.Pace)
			s.changes()
			s.expectCounts(counts)
		case <-counts.C:
			s.counts(ctx)
			s.counting = false
			if s.stale {
				s.stale = false
				s.expectCounts(counts)
			}
		case <-heartbeat.C:
			s.write(": still here\n\n")
		}
		heartbeat.Reset(options.Heartbeat)
	}
}

func (s *streaming) expectCounts(timer *time.Timer) {
	if s.counting {
		s.stale = true
		return
	}
	s.counting = true
	timer.Reset(countsDelay)
}

// changes writes all that the subscription has, so that a reader cannot fall behind a fleet that changes faster than one change holds.
func (s *streaming) changes() {
	for change, some := s.sub.Take(); some && s.err == nil; change, some = s.sub.Take() {
		s.change(change)
	}
}

// change writes one change. Only its last event carries its id: who is cut off before it resumes before the whole change.
func (s *streaming) change(change live.Change) {
	if change.Reset {
		s.event("reset", change.ID, struct{}{})
		return
	}
	fallen := slices.DeleteFunc(slices.Clone(change.Tasks), func(t lifecycle.TaskChange) bool { return !t.Fallen })
	left := len(change.Alerts) + len(change.Operations) + len(change.Tasks) + len(fallen)
	id := func() string {
		if left--; left > 0 {
			return ""
		}
		return change.ID
	}
	for _, c := range change.Alerts {
		s.event("alert", id(), alertChangedOf(c))
	}
	for _, o := range change.Operations {
		s.event("operation", id(), operationChangedOf(o))
	}
	for _, t := range change.Tasks {
		s.event("task", id(), TaskChanged{
			TaskID: t.TaskID, State: string(t.State), Agent: Text(t.Agent), At: Instant(t.At), Self: taskPath(t.TaskID),
		})
	}
	for _, t := range fallen {
		s.event("dlq", id(), EntriesChanged{TaskID: t.TaskID, Agent: Text(t.Agent), At: Instant(t.At), Self: entriesOfTask(t.TaskID)})
	}
}

// counts writes the counts when they are others than before. A store that cannot tell now is asked again after the next change.
func (s *streaming) counts(ctx context.Context) {
	a := s.api
	counts, err := a.cfg.Query.AllCounts(ctx)
	if err != nil {
		if ctx.Err() == nil {
			a.cfg.Log.ErrorContext(ctx, "tasks could not be counted for a live stream", "error", err)
		}
		return
	}
	firing, err := a.cfg.Query.AlertCounts(ctx)
	if err != nil {
		if ctx.Err() == nil {
			a.cfg.Log.ErrorContext(ctx, "alerts could not be counted for a live stream", "error", err)
		}
		return
	}
	data, err := json.Marshal(CountsChanged{Counts: countsOf(counts), Total: counts.Total(), Alerts: severitiesOf(firing)})
	if err == nil && string(data) != s.lastCounts {
		s.lastCounts = string(data)
		s.write("event: counts\ndata: " + string(data) + "\n\n")
	}
}

func (s *streaming) event(name, id string, data any) {
	b, err := json.Marshal(data) // One line: line breaks in texts are escaped.
	if err != nil {
		s.err = err
		return
	}
	text := "event: " + name + "\n"
	if id != "" {
		text += "id: " + id + "\n"
	}
	s.write(text + "data: " + string(b) + "\n\n")
}

// write sends text at once. After the first failure nothing more is written.
func (s *streaming) write(text string) {
	if s.err != nil {
		return
	}
	if _, s.err = io.WriteString(s.w, text); s.err == nil {
		s.err = s.flush()
	}
}
