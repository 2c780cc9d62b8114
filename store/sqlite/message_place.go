package sqlite

import (
	"slices"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"

	"zombiezen.com/go/sqlite"
)

const selectTaskAt = `SELECT task FROM messages WHERE stream = ? AND seq = ?`

// tasksAt finds the rows of the tasks that have a message at one of the places ("stream:sequence").
func (s *Store) tasksAt(conn *sqlite.Conn, names *streams, places []string) (tasks []int64, err error) {
	for _, text := range places {
		place := columns.PlaceOf(text)
		for name, id := range names.ids {
			if !place.In(name) {
				continue
			}
			err := prepare(conn, selectTaskAt).int(id).int(int64(place.Seq)).each(func(r *statement) error {
				tasks = append(tasks, r.getInt())
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(tasks)
	return slices.Compact(tasks), nil
}

// idsAre asks for rows by their numbers.
func idsAre(tasks []int64) (q sqlText) {
	q.add(" AND ")
	in(&q, "id", tasks)
	return q
}

// addExcludedMessages leaves out the tasks that have a message at one of the places.
func (path *accessPath) addExcludedMessages(s *Store, conn *sqlite.Conn, names *streams, f lifecycle.Filter) error {
	found, err := s.tasksAt(conn, names, f.Not.Messages)
	if err == nil && len(found) > 0 {
		path.residual.add(" AND NOT ")
		in(&path.residual, "id", found)
	}
	return err
}
