package sqlite

import (
	"slices"
	"strings"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"
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

// addResidual asks that a column has one of the values, or none of them; nothing where there are no values.
func addResidual[T ~string](q *sqlText, column string, values []T, not bool) {
	if len(values) == 0 {
		return
	}
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	q.add(andNot(not))
	in(q, column, texts)
}

// addStreams turns names of streams into their row ids.
func (path *accessPath) addStreams(names *streams, f lifecycle.Filter) {
	add := func(wanted []string, not bool) (found bool) {
		var ids []int64
		for name, id := range names.ids {
			if slices.Contains(wanted, name.String()) {
				ids = append(ids, id)
			}
		}
		if len(ids) > 0 {
			slices.Sort(ids)
			path.residual.add(andNot(not))
			in(&path.residual, "stream", ids)
		}
		return len(ids) > 0
	}
	path.nothing = len(f.Streams) > 0 && !add(f.Streams, false)
	add(f.Not.Streams, true)
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
		addResidual(q, c.Column, c.Values, c.Not)
	}
	if f.Duplicates {
		q.add(" AND duplicates > 0")
	}
	if f.Not.Duplicates {
		q.add(" AND duplicates = 0")
	}
	path.addLayers(f.Layers, false)
	path.addLayers(f.Not.Layers, true)
	path.addAnomalies(f.Anomalies, false)
	path.addAnomalies(f.Not.Anomalies, true)
	path.addWords(f.Words, false)
	path.addWords(f.Not.Words, true)
	path.addBounds("attempt", f.Attempt)
	if f.AsksCost() { // What was not reported is not zero.
		q.add(" AND cost > 0")
		path.addBounds("cost", f.Cost)
	}
	path.addPublishers(f.Not.Publishers, lifecycle.Bounds{}, true)
	if f.Published.Asked() && len(f.Publishers) == 0 {
		q.add(" AND published <> 0")
		path.addBounds("published", f.Published)
	}
	path.addBounds("ran + CASE WHEN held = 0 THEN 0 ELSE max(0, ? - held) END", f.Ran.Bounds, int64(f.Ran.AsOf))
}

func (path *accessPath) addAnomalies(codes []lifecycle.AnomalyCode, not bool) {
	for i, code := range codes {
		path.residual.add([]string{andNot(not) + "(", " OR "}[min(i, 1)]+"instr(anomalies, ?) > 0", columns.Anomaly(code))
	}
	if len(codes) > 0 {
		path.residual.add(")")
	}
}

// addLayers asks for a finding of one of the layers of the ledger, or for none.
func (path *accessPath) addLayers(layers []lifecycle.Layer, not bool) {
	for i, layer := range layers {
		path.residual.add([]string{andNot(not) + "(", " OR "}[min(i, 1)])
		if layer == lifecycle.LayerStream {
			path.residual.add("duplicates > 0")
			continue
		}
		path.residual.add("instr(anomalies, ?) > 0", columns.Anomaly(layer.Anomaly()))
	}
	if len(layers) > 0 {
		path.residual.add(")")
	}
}

func (path *accessPath) addWords(words []string, not bool) {
	for _, word := range words {
		part := columns.Word(word)
		path.residual.add(andNot(not)+"(instr(words, ?) > 0 OR instr(CAST(task_id AS BLOB), ?) > 0)", part, part)
	}
}

// addBounds compares a number, whose text has a place for each of args.
func (path *accessPath) addBounds(number string, b lifecycle.Bounds, args ...any) {
	for _, end := range columns.Ends(b) {
		path.residual.add(" AND "+number+" "+end.Op+" ?", append(slices.Clone(args), end.At)...)
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
func (path *accessPath) addResidualIDs(branches []sqlText, not bool) {
	for i := range branches {
		path.residual.add([]string{andNot(not) + "(", " OR "}[min(i, 1)] + "(TRUE")
		path.residual.addText(&branches[i])
		path.residual.add(")")
	}
	if len(branches) > 0 {
		path.residual.add(")")
	}
}
