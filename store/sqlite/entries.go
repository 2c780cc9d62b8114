package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"
	"fleetglass/store/internal/rowcodec"

	"zombiezen.com/go/sqlite"
)

// selectEntries begins every query that reads entries with [Store.entries].
const selectEntries = `SELECT coalesce(s.revision, 0), e.entry FROM entries e LEFT JOIN subjects s ON s.subject = e.subject WHERE TRUE`

// entries reads what a query that begins with selectEntries gives.
func (s *Store) entries(conn *sqlite.Conn, q *sqlText) (out []dlqtriage.Entry, err error) {
	err = s.each(conn, q, func(r *statement) error {
		revision := uint64(r.getInt())
		e, err := rowcodec.Entry(r.getBlob())
		e.Revision = revision
		out = append(out, e)
		return err
	})
	return out, err
}

// addEntryFilter adds the conditions of a filter to a query of entries e.
func addEntryFilter(q *sqlText, f dlqtriage.EntryFilter) {
	for _, c := range columns.EntryConditions(f) {
		q.add(andNot(c.Not))
		in(q, "e."+c.Column, c.Values)
	}
	addEntryIDs(q, f.IDs, false)
	addEntryIDs(q, f.Not.IDs, true)
	for _, word := range f.Words {
		q.add(" AND instr(e.words, ?) > 0", columns.Word(word))
	}
	for _, word := range f.Not.Words {
		q.add(" AND instr(e.words, ?) = 0", columns.Word(word))
	}
	if f.From.Known() {
		q.add(" AND e.failed >= ?", int64(f.From))
	}
	if f.To.Known() {
		q.add(" AND e.failed < ?", int64(f.To))
	}
}

// addEntryIDs asks that an entry, its task or its message has one of the ids, or none of them.
func addEntryIDs(q *sqlText, ids []string, not bool) {
	if len(ids) == 0 {
		return
	}
	q.add(andNot(not))
	for i, column := range []string{"e.id", "e.task_id", "e.message_id"} {
		q.add([]string{"(", " OR "}[min(i, 1)])
		in(q, column, ids)
	}
	q.add(")")
}

func andNot(not bool) string {
	if not {
		return " AND NOT "
	}
	return " AND "
}

// Entries implements [dlqtriage.EntryReader].
func (s *Store) Entries(ctx context.Context, f dlqtriage.EntryFilter, p dlqtriage.EntryPageRequest) (page dlqtriage.EntryPage, err error) {
	q := sqlText{}
	q.add(selectEntries)
	addEntryFilter(&q, behind(f, p))
	sign, direction := "<", "DESC"
	if p.Backward {
		sign, direction = ">", "ASC"
	}
	if p.From != nil {
		q.add(" AND (e.failed, e.id) "+sign+" (?, ?)", int64(p.From.FailedAt), p.From.ID)
	}
	q.add(" ORDER BY e.failed "+direction+", e.id "+direction+" LIMIT +?", int64(p.Limit)+1)
	err = s.read(ctx, "list entries", func(conn *sqlite.Conn) error {
		rows, err := s.entries(conn, &q)
		page = columns.EntryPage(rows, p)
		return err
	})
	return page, err
}

// behind narrows the filter's time to what lies behind the page's cursor. SQLite begins at one bound of the index only, and would take the filter's: each page would
// pass all pages before it.
func behind(f dlqtriage.EntryFilter, p dlqtriage.EntryPageRequest) dlqtriage.EntryFilter {
	switch {
	case p.From == nil:
	case p.Backward:
		f.From = max(f.From, p.From.FailedAt)
	case !f.To.Known() || p.From.FailedAt < f.To:
		f.To = p.From.FailedAt + 1
	}
	return f
}

// Entry implements [dlqtriage.EntryReader].
func (s *Store) Entry(ctx context.Context, id string) (e dlqtriage.Entry, err error) {
	q := sqlText{}
	q.add(selectEntries+" AND e.id = ?", id)
	err = s.readShort(ctx, "read entry", func(conn *sqlite.Conn) error {
		found, err := s.entries(conn, &q)
		if err == nil && len(found) == 0 {
			return fmt.Errorf("entry %q: %w", id, lifecycle.ErrNotFound)
		}
		if err == nil {
			e = found[0]
		}
		return err
	})
	return e, err
}

