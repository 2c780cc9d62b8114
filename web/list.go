package web

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

// listQuery is what the address of a task list says.
type listQuery struct {
	path   string
	values url.Values // Parameters of the filter only, as they were given.
	filter lifecycle.Filter
	from   *query.Cursor // Where the page begins; nil at the beginning of the list.
	now    lifecycle.Micros
}

// rowsPerPage is the length of a list.
const rowsPerPage = 50

// readList reads the address of a list. The error joins a *lifecycle.FilterError for everything that is wrong; the query is usable for the forms even then.
func readList(path string, v url.Values, zone *time.Location, now time.Time) (listQuery, error) {
	q := listQuery{path: path, values: url.Values{}, now: lifecycle.MicrosOf(now)}
	for _, name := range lifecycle.FilterParameters() {
		for _, value := range v[name] {
			if value != "" && !slices.Contains(q.values[name], value) {
				q.values.Add(name, value)
			}
		}
	}
	absolute := maps.Clone(q.values)
	for _, name := range []string{"from", "to"} {
		if len(absolute[name]) > 1 { // The last one given wins.
			q.values[name] = absolute[name][len(absolute[name])-1:]
			absolute[name] = q.values[name]
		}
		absolute[name] = zoned(absolute[name], zone)
	}
	if len(q.values["sort"]) > 1 {
		q.values["sort"] = q.values["sort"][:1]
	}
	from, wrongCursor := readCursor(v.Get("cursor"), q.binding(q.values))
	if from != nil {
		q.from, q.now = from, from.Now // Relative times count from the first page on every page.
	}
	filter, wrongFilter := lifecycle.ParseFilter(absolute, q.now.Time())
	q.filter = filter
	return q, errors.Join(wrongFilter, wrongCursor)
}

// readCursor reads where a page of a list begins; nil at the beginning. The error is a *lifecycle.FilterError.
func readCursor(text, binding string) (*query.Cursor, error) {
	if text == "" {
		return nil, nil
	}
	c, err := query.DecodeCursor(text, binding)
	if err != nil {
		return nil, &lifecycle.FilterError{Parameter: "cursor", Detail: "is not of this list; begin again at the first page"}
	}
	return &c, nil
}

// binding names the list with the given parameters, for cursors.
func (q listQuery) binding(v url.Values) string { return query.Binding(q.path, v) }

// first reports whether this is the beginning of the list.
func (q listQuery) first() bool { return q.from == nil }

// zoned reads times without a zone, as date fields of forms give them, in the reader's zone.
func zoned(values []string, zone *time.Location) []string {
	out := slices.Clone(values)
	for i, s := range out {
		if t, err := time.ParseInLocation("2006-01-02T15:04", s, zone); err == nil {
			out[i] = t.UTC().Format(time.RFC3339)
		}
	}
	return out
}

// with is the address of the list with a parameter changed, from its beginning.
func (q listQuery) with(name string, values ...string) string {
	v := maps.Clone(q.values)
	v[name] = values
	return address(q.path, v)
}

// toggle is the address of the list with one value put on, or taken off.
func (q listQuery) toggle(name, value string) string {
	if slices.Contains(q.values[name], value) {
		return q.with(name, slices.DeleteFunc(slices.Clone(q.values[name]), func(s string) bool { return s == value })...)
	}
	return q.with(name, append(slices.Clone(q.values[name]), value)...)
}

func (q listQuery) has(name, value string) bool { return slices.Contains(q.values[name], value) }

// at is the address of the page that begins at a place of the list; empty where there is none.
func (q listQuery) at(c *lifecycle.Cursor, backward bool) string {
	if c == nil {
		return ""
	}
	return q.page(q.values, *query.CursorOf(c, backward))
}

// page is the address of the list with the given parameters, from a cursor on.
func (q listQuery) page(v url.Values, c query.Cursor) string {
	c.Now = q.now
	v = maps.Clone(v)
	v.Set("cursor", c.Encode(q.binding(v)))
	return address(q.path, v)
}

