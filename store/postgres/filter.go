package postgres

import (
	"fmt"
	"slices"
	"strings"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"
)

// conditions select tasks t. An index finds the rows for which the terms hold; the residuals are then tried on each of these rows.
type conditions struct {
	terms     []string
	residuals []string
	args      []any
}

// arg adds an argument and returns its placeholder.
func (c *conditions) arg(v any) string {
	c.args = append(c.args, v)
	return fmt.Sprintf("$%d", len(c.args))
}

func (c *conditions) term(format string, values ...any) {
	c.terms = append(c.terms, c.fill(format, values))
}

func (c *conditions) residual(format string, values ...any) {
	c.residuals = append(c.residuals, c.fill(format, values))
}

func (c *conditions) fill(format string, values []any) string {
	places := make([]any, len(values))
	for i, v := range values {
		places[i] = c.arg(v)
	}
	return fmt.Sprintf(format, places...)
}

// all asks for terms and residuals.
func (c *conditions) all() string { return strings.Join(slices.Concat(c.terms, c.residuals), " AND ") }

// conditionsOf writes a filter, but for its states and agents, which also choose the way to read ([accessPath]). Where it asks for
// streams they must have been loaded.
func (s *Store) conditionsOf(f lifecycle.Filter) *conditions {
	c := termsOf(f)
	if len(f.Messages) > 0 {
		c.messages(&s.streams, f.Messages)
	}
	for _, of := range unindexed(f) {
		c.residual(not(of.Not)+"t."+of.Column+" = ANY(%s)", byteTexts(of.Values))
	}
	if len(f.Streams) > 0 {
		c.residual("t.stream = ANY(%s)", s.streams.named(f.Streams))
	}
	if len(f.Publishers) > 0 {
		c.residuals = append(c.residuals, c.givenBy(f.Publishers, f.Published))
	}
	if f.Duplicates {
		c.residual("t.duplicates > 0")
	}
	c.layers(f.Layers, false)
	c.anomalies(f.Anomalies, false)
	for _, word := range f.Words {
		c.residual("position(%s::bytea IN t.words) > 0", columns.Word(word))
	}
	c.allBounds(f)
	c.exclude(&s.streams, f.Not)
	return c
}

// exclude leaves out what a task may not have. Columns of plain equality are written with those that it must have.
func (c *conditions) exclude(streams *streamTable, x lifecycle.Exclusion) {
	if len(x.Agents) > 0 {
		c.residual("NOT t.agent = ANY(%s)", byteTexts(x.Agents))
	}
	if len(x.Streams) > 0 {
		c.residual("NOT t.stream = ANY(%s)", streams.named(x.Streams))
	}
	if len(x.IDs) > 0 {
		c.residuals = append(c.residuals, "NOT "+c.idsAre(x.IDs))
	}
	if len(x.Messages) > 0 {
		c.residuals = append(c.residuals, "NOT "+c.hasMessage(streams, x.Messages))
	}
	if len(x.Publishers) > 0 {
		c.residuals = append(c.residuals, "NOT "+c.givenBy(x.Publishers, lifecycle.Bounds{}))
	}
	c.layers(x.Layers, true)
	c.anomalies(x.Anomalies, true)
	if x.Duplicates {
		c.residual("t.duplicates = 0")
	}
	for _, word := range x.Words {
		c.residual("position(%s::bytea IN t.words) = 0", columns.Word(word))
	}
}

// unindexed are the columns that no index finds.
func unindexed(f lifecycle.Filter) []lifecycle.ColumnValues {
	return slices.DeleteFunc(f.Columns(), func(of lifecycle.ColumnValues) bool { return of.Column == categoryColumn && !of.Not })
}

// categoryColumn has an index of its own ([termsOf]).
const categoryColumn = "category"

