package sqlite

import (
	"context"
	"errors"
	"fmt"

	"fleetglass/decision"
	"fleetglass/lifecycle"

	"zombiezen.com/go/sqlite"
)

const (
	insertEffect = `INSERT INTO effects (id, queue, subject, action, due, ready, status, holder, token, settled, result, body)
VALUES (?, ?, ?, ?, ?, ?, ?, '', 0, 0, x'', ?)`
	selectReady = `SELECT id, queue, subject, action, due, body, token FROM effects WHERE settled = 0 AND queue = ? AND ready <= ?
ORDER BY ready, id LIMIT +?`
	selectHandedOver = `SELECT id, queue, subject, action, due, body, token FROM effects
WHERE id = ? AND queue = ? AND settled = 0 AND (token = ? OR (token > ? AND ready <= ?))`
	selectUnclaimed = `SELECT id, queue, subject, action, due, body, token FROM effects WHERE id = ? AND queue = ? AND settled = 0 AND token = 0`
	claimEffect     = `UPDATE effects SET status = ?, holder = ?, token = ?, ready = ? WHERE id = ?`
	selectClaim     = `SELECT subject, status, token FROM effects WHERE id = ?`
	settleEffect    = `UPDATE effects SET status = ?, result = ?, settled = ? WHERE id = ?`
	returnEffect    = `UPDATE effects SET status = ?, result = ?, due = ?, ready = ? WHERE id = ?`
	selectEffects   = `SELECT id, queue, subject, action, due, body, token, ready, status, holder, settled, result FROM effects`
	selectEffect    = selectEffects + ` WHERE id = ?`
	selectEffectsOf = selectEffects + ` WHERE action = ? AND action <> '' ORDER BY due, id`
)

func (w *writer) addEffect(e *decision.Effect, subject decision.Subject) error {
	return w.statement(insertEffect).text(e.ID).text(e.Queue).text(string(subject)).text(e.Action).int(int64(e.Due)).int(int64(e.Due)).
		text(string(decision.StatusWaiting)).blob(e.Body).exec()
}

// Claim implements [decision.Outbox].
func (s *Store) Claim(ctx context.Context, r decision.ClaimRequest) (claimed []decision.Claimed, err error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	err = s.write(ctx, "claim effects", func(w *writer) error { claimed, err = w.claim(r); return err })
	if err != nil {
		return nil, err
	}
	return claimed, nil
}

func (w *writer) claim(r decision.ClaimRequest) ([]decision.Claimed, error) {
	var out []decision.Claimed
	until := r.Now.Add(r.Lease)
	err := w.claimable(r).each(func(row *statement) error {
		out = append(out, decision.Claimed{Effect: getEffect(row), Token: uint64(row.getInt()) + 1, Until: until})
		return nil
	})
	for i := range out {
		if err != nil {
			return nil, err
		}
		err = w.statement(claimEffect).text(string(decision.StatusClaimed)).text(r.Holder).int(int64(out[i].Token)).int(int64(until)).text(out[i].ID).exec()
	}
	return out, err
}

// claimable selects the effects that the caller may claim.
func (w *writer) claimable(r decision.ClaimRequest) *statement {
	if r.Unclaimed {
		return w.statement(selectUnclaimed).text(r.Effect).text(r.Queue)
	}
	if r.Effect != "" {
		return w.statement(selectHandedOver).text(r.Effect).text(r.Queue).int(int64(r.After)).int(int64(r.After)).int(int64(r.Now))
	}
	return w.statement(selectReady).text(r.Queue).int(int64(r.Now)).int(int64(r.Limit))
}

// getEffect reads the columns id, queue, subject, action, due and body.
func getEffect(r *statement) decision.Effect {
	return decision.Effect{
		ID: r.getText(), Queue: r.getText(), Subject: decision.Subject(r.getText()), Action: r.getText(), Due: lifecycle.Micros(r.getInt()),
		Body: r.getBytes(),
	}
}

// claimedEffect reads an effect that is held by a claim. It errors with decision.ErrTakenOver where a later claim was made.
func (w *writer) claimedEffect(id string, token uint64) (e decision.EffectState, err error) {
	found := false
	err = w.statement(selectClaim).text(id).each(func(r *statement) error {
		found = true
		e.ID, e.Subject, e.Status, e.Token = id, decision.Subject(r.getText()), decision.Status(r.getText()), uint64(r.getInt())
		return nil
	})
	if err == nil && !found {
		err = fmt.Errorf("effect %q: %w", id, lifecycle.ErrNotFound)
	}
	if err != nil {
		return e, err
	}
	return e, e.CheckClaim(token)
}

// Settle implements [decision.Outbox].
func (s *Store) Settle(ctx context.Context, d decision.Settlement) (made decision.Made, err error) {
	err = s.write(ctx, "settle effect", func(w *writer) error { made, err = w.settle(d); return err })
	return made, err
}

func (w *writer) settle(d decision.Settlement) (decision.Made, error) {
	e, err := w.claimedEffect(d.Effect, d.Token)
	if err != nil {
		return decision.Made{}, err
	}
	revision, err := revisionOf(w.statement(selectRevision), e.Subject)
	if err != nil || e.Status.Settled() {
		return decision.Made{Revision: revision, Repeated: true}, err
	}
	if err := errors.Join(d.Validate(e.Subject), d.Check(e.Subject, revision)); err != nil {
		return decision.Made{}, err
	}
	err = w.statement(settleEffect).text(string(d.Status)).blob(d.Result).int(int64(d.At)).text(d.Effect).exec()
	if err != nil {
		return decision.Made{}, err
	}
	return w.change(e.Subject, revision+1, d.Change)
}

// Return implements [decision.Outbox].
func (s *Store) Return(ctx context.Context, r decision.Return) error {
	return s.write(ctx, "return effect", func(w *writer) error {
		e, err := w.claimedEffect(r.Effect, r.Token)
		if err != nil {
			return err
		}
		if e.Status.Settled() {
			return fmt.Errorf("effect %q is settled: %w", r.Effect, decision.ErrTakenOver)
		}
		return w.statement(returnEffect).text(string(decision.StatusWaiting)).blob(r.Why).int(int64(r.Due)).int(int64(r.Due)).text(r.Effect).exec()
	})
}

// EffectsOf implements [decision.Reader].
func (s *Store) EffectsOf(ctx context.Context, action string) ([]decision.EffectState, error) {
	return s.effects(ctx, selectEffectsOf, action)
}

// Effect implements [decision.Reader].
func (s *Store) Effect(ctx context.Context, id string) (decision.EffectState, error) {
	found, err := s.effects(ctx, selectEffect, id)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("effect %q: %w", id, lifecycle.ErrNotFound)
	}
	if err != nil {
		return decision.EffectState{}, err
	}
	return found[0], nil
}

// effects reads effects by one of the queries of selectEffects, which has one argument.
func (s *Store) effects(ctx context.Context, query, argument string) ([]decision.EffectState, error) {
	var out []decision.EffectState
	err := s.readShort(ctx, "read effects", func(conn *sqlite.Conn) error {
		return prepare(conn, query).text(argument).each(func(r *statement) error {
			e := decision.EffectState{Effect: getEffect(r), Token: uint64(r.getInt())}
			until := lifecycle.Micros(r.getInt())
			e.Status, e.Holder, e.SettledAt, e.Result = decision.Status(r.getText()), r.getText(), lifecycle.Micros(r.getInt()), r.getBytes()
			if e.Status == decision.StatusClaimed {
				e.Until = until
			}
			out = append(out, e)
			return nil
		})
	})
	return out, err
}
