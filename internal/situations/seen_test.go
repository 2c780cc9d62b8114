//go:build linux

package situations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// seen is what Fleetglass says about one task.
type seen struct {
	TaskID      string        `json:"task_id"`
	State       string        `json:"state"`
	Rule        string        `json:"rule"`
	Agent       string        `json:"agent"`
	Attempts    int           `json:"attempts"`
	CompletedAt time.Time     `json:"completed_at"`
	Messages    []seenMessage `json:"messages"`
	Anomalies   []struct {
		Code, Meaning string
	} `json:"anomalies"`
	Gaps []struct {
		Source, Reason string
	} `json:"gaps"`
	Duplicates struct {
		CaughtByStream      int `json:"caught_by_stream"`
		CaughtByIdempotency int `json:"caught_by_idempotency"`
		ReachedExecution    int `json:"reached_execution"`
		Unknown             int `json:"unknown"`
		Cases               []struct {
			Why       string
			OtherTask string `json:"other_task"`
		}
	} `json:"duplicates"`
	SameKey []struct {
		TaskID string `json:"task_id"`
	} `json:"same_key"`
	Recommendation *struct {
		Decision string
		Rule     string
		Facts    []struct{ Text, Link string }
	} `json:"recommendation"`
	Boundaries struct {
		IngressAckedAt time.Time `json:"ingress_acked_at"`
		DispatchedAt   time.Time `json:"dispatched_at"`
		AcceptedAt     *string   `json:"accepted_at"`
		CompletedAt    time.Time `json:"completed_at"`
	} `json:"boundaries"`
	Lease       *seenLease `json:"lease"`
	Answers     any        `json:"answers"`
	Idempotency *struct {
		Key string
	} `json:"idempotency"`
}

type seenMessage struct {
	Stream      string        `json:"stream"`
	Seq         string        `json:"seq"`
	State       string        `json:"state"`
	Subject     string        `json:"subject"`
	PayloadHash string        `json:"payload_hash"`
	PublishedAt time.Time     `json:"published_at"`
	StateSince  time.Time     `json:"state_since"`
	Publisher   string        `json:"publisher"`
	Consumer    string        `json:"consumer"`
	Attempts    []seenAttempt `json:"attempts"`
	Others      []seenTaker   `json:"other_consumers"`
	Watchers    []seenWatcher `json:"watchers"`
	Lease       *seenLease    `json:"lease"`
}

// seenTaker is a workers' consumer that takes the message beside the one by which it is told.
type seenTaker struct {
	Consumer string        `json:"consumer"`
	State    string        `json:"state"`
	Attempts []seenAttempt `json:"attempts"`
}

type seenWatcher struct {
	Consumer string    `json:"consumer"`
	AckedAt  time.Time `json:"acked_at"`
}

type seenAttempt struct {
	N           int       `json:"n"`
	Former      bool      `json:"former"`
	ConsumerSeq *string   `json:"consumer_seq"`
	End         string    `json:"end"`
	Reason      string    `json:"reason"`
	BeganAt     time.Time `json:"began_at"`
	BeganExact  bool      `json:"began_exact"`
	EndedAt     time.Time `json:"ended_at"`
	EndedLatest bool      `json:"ended_at_latest"`
}

type seenLease struct {
	Attempt    *int       `json:"attempt"`
	Consumer   string     `json:"consumer"`
	DeadlineAt *time.Time `json:"deadline_at"`
	AtLatest   bool       `json:"deadline_at_latest"`
	StaleKind  *string    `json:"stale_kind"`
	HeldMS     *int64     `json:"held_ms"`
	Sender     *int       `json:"last_heartbeat_attempt"`
}

// words are the three answers, in lower case.
func (s *seen) words() string { return strings.ToLower(strings.Join(texts(s.Answers), " | ")) }

