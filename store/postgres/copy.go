package postgres

import (
	"context"
	"encoding/binary"
	"io"

	"github.com/jackc/pgx/v5"
)

// copyRows stores rows by COPY, which costs the server far less than INSERT. row writes row i.
func copyRows(ctx context.Context, tx pgx.Tx, statement string, rows int, row func(t *tuple, i int)) error {
	if rows == 0 {
		return nil
	}
	_, err := tx.Conn().PgConn().CopyFrom(ctx, &copyReader{rows: rows, row: row}, statement)
	return err
}

// copyReader writes rows in the binary format of COPY as they are read, so that the server works meanwhile.
type copyReader struct {
	rows, next int
	row        func(t *tuple, i int)
	buffer     tuple
	read       int // How much of the buffer was read.
}

const (
	copyHeader = "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	copyEnd    = "\xff\xff"
	copyChunk  = 60 << 10
)

// Read implements [io.Reader].
func (r *copyReader) Read(p []byte) (int, error) {
	if r.read == len(r.buffer) {
		if r.next > r.rows {
			return 0, io.EOF
		}
		r.fill()
	}
	n := copy(p, r.buffer[r.read:])
	r.read += n
	return n, nil
}

func (r *copyReader) fill() {
	r.buffer, r.read = r.buffer[:0], 0
	if r.next == 0 {
		r.buffer = append(r.buffer, copyHeader...)
	}
	for ; r.next < r.rows && len(r.buffer) < copyChunk; r.next++ {
		r.row(&r.buffer, r.next)
	}
	if r.next == r.rows {
		r.buffer = append(r.buffer, copyEnd...)
		r.next++
	}
}

// tuple is rows in the binary format of COPY.
type tuple []byte

// columns begins a row.
func (t *tuple) columns(n int) { *t = binary.BigEndian.AppendUint16(*t, uint16(n)) }

func (t *tuple) int64(v int64) {
	*t = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(*t, 8), uint64(v))
}

func (t *tuple) int32(v int32) {
	*t = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(*t, 4), uint32(v))
}

func (t *tuple) bool(v bool) {
	*t = append(binary.BigEndian.AppendUint32(*t, 1), 0)
	if v {
		(*t)[len(*t)-1] = 1
	}
}

// bytes writes bytea or text.
func (t *tuple) bytes(v []byte) {
	*t = append(binary.BigEndian.AppendUint32(*t, uint32(len(v))), v...)
}

// text is like bytes.
func (t *tuple) text(v string) {
	*t = append(binary.BigEndian.AppendUint32(*t, uint32(len(v))), v...)
}

// value writes the bytes that fill appends.
func (t *tuple) value(fill func([]byte) []byte) {
	at := len(*t) + 4
	*t = fill(binary.BigEndian.AppendUint32(*t, 0))
	binary.BigEndian.PutUint32((*t)[at-4:], uint32(len(*t)-at))
}
