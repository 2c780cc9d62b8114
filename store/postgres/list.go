package postgres

import (
	"context"
	"errors"
	"strings"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"

	"github.com/jackc/pgx/v5"
)

// ListTasks implements [lifecycle.TaskReader]. A filter with words, types, streams or duplicates is tried on row after row in the
// order of the list, one with anomalies on each row that has any. One call looks through about Config.ScanLimit rows of each state and agent asked for: beyond that the page
// is shorter than its limit, perhaps empty, and Next (reading backward: Prev) says where to go on.
func (s *Store) ListTasks(ctx context.Context, f lifecycle.Filter, p lifecycle.Page) (lifecycle.TaskPage, error) {
	page, err := s.listTasks(ctx, f, p)
	return page, s.wrap("list tasks", err)
}

// listing is one page as it was read.
type listing struct {
	rows []summaryRow
	far  *lifecycle.Cursor // Where to go on reading; nil where nothing is left.
	near *lifecycle.Cursor // Where to read in the other direction; nil where nothing is there.
}

func (s *Store) listTasks(ctx context.Context, f lifecycle.Filter, p lifecycle.Page) (page lifecycle.TaskPage, err error) {
	if !f.ResolveStates() {
		return page, nil
	}
	if f.NamesStreams() {
		if err := s.loadStreams(ctx); err != nil {
			return page, err
		}
	}
	var l listing
	switch {
	case f.Counted():
		l, err = s.readPage(ctx, s.pool.ready, f, p)
	case !f.Scans(): // One query alone.
		l, err = s.readPage(ctx, s.pool, f, p)
	default:
		err = s.inTransaction(ctx, snapshot, func(tx pgx.Tx) error {
			l, err = s.readPage(ctx, tx, f, p)
			return err
		})
	}
	if err != nil {
		return page, err
	}
	tasks, err := s.summaries(ctx, l.rows)
	return columns.OrderOf(f.Sort, p.Backward).Page(tasks, l.far, l.near, p.Backward), err
}

func (s *Store) readPage(ctx context.Context, q querier, f lifecycle.Filter, p lifecycle.Page) (l listing, err error) {
	o, limit := columns.OrderOf(f.Sort, p.Backward), max(p.Limit, 1)
	end, err := s.scanEnd(ctx, q, f, o, p.From)
	if err != nil {
		return l, err
	}
	rows, behind, err := s.readRows(ctx, q, f, o, p.From, end, limit+1)
	if err != nil {
		return l, err
	}
	l.rows, l.far = rows, end
	if len(rows) > limit {
		l.rows = rows[:limit]
		l.far = rows[limit-1].cursor(o)
	}
	if behind && len(rows) > 0 {
		l.near = rows[0].cursor(o)
	}
	return l, nil
}

// readRows reads rows strictly beyond from and not beyond end, and whether there are others before them.
func (s *Store) readRows(
	ctx context.Context, q querier, f lifecycle.Filter, o columns.Order, from, end *lifecycle.Cursor, limit int,
) (out []summaryRow, behind bool, err error) {
	c := s.conditionsOf(f)
	path, others := c.accessPathOf(f, o), "false"
	if from != nil {
		others = "EXISTS (" + path.end(c.all()+" AND "+c.upTo(o, from), o.Reverse(), "0") + ")"
		c.terms = append(c.terms, c.beyond(o, from))
	}
	if end != nil {
		c.terms = append(c.terms, c.beyond(o.Reverse(), end))
	}
	rows, err := q.Query(ctx, path.read(summaryList+", "+others, c.all(), o, c.arg(limit)), c.args...)
	if err != nil {
		return nil, false, err
	}
	var row summaryRow
	_, err = pgx.ForEachRow(rows, append(row.targets(), &behind), func() error {
		out = append(out, row)
		return nil
	})
	return out, behind, err
}

// scanEnd finds where to stop looking through rows: beyond all rows of a time. It is nil where the rest may be looked through.
func (s *Store) scanEnd(ctx context.Context, q querier, f lifecycle.Filter, o columns.Order, from *lifecycle.Cursor) (*lifecycle.Cursor, error) {
	if !f.Scans() || len(f.IDs)+len(f.Messages) > 0 {
		return nil, nil
	}
	if few, err := foundByPublisher(ctx, q, f); err != nil || few {
		return nil, err
	}
	counts, err := countFromRollups(ctx, q, f.Agents)
	if err != nil {
		return nil, err
	}
	total := int64(0)
	for _, n := range counts {
		total += n
	}
	if total <= int64(s.scanLimit) {
		return nil, nil
	}
	c := termsOf(f)
	if from != nil {
		c.terms = append(c.terms, c.beyond(o, from))
	}
	path := c.accessPathOf(f, o)
	var at lifecycle.Micros
	err = q.QueryRow(ctx, path.end(strings.Join(c.terms, " AND "), o, c.arg(s.scanLimit)), c.args...).Scan(&at)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return o.EndAt(at), nil
}
