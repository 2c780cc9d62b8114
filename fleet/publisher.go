package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// NewTask is a task to publish.
type NewTask struct {
	ID          string    // Required. Deterministic, so that publishing again is recognised.
	Agent       string    // Required. Who is to do it.
	Type        string    // Required. May have several tokens, such as code_review.go.
	Payload     any       // Optional. Written as JSON.
	Version     int       // Optional; default 1. Raised when the same task is to be done anew: it changes key and message id.
	CreatedAt   time.Time // Optional; default now. State it when you may publish again, so that the body stays the same.
	Model       string    // Optional.
	TokenBudget int       // Optional.
	MaxRetries  int       // Optional; default 0: not said.
	TraceParent string    // Optional. W3C trace context.
	Publisher   string    // Optional. Who publishes it, for the map of the fleet. Without it that is not known.
}

// Receipt says what became of a publish. A duplicate is a success: the task is in the stream, once.
type Receipt struct {
	Stream    string
	Seq       uint64 // Of the stored message, also when this publish was the duplicate.
	Duplicate bool   // The stream had the message id already, and stored nothing.
}

// PublisherConfig is what a [Publisher] needs.
type PublisherConfig struct {
	JetStream jetstream.JetStream // Required.
	Contract  Contract            // Required.
	Now       func() time.Time    // Optional; default time.Now.
}

// Publisher publishes tasks. It is safe for concurrent use.
type Publisher struct{ cfg PublisherConfig }

// NewPublisher checks the configuration.
func NewPublisher(cfg PublisherConfig) (*Publisher, error) {
	if cfg.JetStream == nil {
		return nil, errors.New("publisher: JetStream is required")
	}
	if err := cfg.Contract.Validate(); err != nil {
		return nil, fmt.Errorf("publisher: %w", err)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Publisher{cfg}, nil
}

// Publish stores a task. After an error it is not known whether the task was stored: publish the same task again, with the same ID,
// Version and CreatedAt, until it succeeds. It errors at once when the task is not fit to be published.
func (p *Publisher) Publish(ctx context.Context, t NewTask) (Receipt, error) {
	msg, err := p.message(t)
	if err != nil {
		return Receipt{}, fmt.Errorf("publish task %q: %w", t.ID, err)
	}
	ack, err := p.cfg.JetStream.PublishMsg(ctx, msg)
	if err != nil {
		return Receipt{}, fmt.Errorf("publish task %q: %w", t.ID, err)
	}
	return Receipt{Stream: ack.Stream, Seq: ack.Sequence, Duplicate: ack.Duplicate}, nil
}

// taskBody is the payload of SPEC 1.
type taskBody struct {
	TaskID      string `json:"taskId"`
	Assignee    string `json:"assignee"`
	Type        string `json:"type"`
	Payload     any    `json:"payload,omitempty"`
	CreatedAt   string `json:"createdAt"`
	Version     int    `json:"version"`
	Model       string `json:"model,omitempty"`
	TokenBudget int    `json:"token_budget,omitempty"`
}

func (p *Publisher) message(t NewTask) (*nats.Msg, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	if t.CreatedAt.IsZero() {
		t.CreatedAt = p.cfg.Now()
	}
	t.Version = max(1, t.Version)
	created := t.CreatedAt.UTC().Format(time.RFC3339Nano)
	body, err := json.Marshal(taskBody{t.ID, t.Agent, t.Type, t.Payload, created, t.Version, t.Model, t.TokenBudget})
	if err != nil {
		return nil, err
	}
	msg := nats.NewMsg(p.cfg.Contract.TaskSubject(t.Agent, t.Type))
	msg.Data = body
	for name, value := range map[string]string{
		HeaderMsgID: t.messageID(), HeaderTaskID: t.ID, HeaderIdempotencyKey: IdempotencyKey(t.ID, strconv.Itoa(t.Version)),
		HeaderTaskType: t.Type, HeaderCreatedAt: created, HeaderTraceParent: t.TraceParent, HeaderPublisher: t.Publisher,
	} {
		if value != "" {
			msg.Header.Set(name, value)
		}
	}
	if t.MaxRetries > 0 {
		msg.Header.Set(HeaderMaxRetries, strconv.Itoa(t.MaxRetries))
	}
	return msg, nil
}

func (t NewTask) check() error {
	switch {
	case t.ID == "" || cleanID(t.ID) != t.ID:
		return errors.New("the id must be text of 1 to 200 bytes without control characters")
	case oneLine(t.Publisher, maxPublisher) != t.Publisher:
		return fmt.Errorf("the publisher must be one line of at most %d characters", maxPublisher)
	case !ValidToken(t.Agent):
		return fmt.Errorf("agent %q cannot be part of a subject", t.Agent)
	}
	for token := range strings.SplitSeq(t.Type, ".") {
		if !ValidToken(token) {
			return fmt.Errorf("type %q cannot be part of a subject", t.Type)
		}
	}
	return nil
}

// messageID is what the stream deduplicates by: the first version of a task has the task's id.
func (t NewTask) messageID() string {
	if t.Version <= 1 {
		return t.ID
	}
	return IdempotencyKey(t.ID, strconv.Itoa(t.Version))
}
