package sqlite

import (
	"slices"
	"strings"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"

	"zombiezen.com/go/sqlite"
)

func equals[T ~string](column string, values []T) []sqlText {
	out := make([]sqlText, 0, len(values))
	for _, v := range slices.Compact(slices.Sorted(slices.Values(values))) {
		q := sqlText{}
		q.add(" AND "+column+" = ?", string(v))
		out = append(out, q)
	}
	return out
}

func addResidual[T ~string](q *sqlText, column string, values []T) {
	q.add(" AND ")
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	in(q, column, texts)
}

// addStreams turns names of streams into their row ids.
func (path *accessPath) addStreams(conn *sqlite.Conn, wanted []string) error {
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
	if path.nothing = len(ids) == 0; !path.nothing {
		slices.Sort(ids)
		path.residual.add(" AND ")
		in(&path.residual, "stream", ids)
	}
	return nil
}

func (path *accessPath) addTimes(f lifecycle.Filter, indexed bool) {
	add := func(condition string, at lifecycle.Micros) {
		if !at.Known() {
			return
		}
		if !indexed {
			path.residual.add(condition, int64(at))
			return
		}
		for i := range path.branches {
			path.branches[i].add(condition, int64(at))
		}
	}
	add(" AND last_event >= ?", f.From)
	add(" AND last_event < ?", f.To)
}

func (path *accessPath) addRest(f lifecycle.Filter) {
	q := &path.residual
	for _, c := range f.Columns() {
		addResidual(q, c.Column, c.Values)
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

// addResidualIDs adds the branches as one condition on the row.
func (path *accessPath) addResidualIDs(branches []sqlText) {
	for i := range branches {
		path.residual.add([]string{" AND (", " OR "}[min(i, 1)] + "(TRUE")
		path.residual.addText(&branches[i])
		path.residual.add(")")
	}
	path.residual.add(")")
}
