package lifecycle

// ByPublished reports whether tasks are sorted by when their newest message was published, and not by their last event.
func (s Sort) ByPublished() bool { return s == SortPublished || s == SortPublishedDesc }

// Descending reports whether the latest task comes first.
func (s Sort) Descending() bool { return s != SortLastEvent && s != SortPublished }

// Cursor is the place of a task in a list of this order.
func (s Sort) Cursor(t TaskSummary) *Cursor {
	if s.ByPublished() {
		return &Cursor{At: t.PublishedAt, TaskID: t.TaskID}
	}
	return &Cursor{At: t.LastEventAt, TaskID: t.TaskID}
}

// Empty reports whether the filter selects every task.
func (f Filter) Empty() bool { return len(f.Values()) == 0 }
