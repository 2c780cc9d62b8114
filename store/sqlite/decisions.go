package sqlite

import (
	"context"
	"fmt"

	"fleetglass/decision"
	"fleetglass/lifecycle"

	"zombiezen.com/go/sqlite"
)

const (
	selectRevision = `SELECT revision FROM subjects WHERE subject = ?`
	upsertRevision = `INSERT INTO subjects (subject, revision) VALUES (?, ?) ON CONFLICT (subject) DO UPDATE SET revision = excluded.revision`
	selectDecision = `SELECT subject, revision FROM decisions WHERE id = ?`
	insertDecision = `INSERT INTO decisions (id, subject, revision, at) VALUES (?, ?, ?, ?)`
)

// Decide implements [decision.Decider].
func (s *Store) Decide(ctx context.Context, d decision.Decision) (made decision.Made, err error) {
	if err := d.Validate(); err != nil {
		return made, fmt.Errorf("decide: %w", err)
	}
	err = s.write(ctx, "decide", func(w *writer) error { made, err = w.decide(d); return err })
	return made, err
}

// write runs f in a transaction of the writer.
func (s *Store) write(ctx context.Context, what string, f func(*writer) error) error {
	end := s.begin(ctx, what)
	err := s.submit(ctx, &job{write: f})
	end(err)
	switch {
	case err == nil:
		return nil
	case isUnable(err):
		return fmt.Errorf("%s: %w: %w", what, lifecycle.ErrUnable, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

func (w *writer) decide(d decision.Decision) (decision.Made, error) {
	if made, before, err := w.decided(d); before || err != nil {
		return made, err
	}
	revision, err := revisionOf(w.statement(selectRevision), d.Subject)
	if err == nil {
		err = d.Check(revision)
	}
	if err != nil {
		return decision.Made{}, err
	}
	err = w.statement(insertDecision).text(d.ID).text(string(d.Subject)).int(int64(revision + 1)).int(int64(d.At)).exec()
	if err != nil {
		return decision.Made{}, err
	}
	return w.change(d.Subject, revision+1, d.Change)
}

// decided looks for the decision among those that were made before.
func (w *writer) decided(d decision.Decision) (made decision.Made, before bool, err error) {
	err = w.statement(selectDecision).text(d.ID).each(func(r *statement) error {
		before = true
		made, err = d.Repeats(decision.Subject(r.getText()), uint64(r.getInt()))
		return err
	})
	return made, before, err
}

// change writes what belongs together under the subject's next revision.
func (w *writer) change(subject decision.Subject, revision uint64, c decision.Change) (decision.Made, error) {
	if err := w.statement(upsertRevision).text(string(subject)).int(int64(revision)).exec(); err != nil {
		return decision.Made{}, err
	}
	if c.Action != nil {
		if err := w.putAction(c.Action); err != nil {
			return decision.Made{}, err
		}
	}
	for i := range c.Effects {
		if err := w.addEffect(&c.Effects[i], subject); err != nil {
			return decision.Made{}, fmt.Errorf("add effect %q: %w", c.Effects[i].ID, err)
		}
	}
	for i := range c.Audit {
		if err := w.addAudit(&c.Audit[i]); err != nil {
			return decision.Made{}, fmt.Errorf("add audit record %q: %w", c.Audit[i].ID, err)
		}
	}
	events := &job{batch: &lifecycle.Batch{Events: c.Stamped(revision)}}
	if err := w.append([]*job{events}); err != nil {
		return decision.Made{}, err
	}
	return decision.Made{Revision: revision, Changed: events.result.Changed}, nil
}

// Revision implements [decision.Decider].
func (s *Store) Revision(ctx context.Context, subject decision.Subject) (revision uint64, err error) {
	err = s.readShort(ctx, "read revision", func(conn *sqlite.Conn) error {
		revision, err = revisionOf(prepare(conn, selectRevision), subject)
		return err
	})
	return revision, err
}

func revisionOf(query *statement, subject decision.Subject) (revision uint64, err error) {
	err = query.text(string(subject)).each(func(r *statement) error { revision = uint64(r.getInt()); return nil })
	return revision, err
}
