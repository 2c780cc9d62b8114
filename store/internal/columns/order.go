package columns

import (
	"slices"

	"fleetglass/lifecycle"
)

// Order is the order in which a page of a list is read: that of the list, or against it.
type Order struct {
	Column     string // The column of the time, last_event or published, or cost.
	Descending bool
	sort       lifecycle.Sort
}

// OrderOf is the order in which a page is read.
func OrderOf(s lifecycle.Sort, backward bool) Order {
	o := Order{Column: "last_event", Descending: s.Descending() != backward, sort: s}
	switch {
	case s.ByPublished():
		o.Column = "published"
	case s.ByCost():
		o.Column = "cost"
	}
	return o
}

// ByEvent reports whether rows are read in the order of last events.
func (o Order) ByEvent() bool { return !o.sort.ByPublished() && !o.sort.ByCost() }

// Reverse is the other direction.
func (o Order) Reverse() Order { o.Descending = !o.Descending; return o }

// Direction is the direction as SQL names it.
func (o Order) Direction() string {
	if o.Descending {
		return "DESC"
	}
	return "ASC"
}

// Beyond is the operator that compares a row with the one before it: < or >.
func (o Order) Beyond() string {
	if o.Descending {
		return "<"
	}
	return ">"
}

// Cursor is the place of a task in this order.
func (o Order) Cursor(t lifecycle.TaskSummary) *lifecycle.Cursor { return o.sort.Cursor(t) }

// EndAt is the place beyond all rows of a time and before those of the next.
func (o Order) EndAt(at lifecycle.Micros) *lifecycle.Cursor {
	if !o.Descending {
		at++ // With the empty id: after every row of the time before.
	}
	return &lifecycle.Cursor{At: at}
}

// Page puts rows, read in order o, into list order. far is where to go on reading and near where to read in the other direction; nil
// where there is nothing.
func (o Order) Page(rows []lifecycle.TaskSummary, far, near *lifecycle.Cursor, backward bool) lifecycle.TaskPage {
	if !backward {
		return lifecycle.TaskPage{Tasks: rows, Next: far, Prev: near}
	}
	slices.Reverse(rows)
	return lifecycle.TaskPage{Tasks: rows, Next: near, Prev: far}
}