// texts are all texts in a value, in a fixed order.
func texts(v any) []string {
	var out []string
	switch v := v.(type) {
	case string:
		out = append(out, v)
	case []any:
		for _, x := range v {
			out = append(out, texts(x)...)
		}
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			out = append(out, texts(v[name])...)
		}
	}
	return out
}

// String is what a failed row prints: everything that the claims look at.
func (s *seen) String() string {
	if s == nil {
		return "nothing is known of it"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s is %s (%s), agent %s", s.TaskID, s.State, s.Rule, s.Agent)
	for _, m := range s.Messages {
		fmt.Fprintf(&b, "; %s:%s is %s [", m.Stream, m.Seq, m.State)
		for _, a := range m.Attempts {
			fmt.Fprintf(&b, " %d %s %s", a.N, a.End, a.Reason)
		}
		fmt.Fprintf(&b, " ] by %s", m.Consumer)
		for _, o := range m.Others {
			fmt.Fprintf(&b, ", by %s %s %+v", o.Consumer, o.State, o.Attempts)
		}
	}
	for _, a := range s.Anomalies {
		fmt.Fprintf(&b, "; anomaly %s", a.Code)
	}
	if d := s.Duplicates; d.CaughtByStream+d.CaughtByIdempotency+d.ReachedExecution+d.Unknown > 0 {
		fmt.Fprintf(&b, "; stream %d idempotency %d execution %d unknown %d %v", d.CaughtByStream, d.CaughtByIdempotency, d.ReachedExecution,
			d.Unknown, d.Cases)
	}
	if s.Lease != nil {
		lease, _ := json.Marshal(s.Lease)
		fmt.Fprintf(&b, "; lease %s", lease)
	}
	for _, g := range s.Gaps {
		fmt.Fprintf(&b, "; gap %s %s", g.Source, g.Reason)
	}
	fmt.Fprintf(&b, "; says: %s", strings.Join(texts(s.Answers), " | "))
	return b.String()
}

// story is what Fleetglass says about a row at one moment.
type story struct {
	tasks  map[string]*seen    // By the names that the row gives; nil where nothing is known.
	stored map[string][]letter // What the clients know, by the same names.
	task   string              // The one that claims are about.
	asked  time.Time           // When Fleetglass was asked about them, by the clock of the clients.
	glass  *glass
	ctx    context.Context
}

// told is the task that claims are about; nil where nothing is known of it.
func (s story) told() *seen { return s.tasks[s.task] }

// now is the broker's time as Fleetglass knows it: deadlines go by that clock, not by this host's.
func (s story) now() (time.Time, error) {
	var r readiness
	err := s.glass.ask(s.ctx, "/readyz", &r)
	return r.AsOf, err
}

// message is the n-th message that the clients stored for the task; nil where Fleetglass does not know it.
func (s story) message(n int) *seenMessage {
	task := s.told()
	if task == nil || n >= len(s.stored[s.task]) {
		return nil
	}
	l := s.stored[s.task][n]
	for i, m := range task.Messages {
		if name, _, _ := strings.Cut(m.Stream, "~"); name == l.stream && m.Seq == strconv.FormatUint(l.seq, 10) {
			return &task.Messages[i]
		}
	}
	return nil
}

// String is everything that is said.
func (s story) String() string {
	var lines []string
	for name, task := range s.tasks {
		lines = append(lines, fmt.Sprintf("%q: %s", name, task))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n\t")
}

// read asks about every task of a row.
func (g *glass) read(ctx context.Context, named map[string]string, stored map[string][]letter) (story, error) {
	s := story{tasks: map[string]*seen{}, stored: map[string][]letter{}, asked: time.Now(), glass: g, ctx: ctx}
	for name, id := range named {
		var task seen
		err := g.ask(ctx, "/api/v1/tasks/"+url.PathEscape(id), &task)
		if err != nil && !errors.Is(err, errAbsent) {
			return s, err
		}
		if err == nil {
			s.tasks[name] = &task
		}
		s.stored[name] = stored[id]
	}
	return s, nil
}
