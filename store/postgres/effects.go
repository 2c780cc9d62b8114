package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"fleetglass/decision"
	"fleetglass/lifecycle"

	"github.com/jackc/pgx/v5"
)

const (
	insertEffect = `INSERT INTO effects (id, queue, subject, action, due, ready, status, holder, token, settled, result, body)
VALUES ($1, $2, $3, $4, $5, $5, $6, '', 0, 0, '', $7)`

	// Effects that another claimer has locked are skipped.
	claimEffects = `WITH u AS MATERIALIZED (
    SELECT id, ready FROM effects WHERE settled = 0 AND queue = $1 AND ready <= $2 ORDER BY ready, id LIMIT $3 FOR UPDATE SKIP LOCKED)
UPDATE effects e SET status = $4, holder = $5, token = e.token + 1, ready = $6 FROM u WHERE e.id = u.id RETURNING u.ready, e.id, e.queue, e.subject, e.action, e.due, e.body, e.token`
	claimHandedOver = `UPDATE effects e SET status = $5, holder = $6, token = e.token + 1, ready = $7
WHERE id = $1 AND queue = $2 AND settled = 0 AND (token = $3 OR (token > $3 AND ready <= $4)) RETURNING e.due, e.id, e.queue, e.subject, e.action, e.due, e.body, e.token`
	claimUnclaimed = `UPDATE effects e SET status = $3, holder = $4, token = 1, ready = $5
WHERE id = $1 AND queue = $2 AND settled = 0 AND token = 0 RETURNING e.due, e.id, e.queue, e.subject, e.action, e.due, e.body, e.token`
	lockEffect      = `SELECT subject, status, token FROM effects WHERE id = $1 FOR UPDATE`
	settleEffect    = `UPDATE effects SET status = $2, result = $3, settled = $4 WHERE id = $1`
	returnEffect    = `UPDATE effects SET status = $2, result = $3, due = $4, ready = $4 WHERE id = $1`
	selectEffects   = `SELECT id, queue, subject, action, due, body, token, ready, status, holder, settled, result FROM effects`
	selectEffect    = selectEffects + ` WHERE id = $1`
	selectEffectsOf = selectEffects + ` WHERE action = $1 AND action <> '' ORDER BY due, id`
)

func queueEffect(writes *pgx.Batch, e *decision.Effect, subject decision.Subject) {
	writes.Queue(insertEffect, []byte(e.ID), []byte(e.Queue), []byte(subject), []byte(e.Action), int64(e.Due), string(decision.StatusWaiting), notNull(e.Body))
}

// claimable is a claimed effect with the time from which it could be claimed, by which claims are ordered.
type claimable struct {
	decision.Claimed
	ready lifecycle.Micros
}

// Claim implements [decision.Outbox].
func (s *Store) Claim(ctx context.Context, r decision.ClaimRequest) ([]decision.Claimed, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	var found []claimable
	until := r.Now.Add(r.Lease)
	err := retry(ctx, func() error {
		rows, err := s.claimRows(ctx, r, until)
		if err != nil {
			return err
		}
		found, err = pgx.CollectRows(rows, scanClaimed)
		return err
	})
	slices.SortFunc(found, func(a, b claimable) int { return cmp.Or(cmp.Compare(a.ready, b.ready), cmp.Compare(a.ID, b.ID)) })
	out := make([]decision.Claimed, len(found))
	for i, c := range found {
		out[i] = c.Claimed
		out[i].Until = until
	}
	return out, s.wrap("claim effects", err)
}

// claimRows claims the effects that the caller may claim.
func (s *Store) claimRows(ctx context.Context, r decision.ClaimRequest, until lifecycle.Micros) (pgx.Rows, error) {
	if r.Unclaimed {
		return s.pool.Query(ctx, claimUnclaimed, []byte(r.Effect), []byte(r.Queue), string(decision.StatusClaimed), []byte(r.Holder), int64(until))
	}
	if r.Effect != "" {
		return s.pool.Query(ctx, claimHandedOver, []byte(r.Effect), []byte(r.Queue), int64(r.After), int64(r.Now), string(decision.StatusClaimed), []byte(r.Holder), int64(until))
	}
	return s.pool.Query(ctx, claimEffects, []byte(r.Queue), int64(r.Now), r.Limit, string(decision.StatusClaimed), []byte(r.Holder), int64(until))
}

func scanClaimed(row pgx.CollectableRow) (c claimable, err error) {
	var columns effectColumns
	err = row.Scan(append(append([]any{&c.ready}, columns.places(&c.Effect)...), &c.Token)...)
	columns.fill(&c.Effect)
	return c, err
}

