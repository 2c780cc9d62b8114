package sqlite

import (
	"strings"
	"sync"

	"zombiezen.com/go/sqlite"
)

// sqlText is a piece of SQL with its arguments, in order.
type sqlText struct {
	text []byte
	args []any // int64, string or []byte.
}

func (q *sqlText) add(text string, args ...any) {
	q.text = append(q.text, text...)
	q.args = append(q.args, args...)
}

func (q *sqlText) addText(o *sqlText) { q.add(string(o.text), o.args...) }

// in adds "column IN (…)".
func in[T any](q *sqlText, column string, values []T) {
	q.add(column + " IN (" + strings.TrimSuffix(strings.Repeat("?, ", len(values)), ", ") + ")")
	for _, v := range values {
		q.args = append(q.args, v)
	}
}

// shapes is the set of query texts that connections keep prepared. It is bounded, because filters make texts without end.
type shapes struct {
	mu   sync.Mutex
	kept map[string]bool
}

const maxShapes = 200

func (s *shapes) keeps(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept[text] {
		return true
	}
	if len(s.kept) >= maxShapes {
		return false
	}
	if s.kept == nil {
		s.kept = map[string]bool{}
	}
	s.kept[text] = true
	return true
}

// each runs the query and calls f for every row.
func (s *Store) each(conn *sqlite.Conn, q *sqlText, f func(*statement) error) error {
	text := string(q.text)
	var r *statement
	if s.shapes.keeps(text) {
		r = prepare(conn, text)
	} else {
		stmt, _, err := conn.PrepareTransient(text)
		if err != nil {
			return err
		}
		defer func() { _ = stmt.Finalize() }()
		r = &statement{stmt: stmt}
	}
	for _, arg := range q.args {
		switch v := arg.(type) {
		case int64:
			r.int(v)
		case string:
			r.text(v)
		case []byte:
			r.blob(v)
		}
	}
	return r.each(f)
}
