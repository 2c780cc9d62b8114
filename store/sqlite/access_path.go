package sqlite

import (
	"fleetglass/lifecycle"

	"zombiezen.com/go/sqlite"
)

// accessPath is how the rows that a filter may select are found: by an index, in one or more branches that each give rows in time order.
// Conditions that the index does not cover are checked row by row.
type accessPath struct {
	index    string    // Empty where rows are found by task id.
	branches []sqlText // Conditions on the index; each begins with " AND".
	residual sqlText   // Conditions on the row; begins with " AND" where there are any.
	nothing  bool      // No row can be selected.
}

// idLimit is the number of rows up to which id prefixes are read through the index of task ids; beyond, rows are taken in time
// order.
const idLimit = 1000

// accessPathOf chooses how to find the rows of a filter. byEvent says that the list is in the order of last events, which most indexes
// give.
func (s *Store) accessPathOf(conn *sqlite.Conn, f lifecycle.Filter, byEvent bool) (accessPath, error) {
	var path accessPath
	if len(f.Streams) > 0 {
		if err := path.addStreams(conn, f.Streams); err != nil || path.nothing {
			return path, err
		}
	}
	ids := idBranches(f.IDs)
	few, err := s.few(conn, ids)
	if err != nil {
		return path, err
	}
	byState, byAgent := false, false
	switch {
	case len(ids) > 0 && few:
		path.branches = ids
	case !byEvent:
		path.index, path.branches = "tasks_by_published", make([]sqlText, 1)
	case len(f.Agents) == 1 || len(f.States) == 0 && len(f.Agents) > 0:
		path.index, path.branches, byAgent = "tasks_by_agent", equals("agent", f.Agents), true
	case len(f.States) > 0:
		path.index, path.branches, byState = "tasks_by_state", equals("state", f.States), true
	default:
		path.index, path.branches = "tasks_by_event", make([]sqlText, 1)
	}
	path.addTimes(f, byEvent && path.index != "")
	if !byState && len(f.States) > 0 {
		addResidual(&path.residual, "state", f.States)
	}
	if !byAgent && len(f.Agents) > 0 {
		addResidual(&path.residual, "agent", f.Agents)
	}
	if len(ids) > 0 && !few {
		path.addResidualIDs(ids)
	}
	path.addRest(f)
	return path, nil
}

// addBranch adds FROM and WHERE of a branch.
func (path *accessPath) addBranch(q *sqlText, i int) {
	q.add(" FROM tasks")
	if path.index != "" {
		q.add(" INDEXED BY " + path.index)
	}
	q.add(" WHERE listed = 1")
	q.addText(&path.branches[i])
}

// few reports whether the branches of task ids have so few rows that reading them by id is cheapest.
func (s *Store) few(conn *sqlite.Conn, branches []sqlText) (bool, error) {
	n := int64(0)
	for i := range branches {
		q := sqlText{}
		q.add("SELECT count(*) FROM (SELECT 1 FROM tasks WHERE TRUE")
		q.addText(&branches[i])
		q.add(" LIMIT +?)", int64(idLimit+1))
		if err := s.each(conn, &q, func(r *statement) error { n += r.getInt(); return nil }); err != nil {
			return false, err
		}
	}
	return n <= idLimit, nil
}
