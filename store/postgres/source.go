package postgres

import (
	"fmt"
	"slices"
	"strings"

	"fleetglass/lifecycle"
)

// order is an order of the list.
type order struct {
	column     string // last_event or published.
	descending bool
}

// orderOf gives the order in which rows are read: that of the list, or against it.
func orderOf(s lifecycle.Sort, backward bool) order {
	o := order{column: "last_event", descending: s != lifecycle.SortLastEvent && s != lifecycle.SortPublished}
	if s == lifecycle.SortPublished || s == lifecycle.SortPublishedDesc {
		o.column = "published"
	}
	o.descending = o.descending != backward
	return o
}

func (o order) reverse() order { return order{o.column, !o.descending} }

func (o order) direction() string {
	if o.descending {
		return " DESC"
	}
	return ""
}

// by is the ORDER BY of a query.
func (o order) by() string {
	return fmt.Sprintf("t.%s%s, t.task_id%s", o.column, o.direction(), o.direction())
}

func (o order) sign() string {
	if o.descending {
		return "<"
	}
	return ">"
}

// beyond asks for rows strictly beyond the cursor.
func (o order) beyond(c *conditions, from *lifecycle.Cursor) string {
	return o.compare(c, o.sign(), from)
}

// upTo asks for the other rows.
func (o order) upTo(c *conditions, from *lifecycle.Cursor) string {
	return o.compare(c, o.reverse().sign()+"=", from)
}

func (o order) compare(c *conditions, sign string, from *lifecycle.Cursor) string {
	return fmt.Sprintf("(t.%s, t.task_id) %s (%s, %s)", o.column, sign, c.arg(int64(from.At)), c.arg([]byte(from.TaskID)))
}

func (o order) cursor(r summaryRow) *lifecycle.Cursor {
	at := r.lastEvent
	if o.column == "published" {
		at = r.published
	}
	return &lifecycle.Cursor{At: lifecycle.Micros(at), TaskID: string(r.task)}
}

// source is what a list is read from: all tasks, or, in the order of last events, one short list for each agent, else for each state,
// that is asked for. Every one of these comes off an index in order, however rare the state is. They are separate queries joined by
// UNION ALL, so that the planner knows each value.
type source struct{ lists []string }

func (c *conditions) sourceOf(f lifecycle.Filter, o order) source {
	var s source
	switch {
	case o.column != "last_event" || len(f.IDs)+len(f.Categories) > 0:
		c.states(f.States)
		if len(f.Agents) > 0 {
			c.oneOf("t.agent", f.Agents)
		}
	case len(f.Agents) > 0:
		c.states(f.States)
		for _, agent := range distinct(f.Agents) {
			s.lists = append(s.lists, c.is("t.agent", agent))
		}
	default:
		for _, state := range distinct(f.States) {
			s.lists = append(s.lists, "t.state = "+c.arg(state))
		}
	}
	if len(s.lists) == 0 {
		c.term("t.duplicates >= 0") // Opens the index by event alone.
	}
	return s
}

func (c *conditions) states(states []lifecycle.State) {
	if len(states) > 0 {
		c.term("t.state = ANY(%s)", distinct(states))
	}
}

// read is a query for the first rows in order for which the conditions hold.
func (s source) read(columns, where string, o order, limit string) string {
	if len(s.lists) <= 1 {
		return fmt.Sprintf("SELECT %s FROM tasks t WHERE %s ORDER BY %s LIMIT %s", columns, s.only(where), o.by(), limit)
	}
	all := s.each("(SELECT * FROM tasks t WHERE %s AND %s ORDER BY %s LIMIT %s)", where, o.by(), limit)
	return fmt.Sprintf("SELECT %s FROM (%s) t ORDER BY %s LIMIT %s", columns, all, o.by(), limit)
}

// end is a query for the time at which the first of the lists has had a number of rows; no row where none has more.
func (s source) end(where string, o order, number string) string {
	one := "(SELECT t." + o.column + " AS at FROM tasks t WHERE %s AND %s ORDER BY t." + o.column + o.direction() + " LIMIT 1 OFFSET %s)"
	if len(s.lists) <= 1 {
		return fmt.Sprintf(one, "true", s.only(where), number)
	}
	return fmt.Sprintf("SELECT e.at FROM (%s) e ORDER BY e.at%s LIMIT 1", s.each(one, where, number), o.direction())
}

// only is the condition of the only list.
func (s source) only(where string) string {
	return strings.Join(slices.Concat(s.lists, []string{where}), " AND ")
}

// each joins the lists. The first place in the text is for what makes a list.
func (s source) each(text string, values ...any) string {
	queries := make([]string, len(s.lists))
	for i, list := range s.lists {
		queries[i] = fmt.Sprintf(text, append([]any{list}, values...)...)
	}
	return strings.Join(queries, " UNION ALL ")
}

func distinct[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
