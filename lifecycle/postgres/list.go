package postgres

import (
	"context"
	"fmt"
	"slices"

	"fleetglass/lifecycle"

	"github.com/jackc/pgx/v5"
)

// ListTasks implements [lifecycle.TaskReader].
func (s *Store) ListTasks(ctx context.Context, f lifecycle.Filter, p lifecycle.Page) (lifecycle.TaskPage, error) {
	page, err := s.listTasks(ctx, f, p)
	return page, s.wrap("list tasks", err)
}

func (s *Store) listTasks(ctx context.Context, f lifecycle.Filter, p lifecycle.Page) (page lifecycle.TaskPage, err error) {
	order := orderOf(f.Sort)
	limit := max(p.Limit, 1)
	var rows []summaryRow
	more, before := false, false // Whether the list goes on in the direction of reading, and in the other one.
	if len(f.Streams) > 0 {
		if err := s.loadStreams(ctx); err != nil {
			return page, err
		}
	}
	err = s.inTransaction(ctx, snapshot, func(tx pgx.Tx) error {
		rows, err = s.readList(ctx, tx, f, order, p.From, p.Backward, limit+1)
		if err != nil {
			return err
		}
		more = len(rows) > limit
		rows = rows[:min(len(rows), limit)]
		if p.From == nil || len(rows) == 0 {
			return nil
		}
		first := order.cursor(rows[0])
		behind, err := s.readList(ctx, tx, f, order, &first, !p.Backward, 1)
		before = len(behind) > 0
		return err
	})
	if err != nil || len(rows) == 0 {
		return page, err
	}
	if p.Backward {
		slices.Reverse(rows)
		more, before = before, more
	}
	if more {
		next := order.cursor(rows[len(rows)-1])
		page.Next = &next
	}
	if before {
		prev := order.cursor(rows[0])
		page.Prev = &prev
	}
	page.Tasks, err = s.summaries(ctx, rows)
	return page, err
}

// order is an order of the list.
type order struct {
	column     string
	descending bool
}

func orderOf(s lifecycle.Sort) order {
	switch s {
	case lifecycle.SortLastEvent:
		return order{column: "last_event"}
	case lifecycle.SortPublished:
		return order{column: "published"}
	case lifecycle.SortPublishedDesc:
		return order{column: "published", descending: true}
	}
	return order{column: "last_event", descending: true}
}

func (o order) cursor(r summaryRow) lifecycle.Cursor {
	at := r.lastEvent
	if o.column == "published" {
		at = r.published
	}
	return lifecycle.Cursor{At: lifecycle.Micros(at), TaskID: string(r.task)}
}

// by is the ORDER BY of a query, against the order when it reads backward.
func (o order) by(backward bool) string {
	direction := ""
	if o.descending != backward {
		direction = " DESC"
	}
	return fmt.Sprintf("t.%s%s, t.task_id%s", o.column, direction, direction)
}

// beyond asks for rows strictly beyond the cursor. The time alone comes first, for the index.
func (o order) beyond(c *conditions, from lifecycle.Cursor, backward bool) {
	sign := ">"
	if o.descending != backward {
		sign = "<"
	}
	at := c.arg(int64(from.At))
	c.terms = append(c.terms, fmt.Sprintf("t.%s %s= %s AND (t.%s, t.task_id) %s (%s, %s)", o.column, sign, at, o.column, sign, at, c.arg([]byte(from.TaskID))))
}

// readList reads up to limit rows in the direction of reading.
//
// A list by last event that asks for states or agents is merged from one short list for each state of each agent: every one of them
// comes off an index in order, however rare the state is.
func (s *Store) readList(
	ctx context.Context, tx pgx.Tx, f lifecycle.Filter, o order, from *lifecycle.Cursor, backward bool, limit int,
) ([]summaryRow, error) {
	c := s.conditionsOf(f)
	if from != nil {
		o.beyond(c, *from, backward)
	}
	query := ""
	if o.column == "last_event" && len(f.IDs) == 0 && len(f.States)+len(f.Agents) > 0 {
		query = mergedList(c, f, o.by(backward), limit)
	} else {
		c.andStatesAndAgents(f)
		query = fmt.Sprintf("SELECT %s FROM tasks t WHERE %s ORDER BY %s LIMIT %s", summaryList, c.where(), o.by(backward), c.arg(limit))
	}
	rows, err := tx.Query(ctx, query, c.args...)
	if err != nil {
		return nil, err
	}
	return collectSummaries(rows)
}

func (c *conditions) andStatesAndAgents(f lifecycle.Filter) {
	if len(f.States) > 0 {
		c.and("t.state = ANY(%s)", stateTexts(f.States))
	}
	if len(f.Agents) > 0 {
		c.andOneOf("t.agent", f.Agents)
	}
}

func mergedList(c *conditions, f lifecycle.Filter, by string, limit int) string {
	states := f.States
	if len(states) == 0 {
		states = lifecycle.States()
	}
	lists := "unnest(" + c.arg(stateTexts(states)) + "::text[]) AS s (state)"
	c.terms = append(c.terms, "t.state = s.state")
	if len(f.Agents) > 0 {
		lists += " CROSS JOIN unnest(" + c.arg(byteTexts(f.Agents)) + "::bytea[]) AS a (agent)"
		c.terms = append(c.terms, "substring(t.agent, 1, 64) = substring(a.agent, 1, 64) AND t.agent = a.agent")
	}
	n := c.arg(limit)
	return fmt.Sprintf("SELECT %s FROM %s CROSS JOIN LATERAL (SELECT * FROM tasks t WHERE %s ORDER BY %s LIMIT %s) t ORDER BY %s LIMIT %s",
		summaryList, lists, c.where(), by, n, by, n)
}

func stateTexts(states []lifecycle.State) []string {
	out := make([]string, len(states))
	for i, s := range states {
		out[i] = string(s)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
