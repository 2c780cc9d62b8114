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

// beyond asks for rows strictly beyond the cursor. The time alone comes first, for the index.
func (o order) beyond(c *conditions, from *lifecycle.Cursor) {
	if from == nil {
		return
	}
	at, id := c.arg(int64(from.At)), c.arg([]byte(from.TaskID))
	c.terms = append(c.terms, fmt.Sprintf("t.%[1]s %[2]s= %[3]s AND (t.%[1]s, t.task_id) %[2]s (%[3]s, %[4]s)", o.column, o.sign(), at, id))
}

func (o order) cursor(r summaryRow) *lifecycle.Cursor {
	at := r.lastEvent
	if o.column == "published" {
		at = r.published
	}
	return &lifecycle.Cursor{At: lifecycle.Micros(at), TaskID: string(r.task)}
}

// source is what a list is read from: all tasks, or, in the order of last events, one short list for each state of each agent that is
// asked for. Every one of these comes off an index in order, however rare the state is.
type source struct {
	lists string   // The states and agents, as tables to join; empty for all tasks.
	terms []string // What binds a row to them.
}

func (c *conditions) sourceOf(f lifecycle.Filter, o order) source {
	if o.column != "last_event" || len(f.IDs)+len(f.Categories) > 0 || len(f.States)+len(f.Agents) == 0 {
		c.statesAndAgents(f)
		return source{}
	}
	states := f.States
	if len(states) == 0 {
		states = lifecycle.States()
	}
	s := source{lists: "unnest(" + c.arg(distinct(states)) + "::text[]) AS s (state)", terms: []string{"t.state = s.state"}}
	if len(f.Agents) > 0 {
		s.lists += " CROSS JOIN unnest(" + c.arg(byteTexts(distinct(f.Agents))) + "::bytea[]) AS a (agent)"
		s.terms = append(s.terms, "substring(t.agent, 1, 64) = substring(a.agent, 1, 64) AND t.agent = a.agent")
	}
	return s
}

func (c *conditions) statesAndAgents(f lifecycle.Filter) {
	if len(f.States) > 0 {
		c.term("t.state = ANY(%s)", distinct(f.States))
	}
	if len(f.Agents) > 0 {
		c.oneOf("t.agent", f.Agents)
	}
}

// read is a query for the first rows in order for which the conditions hold.
func (s source) read(columns, where string, o order, limit string) string {
	if s.lists == "" {
		return fmt.Sprintf("SELECT %s FROM tasks t WHERE %s ORDER BY %s LIMIT %s", columns, where, o.by(), limit)
	}
	return fmt.Sprintf("SELECT %[1]s FROM %[2]s CROSS JOIN LATERAL (SELECT * FROM tasks t WHERE %[3]s ORDER BY %[4]s LIMIT %[5]s) t ORDER BY %[4]s LIMIT %[5]s",
		columns, s.lists, s.where(where), o.by(), limit)
}

// end is a query for the time at which the first of the lists has had a number of rows; no row where all are shorter.
func (s source) end(where string, o order, number string) string {
	inner := "SELECT t.%[1]s AS at FROM tasks t WHERE %[2]s ORDER BY t.%[1]s%[3]s LIMIT 1 OFFSET %[4]s"
	if s.lists == "" {
		return fmt.Sprintf(inner, o.column, where, o.direction(), number)
	}
	return fmt.Sprintf("SELECT e.at FROM %[5]s CROSS JOIN LATERAL ("+inner+") e ORDER BY e.at%[3]s LIMIT 1",
		o.column, s.where(where), o.direction(), number, s.lists)
}

func (s source) where(where string) string {
	return strings.Join(append(slices.Clone(s.terms), where), " AND ")
}

func distinct[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