// effectColumns are the columns id, queue, subject, action, due and body.
type effectColumns struct{ id, queue, subject, action []byte }

func (c *effectColumns) places(e *decision.Effect) []any {
	return []any{&c.id, &c.queue, &c.subject, &c.action, &e.Due, &e.Body}
}

func (c *effectColumns) fill(e *decision.Effect) {
	e.ID, e.Queue, e.Subject, e.Action = string(c.id), string(c.queue), decision.Subject(c.subject), string(c.action)
}

// claimedEffect locks an effect that is held by a claim. It errors with decision.ErrTakenOver where a later claim was made.
func (c *changing) claimedEffect(ctx context.Context, id string, token uint64) (decision.EffectState, error) {
	e := decision.EffectState{Effect: decision.Effect{ID: id}}
	var subject []byte
	err := c.tx.QueryRow(ctx, lockEffect, []byte(id)).Scan(&subject, &e.Status, &e.Token)
	if errors.Is(err, pgx.ErrNoRows) {
		return e, fmt.Errorf("effect %q: %w", id, lifecycle.ErrNotFound)
	}
	if err != nil {
		return e, err
	}
	e.Subject = decision.Subject(subject)
	return e, e.CheckClaim(token)
}

// Settle implements [decision.Outbox].
func (s *Store) Settle(ctx context.Context, d decision.Settlement) (made decision.Made, err error) {
	err = s.change(ctx, d.Change, func(c *changing) error { made, err = c.settle(ctx, d); return err })
	if err != nil {
		return decision.Made{}, s.wrap("settle effect", err)
	}
	return made, nil
}

func (c *changing) settle(ctx context.Context, d decision.Settlement) (decision.Made, error) {
	e, err := c.claimedEffect(ctx, d.Effect, d.Token)
	if err != nil {
		return decision.Made{}, err
	}
	revision, err := c.lockSubject(ctx, e.Subject)
	if err != nil || e.Status.Settled() {
		return decision.Made{Revision: revision, Repeated: true}, err
	}
	if err := errors.Join(d.Validate(e.Subject), d.Check(e.Subject, revision)); err != nil {
		return decision.Made{}, err
	}
	if _, err := c.tx.Exec(ctx, settleEffect, []byte(d.Effect), string(d.Status), notNull(d.Result), int64(d.At)); err != nil {
		return decision.Made{}, err
	}
	return c.write(ctx, e.Subject, revision+1, d.Change)
}

// Return implements [decision.Outbox].
func (s *Store) Return(ctx context.Context, r decision.Return) error {
	return s.wrap("return effect", s.change(ctx, decision.Change{}, func(c *changing) error {
		e, err := c.claimedEffect(ctx, r.Effect, r.Token)
		if err != nil {
			return err
		}
		if e.Status.Settled() {
			return fmt.Errorf("effect %q is settled: %w", r.Effect, decision.ErrTakenOver)
		}
		_, err = c.tx.Exec(ctx, returnEffect, []byte(r.Effect), string(decision.StatusWaiting), notNull(r.Why), int64(r.Due))
		return err
	}))
}

// EffectsOf implements [decision.Reader].
func (s *Store) EffectsOf(ctx context.Context, action string) ([]decision.EffectState, error) {
	rows, err := s.pool.Query(ctx, selectEffectsOf, []byte(action))
	if err != nil {
		return nil, s.wrap("read effects", err)
	}
	out, err := pgx.CollectRows(rows, scanEffectState)
	return out, s.wrap("read effects", err)
}

// Effect implements [decision.Reader].
func (s *Store) Effect(ctx context.Context, id string) (decision.EffectState, error) {
	rows, err := s.pool.Query(ctx, selectEffect, []byte(id))
	if err != nil {
		return decision.EffectState{}, s.wrap("read effect", err)
	}
	e, err := pgx.CollectExactlyOneRow(rows, scanEffectState)
	if errors.Is(err, pgx.ErrNoRows) {
		return e, fmt.Errorf("effect %q: %w", id, lifecycle.ErrNotFound)
	}
	return e, s.wrap("read effect", err)
}

func scanEffectState(row pgx.CollectableRow) (e decision.EffectState, err error) {
	var columns effectColumns
	var until lifecycle.Micros
	var holder []byte
	err = row.Scan(append(columns.places(&e.Effect), &e.Token, &until, &e.Status, &holder, &e.SettledAt, &e.Result)...)
	columns.fill(&e.Effect)
	e.Holder = string(holder)
	if e.Status == decision.StatusClaimed {
		e.Until = until
	}
	return e, err
}
