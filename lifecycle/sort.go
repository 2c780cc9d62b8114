package lifecycle

// ByPublished reports whether tasks are sorted by when their newest message was published, and not by their last event.
func (s Sort) ByPublished() bool { return s == SortPublished || s == SortPublishedDesc }

// ByCost reports whether tasks are sorted by what agents reported that they cost. Those of which nothing was reported are not in such a list.
func (s Sort) ByCost() bool { return s == SortCost || s == SortCostDesc }

// AsksCost reports whether a task must have a reported cost to be selected: what was not reported is not zero, and has no place in the order of costs.
func (f Filter) AsksCost() bool { return f.Cost.Asked() || f.Sort.ByCost() }

// Descending reports whether the latest task comes first, or the dearest.
func (s Sort) Descending() bool {
	return s != SortLastEvent && s != SortPublished && s != SortCost
}

// Cursor is the place of a task in a list of this order.
func (s Sort) Cursor(t TaskSummary) *Cursor {
	switch {
	case s.ByPublished():
		return &Cursor{At: t.PublishedAt, TaskID: t.TaskID}
	case s.ByCost():
		return &Cursor{At: Micros(t.Used.Cost), TaskID: t.TaskID}
	}
	return &Cursor{At: t.LastEventAt, TaskID: t.TaskID}
}

// Empty reports whether the filter selects every task.
func (f Filter) Empty() bool { return len(f.Values()) == 0 }
