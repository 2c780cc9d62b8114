package sqlite

import (
	"context"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"
	"fleetglass/store/internal/rowcodec"

	"zombiezen.com/go/sqlite"
)

// ListTasks implements [lifecycle.TaskReader]. A filter with words, types, categories, streams or duplicates is matched row by row
// in the order of the list, one with anomalies on each row that has any. One call looks through at most Config.ScanLimit rows: beyond that the page is shorter than
// its limit, perhaps empty, and Next says where to go on.
func (s *Store) ListTasks(ctx context.Context, f lifecycle.Filter, p lifecycle.Page) (lifecycle.TaskPage, error) {
	var page lifecycle.TaskPage
	err := s.readShort(ctx, "list tasks", func(conn *sqlite.Conn) error {
		o := columns.OrderOf(f.Sort, p.Backward)
		path, err := s.accessPathOf(conn, f, o.ByEvent())
		if err != nil || path.nothing {
			return err
		}
		if len(path.residual.text) > 0 {
			defer s.readers.watch(ctx, conn)()
		}
		limit := max(p.Limit, 1)
		rows, end, err := s.scan(conn, path, o, p.From, limit+1)
		if err != nil {
			return err
		}
		more := len(rows) > limit
		page = pageOf(rows[:min(len(rows), limit)], o, p, more, end)
		return nil
	})
	return page, err
}

// A list that is matched row by row looks through a few rows first, and through more each time while it is not filled.
const (
	firstWindow  = 2000
	windowGrowth = 4
)

// scan reads up to limit rows after from. It gives up when it has looked through Config.ScanLimit rows, and then says where.
func (s *Store) scan(conn *sqlite.Conn, path accessPath, o columns.Order, from *lifecycle.Cursor, limit int) ([]lifecycle.TaskSummary, *lifecycle.Cursor, error) {
	rows := make([]lifecycle.TaskSummary, 0, min(limit, 256))
	for window, left := firstWindow, s.cfg.ScanLimit; ; window *= windowGrowth {
		window = min(window, left)
		end, err := s.scanEnd(conn, path, o, from, window)
		if err != nil {
			return nil, nil, err
		}
		if rows, err = s.listRows(conn, rows, path, o, from, end, limit-len(rows)); err != nil {
			return nil, nil, err
		}
		left -= window
		if len(rows) >= limit || end == nil || left <= 0 {
			return rows, end, nil
		}
		from = end
	}
}

// pageOf puts rows, read in order o, into list order and says what is around them.
func pageOf(rows []lifecycle.TaskSummary, o columns.Order, p lifecycle.Page, more bool, end *lifecycle.Cursor) lifecycle.TaskPage {
	var far, near *lifecycle.Cursor // Beyond the last row that was read, and before the first.
	if n := len(rows); n > 0 {
		if more {
			far = o.Cursor(rows[n-1])
		}
		if p.From != nil {
			near = o.Cursor(rows[0])
		}
	}
	if !more && end != nil {
		far = end
	}
	return o.Page(rows, far, near, p.Backward)
}

// scanEnd finds where a window of so many rows ends: nil where the list ends in it, or where every row is wanted. All rows with its
// time are before it.
func (s *Store) scanEnd(conn *sqlite.Conn, path accessPath, o columns.Order, from *lifecycle.Cursor, window int) (*lifecycle.Cursor, error) {
	if len(path.residual.text) == 0 || path.index == "" {
		return nil, nil
	}
	var last lifecycle.Micros
	found := false
	for i := range path.branches {
		q := sqlText{}
		q.add("SELECT " + o.Column)
		path.addBranch(&q, i)
		if from != nil {
			q.add(map[bool]string{true: " AND " + o.Column + " <= ?", false: " AND " + o.Column + " >= ?"}[o.Descending], int64(from.At))
		}
		q.add(" ORDER BY "+o.Column+" "+o.Direction()+" LIMIT 1 OFFSET +?", int64(window))
		err := s.each(conn, &q, func(r *statement) error {
			at := lifecycle.Micros(r.getInt())
			if !found || o.Descending == (at > last) {
				found, last = true, at
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if !found {
		return nil, nil
	}
	return o.EndAt(last), nil
}

// listRows adds at most limit rows after from and before end.
func (s *Store) listRows(
	conn *sqlite.Conn, rows []lifecycle.TaskSummary, path accessPath, o columns.Order, from, end *lifecycle.Cursor, limit int,
) ([]lifecycle.TaskSummary, error) {
	names, err := loadStreams(conn)
	if err != nil {
		return nil, err
	}
	q := listQuery(path, o, from, end, limit)
	shared := rowcodec.Texts{}
	err = s.each(conn, &q, func(r *statement) error {
		r.getInt()
		t := lifecycle.TaskSummary{TaskID: r.getText(), Message: getKey(r, names)}
		err := rowcodec.ReadSummary(&t, r.getBlob(), shared)
		rows = append(rows, t)
		return err
	})
	return rows, err
}

// beyond is the condition for rows strictly after a cursor in this order.
func beyond(o columns.Order, c *lifecycle.Cursor) (text string, args []any) {
	if c == nil {
		return "", nil
	}
	sign := o.Beyond()
	return " AND " + o.Column + " " + sign + "= ? AND (" + o.Column + " " + sign + " ? OR task_id " + sign + " ?)",
		[]any{int64(c.At), int64(c.At), c.TaskID}
}

// listQuery merges the branches, each of which is read in order by its index; only rows of the same instant are sorted.
func listQuery(path accessPath, o columns.Order, from, end *lifecycle.Cursor, limit int) sqlText {
	q := sqlText{}
	after, args := beyond(o, from)
	for i := range path.branches {
		if i > 0 {
			q.add(" UNION ALL ")
		}
		q.add("SELECT " + o.Column + " AS place, task_id, stream, seq, summary")
		path.addBranch(&q, i)
		q.add(after, args...)
		if end != nil {
			q.add(map[bool]string{true: " AND " + o.Column + " >= ?", false: " AND " + o.Column + " < ?"}[o.Descending], int64(end.At))
		}
		q.addText(&path.residual)
	}
	q.add(" ORDER BY place "+o.Direction()+", task_id "+o.Direction()+" LIMIT +?", int64(limit))
	return q
}
