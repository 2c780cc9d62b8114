package sqlite

import (
	"slices"

	"fleetglass/lifecycle"

	"zombiezen.com/go/sqlite"
)

// streams remembers the row ids of streams. There are few, and rows are never changed.
type streams struct {
	ids   map[lifecycle.StreamID]int64
	names map[int64]lifecycle.StreamID
}

func newStreams() *streams {
	return &streams{ids: map[lifecycle.StreamID]int64{}, names: map[int64]lifecycle.StreamID{}}
}

// forget empties the cache after a rollback of a transaction that may have added a row.
func (s *streams) forget() { *s = *newStreams() }

func (s *streams) note(id int64, name lifecycle.StreamID) { s.ids[name], s.names[id] = id, name }

const selectStreams = `SELECT id, account, domain, name, epoch FROM streams ORDER BY id`

// loadStreams reads all streams.
func loadStreams(conn *sqlite.Conn) (*streams, error) {
	s := newStreams()
	err := prepare(conn, selectStreams).each(func(r *statement) error {
		s.note(r.getInt(), getStream(r))
		return nil
	})
	return s, err
}

func getStream(r *statement) lifecycle.StreamID {
	return lifecycle.StreamID{Account: r.getText(), Domain: r.getText(), Name: r.getText(), Epoch: lifecycle.Micros(r.getInt())}
}

// sorted lists the streams in their own order.
func (s *streams) sorted() []lifecycle.StreamID {
	names := make([]lifecycle.StreamID, 0, len(s.ids))
	for name := range s.ids {
		names = append(names, name)
	}
	slices.SortFunc(names, lifecycle.StreamID.Compare)
	return names
}

const selectStream = `SELECT id FROM streams WHERE account = ? AND domain = ? AND name = ? AND epoch = ?`

const insertStream = `INSERT INTO streams (account, domain, name, epoch) VALUES (?, ?, ?, ?)`

// stream returns the row id of a stream, and adds the row where it is missing.
func (w *writer) stream(name lifecycle.StreamID) (int64, error) {
	if id, known := w.streams.ids[name]; known {
		return id, nil
	}
	id, found, err := streamID(w.statement(selectStream), name)
	if err == nil && !found {
		err = bindStream(w.statement(insertStream), name).exec()
		id = w.conn.LastInsertRowID()
	}
	if err == nil {
		w.streams.note(id, name)
	}
	return id, err
}

// streamID reads the row id of a stream.
func streamID(s *statement, name lifecycle.StreamID) (id int64, found bool, err error) {
	bindStream(s, name)
	if found = s.next(); found {
		id = s.getInt()
	}
	return id, found, s.done()
}

func bindStream(s *statement, name lifecycle.StreamID) *statement {
	return s.text(name.Account).text(name.Domain).text(name.Name).int(int64(name.Epoch))
}
