package postgres

import (
	"fmt"
	"slices"
	"strings"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"
)

// byOrder is the ORDER BY of a query.
func byOrder(o columns.Order) string {
	return fmt.Sprintf("t.%s %s, t.task_id %s", o.Column, o.Direction(), o.Direction())
}

// beyond asks for rows strictly beyond the cursor.
func (c *conditions) beyond(o columns.Order, from *lifecycle.Cursor) string {
	return c.compare(o, o.Beyond(), from)
}

// upTo asks for the other rows.
func (c *conditions) upTo(o columns.Order, from *lifecycle.Cursor) string {
	return c.compare(o, o.Reverse().Beyond()+"=", from)
}

func (c *conditions) compare(o columns.Order, sign string, from *lifecycle.Cursor) string {
	return fmt.Sprintf("(t.%s, t.task_id) %s (%s, %s)", o.Column, sign, c.arg(int64(from.At)), c.arg([]byte(from.TaskID)))
}

// accessPath is what a list is read from: all tasks, or, in the order of last events, one short list for each agent, else for each state,
// that is asked for. Every one of these comes off an index in order, however rare the state is. They are separate queries joined by
// UNION ALL, so that the planner knows each value.
type accessPath struct{ lists []string }

func (c *conditions) accessPathOf(f lifecycle.Filter, o columns.Order) accessPath {
	var p accessPath
	switch {
	case !o.ByEvent() || len(f.IDs)+len(f.Messages)+len(f.Categories) > 0:
		c.states(f.States)
		if len(f.Agents) > 0 {
			c.oneOf("t.agent", f.Agents)
		}
	case len(f.Agents) > 0:
		c.states(f.States)
		for _, agent := range distinct(f.Agents) {
			p.lists = append(p.lists, c.is("t.agent", agent))
		}
	default:
		for _, state := range distinct(f.States) {
			p.lists = append(p.lists, "t.state = "+c.arg(state))
		}
	}
	if len(p.lists) == 0 {
		c.term("t.duplicates >= 0") // Opens the index by event alone.
	}
	return p
}

func (c *conditions) states(states []lifecycle.State) {
	if len(states) > 0 {
		c.term("t.state = ANY(%s)", distinct(states))
	}
}

// read is a query for the first rows in order for which the conditions hold.
func (p accessPath) read(columns, where string, o columns.Order, limit string) string {
	if len(p.lists) <= 1 {
		return fmt.Sprintf("SELECT %s FROM tasks t WHERE %s ORDER BY %s LIMIT %s", columns, p.only(where), byOrder(o), limit)
	}
	all := p.each("(SELECT * FROM tasks t WHERE %s AND %s ORDER BY %s LIMIT %s)", where, byOrder(o), limit)
	return fmt.Sprintf("SELECT %s FROM (%s) t ORDER BY %s LIMIT %s", columns, all, byOrder(o), limit)
}

// end is a query for the time at which the first of the lists has had a number of rows; no row where none has more.
func (p accessPath) end(where string, o columns.Order, number string) string {
	one := "(SELECT t." + o.Column + " AS at FROM tasks t WHERE %s AND %s ORDER BY t." + o.Column + " " + o.Direction() + " LIMIT 1 OFFSET %s)"
	if len(p.lists) <= 1 {
		return fmt.Sprintf(one, "true", p.only(where), number)
	}
	return fmt.Sprintf("SELECT e.at FROM (%s) e ORDER BY e.at %s LIMIT 1", p.each(one, where, number), o.Direction())
}

// only is the condition of the only list.
func (p accessPath) only(where string) string {
	return strings.Join(slices.Concat(p.lists, []string{where}), " AND ")
}

// each joins the lists. The first place in the text is for what makes a list.
func (p accessPath) each(text string, values ...any) string {
	queries := make([]string, len(p.lists))
	for i, list := range p.lists {
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