// EntriesOf implements [dlqtriage.EntryReader].
func (s *Store) EntriesOf(ctx context.Context, taskID string, limit int) (out []dlqtriage.Entry, err error) {
	q := sqlText{}
	q.add(selectEntries+" AND e.task = (SELECT id FROM tasks WHERE task_id = ?) ORDER BY e.failed, e.id LIMIT +?", taskID, int64(limit))
	err = s.readShort(ctx, "read entries of task", func(conn *sqlite.Conn) error { out, err = s.entries(conn, &q); return err })
	return out, err
}

// CountEntries implements [dlqtriage.EntryReader].
func (s *Store) CountEntries(ctx context.Context, f dlqtriage.EntryFilter) (n int64, err error) {
	q := sqlText{}
	q.add("SELECT count(*) FROM entries e WHERE TRUE")
	addEntryFilter(&q, f)
	err = s.read(ctx, "count entries", func(conn *sqlite.Conn) error {
		return s.each(conn, &q, func(r *statement) error { n = r.getInt(); return nil })
	})
	return n, err
}

// EntryGroups implements [dlqtriage.EntryReader].
func (s *Store) EntryGroups(
	ctx context.Context, f dlqtriage.EntryFilter, by []dlqtriage.GroupField, now lifecycle.Micros, limit int,
) (out []dlqtriage.EntryGroup, err error) {
	fields := columns.GroupColumns(by)
	recent, before := int64(now.Add(-dlqtriage.TrendSpan)), int64(now.Add(-2*dlqtriage.TrendSpan))
	q := sqlText{}
	q.add("SELECT count(*), sum(status = 'open'), min(failed), max(failed), sum(failed > ? AND failed <= ?), sum(failed > ? AND failed <= ?), "+
		"sum(status IN ('retried', 'reassigned')), sum(status IN ('retried', 'reassigned') AND outcome = 'resolved'), "+
		"sum(status IN ('retried', 'reassigned') AND outcome = 'died_again'), "+fields+
		" FROM entries e WHERE TRUE", recent, int64(now), before, recent)
	addEntryFilter(&q, f)
	q.add(" GROUP BY "+fields+" ORDER BY count(*) DESC, "+fields+" LIMIT +?", int64(limit))
	err = s.read(ctx, "group entries", func(conn *sqlite.Conn) error {
		err := s.each(conn, &q, func(r *statement) error {
			g := dlqtriage.EntryGroup{
				Count: r.getInt(), Open: r.getInt(), FirstAt: lifecycle.Micros(r.getInt()), LastAt: lifecycle.Micros(r.getInt()),
				Recent: r.getInt(), Before: r.getInt(), Retried: r.getInt(), Recovered: r.getInt(), DiedAgain: r.getInt(),
			}
			for range by {
				g.Values = append(g.Values, r.getText())
			}
			out = append(out, g)
			return nil
		})
		if err != nil || !slices.ContainsFunc(out, func(g dlqtriage.EntryGroup) bool { return g.Recovered > 0 }) {
			return err
		}
		return s.addMedians(conn, out, f, fields)
	})
	return out, err
}

// addMedians adds to groups the median from death to completion of their retries that completed.
func (s *Store) addMedians(conn *sqlite.Conn, groups []dlqtriage.EntryGroup, f dlqtriage.EntryFilter, fields string) error {
	of := make(map[string]*dlqtriage.EntryGroup, len(groups))
	for i := range groups {
		of[strings.Join(groups[i].Values, "\x00")] = &groups[i]
	}
	q := sqlText{}
	q.add("SELECT took, " + fields + " FROM (SELECT " + fields + ", resolved - failed AS took, count(*) OVER (PARTITION BY " + fields + ") AS n, " +
		"row_number() OVER (PARTITION BY " + fields + " ORDER BY resolved - failed) AS place FROM entries e WHERE status IN ('retried', 'reassigned') AND outcome = 'resolved'")
	addEntryFilter(&q, f)
	q.add(") e WHERE place = (n + 1) / 2")
	return s.each(conn, &q, func(r *statement) error {
		took := time.Duration(max(0, r.getInt())) * time.Microsecond
		var values []string
		for range strings.Count(fields, ",") + 1 {
			values = append(values, r.getText())
		}
		if g := of[strings.Join(values, "\x00")]; g != nil {
			g.Median = took
		}
		return nil
	})
}

