package sqlite

import (
	"slices"
	"strings"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"

	"zombiezen.com/go/sqlite"
)

// way is how the rows that a filter may select are found: by an index, in one or more branches that each give rows in time order.
// What the index does not decide is looked at row by row.
type way struct {
	index    string    // Empty where rows are found by task id.
	branches []sqlText // Conditions on the index; each begins with " AND".
	looked   sqlText   // Conditions on the row; begins with " AND" where there are any.
	nothing  bool      // No row can be selected.
}

// idLimit is the number of rows up to which id prefixes are read through the index of task ids; beyond, rows are taken in time
// order.
const idLimit = 1000

// wayOf chooses how to find the rows of a filter. byEvent says that the list is in the order of last events, which most indexes
// give.
func (s *Store) wayOf(conn *sqlite.Conn, f lifecycle.Filter, byEvent bool) (way, error) {
	var w way
	if len(f.Streams) > 0 {
		if err := w.addStreams(conn, f.Streams); err != nil || w.nothing {
			return w, err
		}
	}
	ids := idBranches(f.IDs)
	few, err := s.few(conn, ids)
	if err != nil {
		return w, err
	}
	byState, byAgent := false, false
	switch {
	case len(ids) > 0 && few:
		w.branches = ids
	case !byEvent:
		w.index, w.branches = "tasks_by_published", make([]sqlText, 1)
	case len(f.Agents) == 1 || len(f.States) == 0 && len(f.Agents) > 0:
		w.index, w.branches, byAgent = "tasks_by_agent", equals("agent", f.Agents), true
	case len(f.States) > 0:
		w.index, w.branches, byState = "tasks_by_state", equals("state", f.States), true
	default:
		w.index, w.branches = "tasks_by_event", make([]sqlText, 1)
	}
	w.addTimes(f, byEvent && w.index != "")
	if !byState && len(f.States) > 0 {
		lookAt(&w.looked, "state", f.States)
	}
	if !byAgent && len(f.Agents) > 0 {
		lookAt(&w.looked, "agent", f.Agents)
	}
	if len(ids) > 0 && !few {
		w.lookAtIDs(ids)
	}
	w.addRest(f)
	return w, nil
}

// addBranch adds FROM and WHERE of a branch.
func (w *way) addBranch(q *sqlText, i int) {
	q.add(" FROM tasks")
	if w.index != "" {
		q.add(" INDEXED BY " + w.index)
	}
	q.add(" WHERE listed = 1")
	q.addText(&w.branches[i])
}

func equals[T ~string](column string, values []T) []sqlText {
	out := make([]sqlText, 0, len(values))
	for _, v := range slices.Compact(slices.Sorted(slices.Values(values))) {
		q := sqlText{}
		q.add(" AND "+column+" = ?", string(v))
		out = append(out, q)
	}
	return out
}

func lookAt[T ~string](q *sqlText, column string, values []T) {
	q.add(" AND ")
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	in(q, column, texts)
}

// addStreams turns names of streams into their row ids.
func (w *way) addStreams(conn *sqlite.Conn, wanted []string) error {
	names, err := loadStreams(conn)
	if err != nil {
		return err
	}
	var ids []int64
	for name, id := range names.ids {
		if slices.Contains(wanted, name.String()) {
			ids = append(ids, id)
		}
	}
	if w.nothing = len(ids) == 0; !w.nothing {
		slices.Sort(ids)
		w.looked.add(" AND ")
		in(&w.looked, "stream", ids)
	}
	return nil
}

func (w *way) addTimes(f lifecycle.Filter, indexed bool) {
	add := func(condition string, at lifecycle.Micros) {
		if !at.Known() {
			return
		}
		if !indexed {
			w.looked.add(condition, int64(at))
			return
		}
		for i := range w.branches {
			w.branches[i].add(condition, int64(at))
		}
	}
	add(" AND last_event >= ?", f.From)
	add(" AND last_event < ?", f.To)
}

func (w *way) addRest(f lifecycle.Filter) {
	q := &w.looked
	if len(f.Types) > 0 {
		lookAt(q, "type", f.Types)
	}
	if len(f.Categories) > 0 {
		lookAt(q, "category", f.Categories)
	}
	if f.Duplicates {
		q.add(" AND duplicates > 0")
	}
	for i, code := range f.Anomalies {
		q.add([]string{" AND (", " OR "}[min(i, 1)]+"instr(anomalies, ?) > 0", columns.Anomaly(code))
	}
	if len(f.Anomalies) > 0 {
		q.add(")")
	}
	for _, word := range f.Words {
		part := columns.Word(word)
		q.add(" AND (instr(words, ?) > 0 OR instr(CAST(task_id AS BLOB), ?) > 0)", part, part)
	}
}

// idBranches cuts a filter on task ids into branches that no task is in twice: the ids, and each beginning of ids.
func idBranches(ids []string) []sqlText {
	exact, prefixes := columns.SplitIDs(ids)
	prefixes = shortest(prefixes)
	exact = slices.DeleteFunc(exact, func(id string) bool { return beginsWithOne(id, prefixes) })
	var out []sqlText
	if len(exact) > 0 {
		q := sqlText{}
		q.add(" AND ")
		in(&q, "task_id", exact)
		out = append(out, q)
	}
	for _, prefix := range prefixes {
		q := sqlText{}
		q.add(" AND task_id >= ?", prefix)
		if end := columns.PrefixEnd(prefix); end != "" {
			q.add(" AND task_id < ?", end)
		}
		out = append(out, q)
	}
	return out
}

// shortest leaves out prefixes that begin with another one, and repetitions.
func shortest(prefixes []string) []string {
	slices.Sort(prefixes)
	var out []string
	for _, p := range prefixes {
		if !beginsWithOne(p, out) {
			out = append(out, p)
		}
	}
	return out
}

func beginsWithOne(text string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(text, p) })
}

// few reports whether branches of task ids have so few rows that they are best found by id.
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

// lookAtIDs adds the branches as one condition on the row.
func (w *way) lookAtIDs(branches []sqlText) {
	for i := range branches {
		w.looked.add([]string{" AND (", " OR "}[min(i, 1)] + "(TRUE")
		w.looked.addText(&branches[i])
		w.looked.add(")")
	}
	w.looked.add(")")
}
