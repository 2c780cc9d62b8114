package firestorekit

import (
	"context"
	"errors"
	"fmt"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// Effect is an entry of the log of side effects: one thing that an agent did outside (SPEC 1).
type Effect struct {
	Key         string           // Required. The idempotency key of the step, such as [fleet.StepKey] derives.
	TaskID      string           // The task it belongs to. Required unless the key is <task id>-<version>.
	Action      string           // Required. What was done, such as git.push.
	Status      string           // Optional; default completed.
	SideEffects []SideEffect     // Optional. What it left behind.
	CompletedAt lifecycle.Micros // Required. Milliseconds in Firestore.
}

// SideEffect is something that exists outside because of an effect.
type SideEffect struct {
	Type string // Such as pull_request.
	Ref  string // Where it is found, such as a number or a URL.
}

// EffectLog keeps the side effects of one agent, in agent-state/<agent>/idempotency-log/<key>. An agent that looks there before a step
// knows that it has done the step before.
type EffectLog struct {
	store
	agent string
}

// NewEffectLog checks the configuration; it asks Firestore nothing.
func NewEffectLog(cfg Config, agent string) (*EffectLog, error) {
	s, err := newStore(cfg)
	if err != nil {
		return nil, err
	}
	if !fleet.ValidToken(agent) {
		return nil, fmt.Errorf("firestorekit: %q is not the name of an agent", agent)
	}
	return &EffectLog{s, agent}, nil
}

func (l *EffectLog) entry(key string) *firestore.DocumentRef {
	return l.client.Collection(agentCollection).Doc(l.agent).Collection(logCollection).Doc(DocumentID(key, ""))
}

// Find returns the entry of a key; nil when there is none. An error means that the log cannot be asked: do not act.
func (l *EffectLog) Find(ctx context.Context, key string) (*Effect, error) {
	var found *Effect
	err := l.decide(ctx, func(ctx context.Context) error {
		doc, err := l.entry(key).Get(ctx)
		if status.Code(err) == codes.NotFound {
			return nil
		}
		if err == nil {
			found = readEffect(key, doc.Data())
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find side effect: %w", err)
	}
	return found, nil
}

// Log writes the entry of a key, once. It errors with [fleet.ErrRecorded] when the key has an entry, and keeps that one. Its own write,
// repeated after an answer was lost, counts as that too.
func (l *EffectLog) Log(ctx context.Context, e Effect) error {
	if e.Key == "" || e.Action == "" || !e.CompletedAt.Known() {
		return errors.New("log side effect: a key, an action and a time are required")
	}
	err := l.decide(ctx, func(ctx context.Context) error {
		_, err := l.entry(e.Key).Create(ctx, l.fields(e))
		if status.Code(err) == codes.AlreadyExists {
			return fleet.ErrRecorded
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("log side effect: %w", err)
	}
	return nil
}

func (l *EffectLog) fields(e Effect) fields {
	f := fields{"key": e.Key, "agent": l.agent, "action": e.Action, "status": "completed", "completed_at": int64(e.CompletedAt) / 1000}
	f.put("status", e.Status)
	f.put("taskId", e.TaskID)
	var left []map[string]any
	for _, s := range e.SideEffects {
		left = append(left, map[string]any{"type": s.Type, "ref": s.Ref})
	}
	f["side_effects"] = left
	return f
}

// readEffect reads an entry leniently, as other makes of agents write it.
func readEffect(key string, data map[string]any) *Effect {
	text := func(m map[string]any, name string) string { s, _ := m[name].(string); return s }
	e := &Effect{Key: key, TaskID: text(data, "taskId"), Action: text(data, "action"), Status: text(data, "status")}
	e.CompletedAt = instant(data["completed_at"])
	list, _ := data["side_effects"].([]any)
	for _, x := range list {
		if m, ok := x.(map[string]any); ok {
			ref := text(m, "ref")
			if ref == "" {
				ref = text(m, "slug")
			}
			e.SideEffects = append(e.SideEffects, SideEffect{Type: text(m, "type"), Ref: ref})
		}
	}
	return e
}
