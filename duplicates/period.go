package duplicates

import "time"

// Period is a step of a table over time.
type Period string

// The periods.
const (
	PeriodMonth Period = "month"
	PeriodDay   Period = "day"
	PeriodHour  Period = "hour"
)

// Periods lists the periods, the longest first.
func Periods() []Period { return []Period{PeriodMonth, PeriodDay, PeriodHour} }

// Valid reports whether p is one of [Periods].
func (p Period) Valid() bool { return p == PeriodMonth || p == PeriodDay || p == PeriodHour }

// Start is the beginning of the period that holds t, in the zone of t.
func (p Period) Start(t time.Time) time.Time { return p.Shift(t, 0) }

// Shift is the beginning of the period n periods after the one that holds t, in the zone of t. Days and months follow the calendar.
func (p Period) Shift(t time.Time, n int) time.Time {
	y, m, d := t.Date()
	switch p {
	case PeriodMonth:
		return time.Date(y, m+time.Month(n), 1, 0, 0, 0, 0, t.Location())
	case PeriodDay:
		return time.Date(y, m, d+n, 0, 0, 0, 0, t.Location())
	}
	return t.Truncate(time.Hour).Add(time.Duration(n) * time.Hour)
}

// Usual is how many periods a table shows when nobody says: a year of months, a month of days, a day of hours.
func (p Period) Usual() int {
	switch p {
	case PeriodMonth:
		return 12
	case PeriodDay:
		return 31
	}
	return 24
}

// Bounds are the beginnings of the periods that meet [from, to), oldest first, and after them the end of the last. There are at most
// limit periods: more says that some are left out. Without any there are none.
func (p Period) Bounds(from, to time.Time, limit int) (bounds []time.Time, more bool) {
	at := p.Start(from)
	for ; at.Before(to); at = p.Shift(at, 1) {
		if len(bounds) == limit {
			return append(bounds, at), true
		}
		bounds = append(bounds, at)
	}
	if len(bounds) == 0 {
		return nil, false
	}
	return append(bounds, at), false
}
