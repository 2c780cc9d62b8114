package monitor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// Pauses before an effect is tried again.
const (
	whileReading = 100 * time.Millisecond // The collector has the queue's newest lines in hand.
	whileLeaving = time.Second            // It is not seen yet how the message left its stream.
	whileFailing = 2 * time.Second        // The broker or a stream is missing.
)

// later says that an effect cannot be done now.
type later struct {
	pause time.Duration
	why   error
	quiet bool // It is the usual course of things.
}

// Error implements error.
func (l *later) Error() string { return l.why.Error() }

// Unwrap implements the interface of package errors.
func (l *later) Unwrap() error { return l.why }

// copy does one effect, and settles it or gives it back. It errors when somebody should know.
func (m *Monitor) copy(ctx context.Context, c decision.Claimed) error {
	var j job
	if err := json.Unmarshal(c.Body, &j); err != nil {
		return m.settle(ctx, c, decision.StatusFailed, done{Why: "the effect cannot be read: " + err.Error()}, nil)
	}
	d, events, err := m.bury(ctx, j.Message)
	if err == nil {
		return m.settle(ctx, c, decision.StatusDone, d, events)
	}
	return m.giveBack(ctx, c, j.Message, err)
}

// giveBack gives an effect back that cannot be done now. It errors when somebody should know.
func (m *Monitor) giveBack(ctx context.Context, c decision.Claimed, k lifecycle.MessageKey, err error) error {
	var wait *later
	if !errors.As(err, &wait) {
		wait = &later{pause: whileFailing, why: err}
	}
	back := m.cfg.Step.Do("give back", func() error {
		return m.cfg.Store.Return(ctx, decision.Return{Effect: c.ID, Token: c.Token, Due: m.cfg.now().Add(wait.pause), Why: []byte(wait.why.Error())})
	})
	if errors.Is(back, decision.ErrTakenOver) {
		back = nil
	}
	if wait.quiet {
		return back
	}
	return errors.Join(fmt.Errorf("copy %s: %w", k, wait.why), back)
}

// done is what came of an effect, for people.
type done struct {
	Entry   string `json:"entry,omitempty"`   // Where the entry is.
	Body    string `json:"body,omitempty"`    // Where its body is from; empty where the entry was there before.
	Removed bool   `json:"removed,omitempty"` // The message was removed from its stream.
	Why     string `json:"why,omitempty"`     // Why there was nothing to do, or why the message was left where it is.

	bodyless bool // The entry does not have the message's body.
}

// bury makes sure that a dead message has an entry, then that it is not in its stream. Every step may have been taken before, by somebody who
// died after it.
func (m *Monitor) bury(ctx context.Context, k lifecycle.MessageKey) (done, []lifecycle.Event, error) {
	body, err := m.known(ctx, k, nil)
	if err != nil {
		return done{}, nil, err
	}
	if !body.died {
		return done{Why: "it does not count as dead any more"}, nil, nil
	}
	out := done{Entry: body.entryAt()}
	if body.entry.Copied() {
		out.bodyless, err = m.isBodyless(ctx, body)
	} else if out, err = m.publish(ctx, body); err == nil {
		m.Handled()
	}
	if err != nil {
		return out, nil, err
	}
	if out.bodyless && m.kept(body) {
		out.Why = "its entry could not take its body: the message stays in its stream, with the only whole copy"
		m.cfg.Logger.WarnContext(ctx, "dead letter: "+out.Why, "message", k.String(), "entry", out.Entry)
		return out, nil, nil
	}
	removed, events, err := m.remove(ctx, body)
	out.Removed = removed
	return out, events, err
}

// corpse is what is known of a message that may have died.
type corpse struct {
	key   lifecycle.MessageKey
	facts lifecycle.MessageFacts
	task  lifecycle.TaskFacts
	entry dlqtriage.Entry
	died  bool
	asked *asked // Somebody asked for its quarantine while it was in flight; nil where it died.
}

func (c corpse) entryAt() string {
	if !c.entry.Copied() {
		return ""
	}
	return c.facts.Dead.Entry
}

// known reads what the store has of a message.
func (m *Monitor) known(ctx context.Context, k lifecycle.MessageKey, by *asked) (corpse, error) {
	c := corpse{key: k, asked: by}
	rows, err := m.cfg.Store.MessagesIn(ctx, k.Stream, k.Seq, k.Seq, 1)
	if err != nil || len(rows) == 0 {
		return c, err
	}
	id, err := m.cfg.Store.TaskOf(ctx, k)
	if err != nil {
		return c, fmt.Errorf("find the task: %w", err)
	}
	task, err := m.cfg.Store.Task(ctx, id)
	if err != nil {
		return c, fmt.Errorf("read the task: %w", err)
	}
	c.facts, c.task = rows[0], task.Facts
	if c.entry, c.died = dlqtriage.EntryOf(c.facts, c.task); by != nil {
		c.entry, c.died = dlqtriage.EntryOfHeld(c.facts, c.task, by.at), true
	}
	c.facts = c.facts.Judged(c.task)
	return c, nil
}

// settle ends an effect. One that was taken over is somebody else's.
func (m *Monitor) settle(ctx context.Context, c decision.Claimed, status decision.Status, d done, events []lifecycle.Event) error {
	result, err := json.Marshal(d)
	if err != nil {
		return err
	}
	s := decision.Settlement{Effect: c.ID, Token: c.Token, Status: status, Result: result, At: m.cfg.now(), Change: decision.Change{Events: events}}
	err = m.cfg.Step.Do("settle", func() error { _, err := m.cfg.Store.Settle(ctx, s); return err })
	if err != nil && !errors.Is(err, decision.ErrTakenOver) {
		return fmt.Errorf("settle %s: %w", c.ID, err)
	}
	return nil
}