// EntrySteps implements [dlqtriage.EntryReader].
func (s *Store) EntrySteps(ctx context.Context, f dlqtriage.EntryFilter, by []dlqtriage.GroupField, now lifecycle.Micros) ([]dlqtriage.GroupSteps, error) {
	fields, from := columns.GroupColumns(by), int64(now.Add(-2*dlqtriage.TrendSpan))
	q := sqlText{}
	q.add("SELECT (e.failed - 1 - ?) / ? AS step, count(*), "+fields+" FROM entries e WHERE e.failed > ? AND e.failed <= ?", from, dlqtriage.TrendStep.Microseconds(), from, int64(now))
	addEntryFilter(&q, f)
	q.add(" GROUP BY step, " + fields)
	out := columns.StepsByGroup{}
	err := s.read(ctx, "count deaths over time", func(conn *sqlite.Conn) error {
		return s.each(conn, &q, func(r *statement) error {
			step, n := r.getInt(), r.getInt()
			values := make([]string, len(by))
			for i := range values {
				values[i] = r.getText()
			}
			out.Add(values, step, n)
			return nil
		})
	})
	return out.List(), err
}

const selectFates = `SELECT category, detail, kind, path, agent, type, status, outcome, via, due, failed, resolved FROM entries
WHERE failed >= ? AND failed < ?`

// EachFate implements [dlqtriage.EntryReader].
func (s *Store) EachFate(ctx context.Context, from, to lifecycle.Micros, visit func(dlqtriage.Fate)) error {
	return s.read(ctx, "read fates of entries", func(conn *sqlite.Conn) error {
		return prepare(conn, selectFates).int(int64(from)).int(int64(to)).each(func(r *statement) error {
			f := dlqtriage.Fate{Class: dlqtriage.Class{Category: dlqtriage.Category(r.getText()), Detail: r.getText(), Kind: dlqtriage.Kind(r.getText())}}
			f.Path, f.Agent, f.Type = dlqtriage.Path(r.getText()), r.getText(), r.getText()
			f.Status, f.Outcome, f.Via = dlqtriage.Status(r.getText()), dlqtriage.Outcome(r.getText()), r.getText()
			f.Until, f.FailedAt, f.ResolvedAt = lifecycle.Micros(r.getInt()), lifecycle.Micros(r.getInt()), lifecycle.Micros(r.getInt())
			visit(f)
			return nil
		})
	})
}

// Uncopied implements [dlqtriage.QueueReader].
func (s *Store) Uncopied(ctx context.Context, before lifecycle.Micros, after *dlqtriage.EntryCursor, limit int) (out []dlqtriage.Entry, err error) {
	q := sqlText{}
	q.add(selectEntries+" AND e.copied = 0 AND e.failed < ?", int64(before))
	if after != nil {
		q.add(" AND (e.failed, e.id) > (?, ?)", int64(after.FailedAt), after.ID)
	}
	q.add(" ORDER BY e.failed, e.id LIMIT +?", int64(limit))
	err = s.read(ctx, "read entries that are not copied", func(conn *sqlite.Conn) error { out, err = s.entries(conn, &q); return err })
	return out, err
}

// DeferredUntil implements [dlqtriage.QueueReader].
func (s *Store) DeferredUntil(ctx context.Context, now lifecycle.Micros, limit int) (out []dlqtriage.Entry, err error) {
	q := sqlText{}
	q.add(selectEntries+" AND e.due <> 0 AND e.due <= ? ORDER BY e.due, e.id LIMIT +?", int64(now), int64(limit))
	err = s.read(ctx, "read deferred entries", func(conn *sqlite.Conn) error { out, err = s.entries(conn, &q); return err })
	return out, err
}
