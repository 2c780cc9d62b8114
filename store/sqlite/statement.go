package sqlite

import (
	"fmt"

	"zombiezen.com/go/sqlite"
)

// statement is a prepared statement whose arguments are bound, and whose columns are read, in order. Its methods remember the
// first error.
type statement struct {
	stmt   *sqlite.Stmt
	err    error
	arg    int // The last argument that was bound.
	column int // The last column that was read, plus one.
	buffer []byte
}

// prepare takes the statement from the connection's cache, or compiles it. Queries write their limits as "LIMIT +?": SQLite looks at the
// value of a plain variable there when it plans, and compiles the statement again each time that it is bound.
func prepare(conn *sqlite.Conn, query string) *statement {
	stmt, err := conn.Prepare(query)
	if err != nil {
		return &statement{err: fmt.Errorf("prepare: %w", err)}
	}
	return &statement{stmt: stmt}
}

func (s *statement) int(v int64) *statement {
	if s.err == nil {
		s.arg++
		s.stmt.BindInt64(s.arg, v)
	}
	return s
}

func (s *statement) flag(v bool) *statement {
	if v {
		return s.int(1)
	}
	return s.int(0)
}

func (s *statement) text(v string) *statement {
	if s.err == nil {
		s.arg++
		s.stmt.BindText(s.arg, v)
	}
	return s
}

func (s *statement) blob(v []byte) *statement {
	if s.err == nil {
		s.arg++
		s.stmt.BindBytes(s.arg, v)
	}
	return s
}

// exec runs the statement to its end. The next run binds its arguments from the first one.
func (s *statement) exec() error {
	for s.next() {
	}
	return s.done()
}

// each runs the statement and calls f for every row.
func (s *statement) each(f func(*statement) error) error {
	for s.next() {
		if err := f(s); err != nil {
			s.err = err
			break
		}
	}
	return s.done()
}

// next moves to the next row.
func (s *statement) next() bool {
	if s.err != nil {
		return false
	}
	s.column = 0
	more, err := s.stmt.Step()
	s.err = err
	return more
}

// done resets the statement for its next run, and returns the error of this one.
func (s *statement) done() error {
	err := s.err
	s.err, s.arg = nil, 0
	if s.stmt == nil {
		s.err = err
		return err
	}
	if reset := s.stmt.Reset(); err == nil && reset != nil {
		err = reset
	}
	return err
}

func (s *statement) getInt() int64 {
	s.column++
	return s.stmt.ColumnInt64(s.column - 1)
}

func (s *statement) getFlag() bool { return s.getInt() != 0 }

func (s *statement) getText() string {
	s.column++
	return s.stmt.ColumnText(s.column - 1)
}

// getBlob returns bytes that are valid until the next getBlob.
func (s *statement) getBlob() []byte {
	s.column++
	n := s.stmt.ColumnLen(s.column - 1)
	if cap(s.buffer) < n {
		s.buffer = make([]byte, n+n/2)
	}
	return s.buffer[:s.stmt.ColumnBytes(s.column-1, s.buffer[:n])]
}

// getBytes returns bytes that belong to the caller; nil for none.
func (s *statement) getBytes() []byte { return append([]byte(nil), s.getBlob()...) }
