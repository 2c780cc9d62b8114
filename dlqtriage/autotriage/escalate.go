package autotriage

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// Queue is the queue of effects that tell of entries.
const Queue = "escalation"

// Who is told.
const (
	toTask    = "task"
	toWebhook = "webhook"
)

// telling is the body of an effect.
type telling struct {
	Entry string           `json:"entry"`
	Why   string           `json:"why"` // Why nobody decided without asking.
	To    string           `json:"to"`
	At    lifecycle.Micros `json:"at,omitempty"` // When it was decided to tell; zero in effects of earlier versions.
}

// escalation is the subject of the decision to tell of one death, and names its record and effects.
func escalation(e dlqtriage.Entry) string {
	return "escalate " + e.ID + " " + strconv.FormatInt(int64(e.FailedAt), 10)
}

// told reports whether it was decided before to tell of the entry: by another replica, or before a restart. Whoever was told decides from then on,
// also where the policy would allow it by now.
func (d *Desk) told(ctx context.Context, e dlqtriage.Entry) (bool, error) {
	revision, err := d.cfg.Store.Revision(ctx, decision.Subject(escalation(e)))
	if err != nil {
		return false, fmt.Errorf("look whether somebody was told of %s: %w", e.ID, err)
	}
	return revision > 0, nil
}

// escalate plans to tell everybody of an entry. It is one decision however often it is called, and none where a replica has retried the entry.
func (d *Desk) escalate(ctx context.Context, e dlqtriage.Entry, why string) error {
	id, now := escalation(e), d.cfg.now()
	change := decision.Change{Audit: []decision.AuditRecord{{
		ID: id, At: now, Actor: Actor, Role: "policy", Via: decision.ViaAuto, Action: "escalate", Target: e.ID, Outcome: decision.Allowed, Reason: why,
	}}}
	for to, wanted := range map[string]bool{toTask: d.cfg.Subject != "", toWebhook: d.cfg.Webhook != nil} {
		if !wanted {
			continue
		}
		body, err := json.Marshal(telling{Entry: e.ID, Why: why, To: to, At: now})
		if err != nil {
			return err
		}
		change.Effects = append(change.Effects, decision.Effect{ID: id + " " + to, Queue: Queue, Due: now, Body: body})
	}
	err := d.cfg.Step.Do("escalate", func() error {
		_, err := d.cfg.Store.Decide(ctx, decision.Decision{ID: verdictID(e), Subject: decision.Subject(id), At: now, Change: change})
		return err
	})
	if err != nil && !errors.Is(err, decision.ErrConflict) { // Another replica retried it.
		return fmt.Errorf("escalate %s: %w", e.ID, err)
	}
	return nil
}

const (
	atOnce    = 16
	mostTries = 12 // With pauses that double from 5 s up to an hour: about four hours.
)

// tellAll tells what is due.
func (d *Desk) tellAll(ctx context.Context) error {
	var claimed []decision.Claimed
	err := d.cfg.Step.Do("claim", func() (err error) {
		claimed, err = d.cfg.Store.Claim(ctx, decision.ClaimRequest{Queue: Queue, Holder: Actor, Now: d.cfg.now(), Lease: d.cfg.Lease, Limit: atOnce})
		return err
	})
	if err != nil {
		return fmt.Errorf("claim escalations: %w", err)
	}
	var errs []error
	for _, c := range claimed {
		errs = append(errs, d.tell(ctx, c))
	}
	return errors.Join(errs...)
}

func (d *Desk) tell(ctx context.Context, c decision.Claimed) error {
	var t telling
	err := json.Unmarshal(c.Body, &t)
	if err == nil {
		err = d.send(ctx, c, t)
	}
	switch {
	case err == nil:
		return d.settle(ctx, c, decision.StatusDone, "told")
	case c.Token >= mostTries || errors.Is(err, lifecycle.ErrNotFound):
		return errors.Join(fmt.Errorf("give up to tell of %s: %w", t.Entry, err), d.settle(ctx, c, decision.StatusFailed, err.Error()))
	}
	return errors.Join(fmt.Errorf("tell of %s: %w", t.Entry, err), d.giveBack(ctx, c, err))
}

// giveBack lets an effect that failed be tried again, later each time.
func (d *Desk) giveBack(ctx context.Context, c decision.Claimed, why error) error {
	pause := min(5*time.Second<<min(c.Token, 10), time.Hour)
	err := d.cfg.Step.Do("give back", func() error {
		return d.cfg.Store.Return(ctx, decision.Return{Effect: c.ID, Token: c.Token, Due: d.cfg.now().Add(pause), Why: []byte(why.Error())})
	})
	if errors.Is(err, decision.ErrTakenOver) {
		return nil
	}
	return err
}

func (d *Desk) settle(ctx context.Context, c decision.Claimed, status decision.Status, result string) error {
	text, err := json.Marshal(result)
	if err != nil {
		return err
	}
	err = d.cfg.Step.Do("settle", func() error {
		_, err := d.cfg.Store.Settle(ctx, decision.Settlement{Effect: c.ID, Token: c.Token, Status: status, Result: text, At: d.cfg.now()})
		return err
	})
	if err != nil && !errors.Is(err, decision.ErrTakenOver) {
		return fmt.Errorf("settle %s: %w", c.ID, err)
	}
	return nil
}

// send tells of an entry as it is now. One about which somebody decided meanwhile is no news.
func (d *Desk) send(ctx context.Context, c decision.Claimed, t telling) error {
	known, plan, err := d.cfg.Actions.Examine(ctx, t.Entry)
	if err != nil {
		return err
	}
	if !undecided(known.Entry) {
		return nil
	}
	n := d.notice(known, plan, t.Why)
	if t.To == toWebhook {
		return d.cfg.Step.Do("post", func() error { return d.post(ctx, c.ID, cmp.Or(t.At, d.cfg.now()), n) })
	}
	if came, err := d.came(ctx, c, n); came || err != nil {
		return err
	}
	return d.cfg.Step.Do("publish", func() error { return d.publish(ctx, n) })
}

// came reports whether somebody who claimed the effect before published the task and died: its stream may have forgotten the message id by now.
func (d *Desk) came(ctx context.Context, c decision.Claimed, n notice) (bool, error) {
	if c.Token == 1 {
		return false, nil
	}
	r, err := d.cfg.Store.Task(ctx, n.task())
	if errors.Is(err, lifecycle.ErrNotFound) {
		return false, nil
	}
	return len(r.Messages) > 0, err
}
