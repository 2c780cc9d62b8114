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
	if !f.ResolveStates() {
		return accessPath{nothing: true}, nil
	}
	names, err := loadStreams(conn)
	if err != nil {
		return path, err
	}
	if path.addStreams(names, f); path.nothing {
		return path, nil
	}
	if err := s.chooseIndex(conn, &path, names, f, byEvent); err != nil || path.nothing {
		return path, err
	}
	path.addTimes(f, byEvent && path.index != "")
	path.addResidualIDs(idBranches(f.Not.IDs), true)
	return path, path.addExcludedMessages(s, conn, names, f)
}

// chooseIndex finds the rows by the narrowest of what the filter asks for; the rest of that becomes conditions on the row.
func (s *Store) chooseIndex(conn *sqlite.Conn, path *accessPath, names *streams, f lifecycle.Filter, byEvent bool) error {
	ids := idBranches(f.IDs)
	few, err := s.few(conn, ids)
	if err != nil {
		return err
	}
	given := false
	if len(f.Publishers) > 0 {
		if given, err = s.fewGiven(conn, f); err != nil {
			return err
		}
	}
	byState, byAgent, byPublisher := false, false, false
	switch {
	case len(f.Messages) > 0:
		found, err := s.tasksAt(conn, names, f.Messages)
		if path.nothing = len(found) == 0; err != nil || path.nothing {
			return err
		}
		path.branches, few = []sqlText{idsAre(found)}, false
	case len(ids) > 0 && few:
		path.branches = ids
	case given:
		path.branches, byPublisher = []sqlText{givenTo(f)}, true
	case !byEvent && f.Sort.ByCost():
		path.index, path.branches = "tasks_by_cost", []sqlText{{}}
		path.branches[0].add(" AND cost > 0")
	case !byEvent:
		path.index, path.branches = "tasks_by_published", make([]sqlText, 1)
	case f.NeedsAnomaly():
		path.index, path.branches = "tasks_by_anomaly", []sqlText{{}}
		path.branches[0].add(" AND anomalies <> ''")
	case len(f.Agents) == 1 || len(f.States) == 0 && len(f.Agents) > 0:
		path.index, path.branches, byAgent = "tasks_by_agent", equals("agent", f.Agents), true
	case len(f.States) > 0:
		path.index, path.branches, byState = "tasks_by_state", equals("state", f.States), true
	default:
		path.index, path.branches = "tasks_by_event", make([]sqlText, 1)
	}
	if !byState {
		addResidual(&path.residual, "state", f.States, false)
	}
	if !byAgent {
		addResidual(&path.residual, "agent", f.Agents, false)
	}
	addResidual(&path.residual, "agent", f.Not.Agents, true)
	if !byPublisher {
		path.addPublishers(f.Publishers, f.Published, false)
	}
	if !few {
		path.addResidualIDs(ids, false)
	}
	path.addRest(f)
	return nil
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
