package postgres

import (
	"context"
	"errors"
	"fmt"

	"fleetglass/decision"
	"fleetglass/lifecycle"

	"github.com/jackc/pgx/v5"
)

const (
	addSubject     = `INSERT INTO subjects (subject, revision) VALUES ($1, 0) ON CONFLICT DO NOTHING`
	lockSubject    = `SELECT revision FROM subjects WHERE subject = $1 FOR UPDATE`
	setRevision    = `UPDATE subjects SET revision = $2 WHERE subject = $1`
	selectRevision = `SELECT revision FROM subjects WHERE subject = $1`
	selectDecision = `SELECT subject, revision FROM decisions WHERE id = $1`
	insertDecision = `INSERT INTO decisions (id, subject, revision, at) VALUES ($1, $2, $3, $4)`
)

// Decide implements [decision.Decider].
func (s *Store) Decide(ctx context.Context, d decision.Decision) (made decision.Made, err error) {
	if err := d.Validate(); err != nil {
		return made, fmt.Errorf("decide: %w", err)
	}
	err = s.change(ctx, d.Change, func(c *changing) error { made, err = c.decide(ctx, d); return err })
	if err != nil {
		return decision.Made{}, s.wrap("decide", err)
	}
	return made, nil
}

// changing is a transaction in which something is decided or settled.
type changing struct {
	store *Store
	tx    pgx.Tx
	alone bool // Keep other appends out; see [folding].
}

// change runs f in a transaction that may append the events of a change. Where another program was faster f is run again, in another one.
func (s *Store) change(ctx context.Context, c decision.Change, f func(*changing) error) error {
	batch := lifecycle.Batch{Events: c.Events}
	alone := false
	return s.appending(ctx, func() error {
		if err := s.registerStreams(ctx, batch); err != nil {
			return err
		}
		if err := s.openDays(ctx, batch); err != nil {
			return err
		}
		err := s.inTransaction(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error { return f(&changing{s, tx, alone}) })
		alone = true
		return err
	})
}

func (c *changing) decide(ctx context.Context, d decision.Decision) (decision.Made, error) {
	revision, err := c.lockSubject(ctx, d.Subject)
	if err != nil {
		return decision.Made{}, err
	}
	if made, before, err := c.decided(ctx, d); before || err != nil {
		return made, err
	}
	if err := d.Check(revision); err != nil {
		return decision.Made{}, err
	}
	if _, err := c.tx.Exec(ctx, insertDecision, []byte(d.ID), []byte(d.Subject), int64(revision+1), int64(d.At)); err != nil {
		return decision.Made{}, err
	}
	return c.write(ctx, d.Subject, revision+1, d.Change)
}

// lockSubject holds the subject's row, so that decisions about it take turns, and returns its revision.
func (c *changing) lockSubject(ctx context.Context, subject decision.Subject) (revision uint64, err error) {
	if _, err := c.tx.Exec(ctx, addSubject, []byte(subject)); err != nil {
		return 0, err
	}
	err = c.tx.QueryRow(ctx, lockSubject, []byte(subject)).Scan(&revision)
	return revision, err
}

// decided looks for the decision among those that were made before.
func (c *changing) decided(ctx context.Context, d decision.Decision) (made decision.Made, before bool, err error) {
	var subject []byte
	var revision uint64
	err = c.tx.QueryRow(ctx, selectDecision, []byte(d.ID)).Scan(&subject, &revision)
	if errors.Is(err, pgx.ErrNoRows) {
		return made, false, nil
	}
	if err != nil {
		return made, false, err
	}
	made, err = d.Repeats(decision.Subject(subject), revision)
	return made, true, err
}

// write writes what belongs together under the subject's next revision. The events come last: their locks are held by all who append.
func (c *changing) write(ctx context.Context, subject decision.Subject, revision uint64, change decision.Change) (decision.Made, error) {
	if change.Action != nil {
		if err := c.checkFree(ctx, change.Action); err != nil {
			return decision.Made{}, err
		}
	}
	var writes pgx.Batch
	writes.Queue(setRevision, []byte(subject), int64(revision))
	if change.Action != nil {
		queueAction(&writes, change.Action)
	}
	for i := range change.Effects {
		queueEffect(&writes, &change.Effects[i], subject)
	}
	for i := range change.Audit {
		queueAudit(&writes, &change.Audit[i])
	}
	if err := send(ctx, c.tx, &writes); err != nil {
		return decision.Made{}, err
	}
	events := &job{ctx: ctx, batch: lifecycle.Batch{Events: change.Stamped(revision)}}
	if err := c.store.appendIn(ctx, c.tx, []*job{events}, c.alone); err != nil {
		return decision.Made{}, err
	}
	return decision.Made{Revision: revision, Changed: events.result.Changed}, nil
}

// Revision implements [decision.Decider].
func (s *Store) Revision(ctx context.Context, subject decision.Subject) (revision uint64, err error) {
	err = s.pool.QueryRow(ctx, selectRevision, []byte(subject)).Scan(&revision)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	return revision, s.wrap("read revision", err)
}
