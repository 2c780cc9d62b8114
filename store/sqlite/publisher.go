package sqlite

import (
	"fleetglass/lifecycle"

	"zombiezen.com/go/sqlite"
)

// givenBy adds the condition that one of the publishers published the message, within the bounds.
func givenBy(q *sqlText, publishers []string, within lifecycle.Bounds) {
	q.add("publisher <> '' AND ")
	in(q, "publisher", publishers)
	var times accessPath
	times.addBounds("given", within)
	q.addText(&times.residual)
}

// addPublishers asks for the tasks of which one of the publishers published a message, or leaves them out.
func (path *accessPath) addPublishers(publishers []string, within lifecycle.Bounds, not bool) {
	if len(publishers) == 0 {
		return
	}
	path.residual.add(andNot(not) + "EXISTS (SELECT 1 FROM messages INDEXED BY messages_of_task WHERE task = id AND ")
	givenBy(&path.residual, publishers, within)
	path.residual.add(")")
}

// fewGiven reports whether the publishers published so few messages that their tasks are found by them.
func (s *Store) fewGiven(conn *sqlite.Conn, f lifecycle.Filter) (bool, error) {
	q, n := sqlText{}, int64(0)
	q.add("SELECT count(*) FROM (SELECT 1 FROM messages INDEXED BY messages_by_publisher WHERE ")
	givenBy(&q, f.Publishers, f.Published)
	q.add(" LIMIT +?)", int64(idLimit+1))
	err := s.each(conn, &q, func(r *statement) error { n = r.getInt(); return nil })
	return n <= idLimit, err
}

// givenTo finds the tasks by the messages of their publishers.
func givenTo(f lifecycle.Filter) (q sqlText) {
	q.add(" AND id IN (SELECT task FROM messages INDEXED BY messages_by_publisher WHERE ")
	givenBy(&q, f.Publishers, f.Published)
	q.add(")")
	return q
}