// pager leads to the pages around the one that is shown.
func (q listQuery) pager(list query.TaskList, zone *time.Location) views.Pager {
	return views.Pager{Newer: q.at(list.Prev, true), Older: q.at(list.Next, false), Note: pageNote(list.Rows, zone)}
}

// params are the parameters of the filter but for those named, for the hidden fields of a form.
func (q listQuery) params(without ...string) []views.Param {
	var out []views.Param
	for _, name := range slices.Sorted(maps.Keys(q.values)) {
		if slices.Contains(without, name) {
			continue
		}
		for _, value := range q.values[name] {
			out = append(out, views.Param{Name: name, Value: value})
		}
	}
	return out
}

// frozen is the address of the list with its relative times made absolute, so that a shared link shows the same tomorrow.
func (q listQuery) frozen() string {
	f := q.filter
	if f.From.Known() && !f.To.Known() {
		f.To = q.now
	}
	if q.from != nil {
		return q.page(f.Values(), *q.from)
	}
	return address(q.path, f.Values())
}

// narrowed reports whether anything but the order is asked for.
func (q listQuery) narrowed() bool {
	for name := range q.values {
		if name != "sort" {
			return true
		}
	}
	return false
}

var ranges = []struct{ value, label string }{
	{"", "Any time"}, {"15m", "Last 15 minutes"}, {"1h", "Last hour"}, {"6h", "Last 6 hours"}, {"24h", "Last 24 hours"},
	{"7d", "Last 7 days"}, {"30d", "Last 30 days"},
}

func (q listQuery) ranges() []views.Option { return rangeOptions(q.values.Get("from")) }

// rangeOptions are the beginnings of a time that a form offers, with the one that the address names.
func rangeOptions(now string) []views.Option {
	known := false
	var out []views.Option
	for _, r := range ranges {
		known = known || r.value == now
		out = append(out, views.Option{Value: r.value, Label: r.label, Selected: r.value == now})
	}
	if !known {
		out = append(out, views.Option{Value: now, Label: "From " + views.Cut(now, 24), Selected: true})
	}
	return out
}

// sortLink is the head of a column: pressed again it turns around.
func (q listQuery) sortLink(asc, desc lifecycle.Sort) views.SortLink {
	switch q.filter.Sort {
	case desc:
		return views.SortLink{Href: q.with("sort", string(asc)), Dir: "descending"}
	case asc:
		return views.SortLink{Href: q.with("sort", string(desc)), Dir: "ascending"}
	}
	return views.SortLink{Href: q.with("sort", string(desc))}
}

func (q listQuery) orderWords() string {
	switch q.filter.Sort {
	case lifecycle.SortLastEvent:
		return "oldest first by last event"
	case lifecycle.SortPublished:
		return "oldest first by publishing"
	case lifecycle.SortPublishedDesc:
		return "newest first by publishing"
	case lifecycle.SortCostDesc:
		return "those with a cost, the dearest first"
	case lifecycle.SortCost:
		return "those with a cost, the cheapest first"
	}
	return "newest first by last event"
}

func pageNote(rows []query.TaskRow, zone *time.Location) string {
	if len(rows) == 0 {
		return "No rows"
	}
	a, b := rows[0].LastEventAt.Time().In(zone), rows[len(rows)-1].LastEventAt.Time().In(zone)
	if b.Before(a) {
		a, b = b, a
	}
	clock, day := "15:04", "2 Jan "
	if b.Sub(a) < time.Minute {
		clock = "15:04:05"
	}
	said := fmt.Sprintf("%d %s, ", len(rows), views.Plural(int64(len(rows)), "row", "rows"))
	from, to := a.Format(day+clock), b.Format(day+clock)
	switch {
	case from == to:
		from = ""
	case a.Format(time.DateOnly) == b.Format(time.DateOnly):
		from, to = from+" to ", b.Format(clock) // The day is said once.
	default:
		from += " to "
	}
	return said + from + to + b.Format(" MST")
}