// termsOf writes the part of a filter for which there are indexes.
func termsOf(f lifecycle.Filter) *conditions {
	c := &conditions{terms: []string{"t.listed"}}
	if len(f.IDs) > 0 {
		c.terms = append(c.terms, c.idsAre(f.IDs))
	}
	if len(f.Categories) > 0 {
		c.oneOf("t.category", f.Categories)
		if !slices.Contains(f.Categories, "") {
			c.term("t.category <> ''")
		}
	}
	if f.NeedsAnomaly() {
		c.term("t.anomalies <> ''")
	}
	if f.Sort.ByCost() {
		c.term("t.cost > 0") // What the index of this order has.
	}
	if f.From.Known() {
		c.term("t.last_event >= %s", int64(f.From))
	}
	if f.To.Known() {
		c.term("t.last_event < %s", int64(f.To))
	}
	return c
}

// oneOf asks that an untrusted column has one of the values. Indexes hold its beginning only, so that any length fits.
func (c *conditions) oneOf(column string, values []string) {
	short := make([][]byte, len(values))
	for i, v := range values {
		short[i] = beginning(v)
	}
	c.term("substring("+column+", 1, 64) = ANY(%s)", short)
	if slices.ContainsFunc(values, cut) {
		c.term(column+" = ANY(%s)", byteTexts(values))
	}
}

// is adds the condition that an untrusted column has the value. One that an index holds whole is named once: the database would take a second condition
// for one that leaves out still more rows, and sort what it could read in order.
func (c *conditions) is(column, value string) string {
	term := "substring(" + column + ", 1, 64) = " + c.arg(beginning(value))
	if cut(value) {
		term += " AND " + column + " = " + c.arg([]byte(value))
	}
	return term
}

// anomalies asks for one of the codes, or for none of them.
func (c *conditions) anomalies(codes []lifecycle.AnomalyCode, none bool) {
	if len(codes) == 0 {
		return
	}
	terms := make([]string, len(codes))
	for i, code := range codes {
		terms[i] = "position(" + c.arg(columns.Anomaly(code)) + "::text IN t.anomalies) > 0"
	}
	c.residuals = append(c.residuals, not(none)+"("+strings.Join(terms, " OR ")+")")
}

// layers asks for a finding of one of the layers of the ledger, or for none.
func (c *conditions) layers(layers []lifecycle.Layer, none bool) {
	if len(layers) == 0 {
		return
	}
	terms := make([]string, len(layers))
	for i, layer := range layers {
		if terms[i] = "t.duplicates > 0"; layer != lifecycle.LayerStream {
			terms[i] = "position(" + c.arg(columns.Anomaly(layer.Anomaly())) + "::text IN t.anomalies) > 0"
		}
	}
	c.residuals = append(c.residuals, not(none)+"("+strings.Join(terms, " OR ")+")")
}

// idsAre is the condition that a task has one of the ids, or one of the beginnings that end in "*".
func (c *conditions) idsAre(ids []string) string {
	whole, beginnings := columns.SplitIDs(ids)
	var exact [][]byte
	for _, id := range whole {
		exact = append(exact, taskKey(id))
	}
	var terms []string
	for _, prefix := range beginnings {
		terms = append(terms, c.hasPrefix(prefix))
	}
	if len(exact) > 0 {
		terms = append(terms, "t.key = ANY("+c.arg(exact)+")")
	}
	return "(" + strings.Join(terms, " OR ") + ")"
}

// hasPrefix is a range of keys, and the name itself where the prefix is longer than what a key keeps of it.
func (c *conditions) hasPrefix(prefix string) string {
	kept := []byte(prefix[:min(len(prefix), keptOfID)])
	term := "t.key >= " + c.arg(kept)
	if end := columns.PrefixEnd(string(kept)); end != "" {
		term += " AND t.key < " + c.arg([]byte(end))
	}
	if len(prefix) > keptOfID {
		place := c.arg([]byte(prefix))
		term += " AND substring(t.task_id, 1, octet_length(" + place + "::bytea)) = " + place
	}
	return "(" + term + ")"
}

// beginning is as much of a text as indexes hold.
func beginning(text string) []byte { return []byte(text[:min(len(text), 64)]) }

// cut reports whether indexes hold only the beginning of a text.
func cut(text string) bool { return len(text) >= 64 }

func byteTexts(texts []string) [][]byte {
	out := make([][]byte, len(texts))
	for i, t := range texts {
		out[i] = []byte(t)
	}
	return out
}
