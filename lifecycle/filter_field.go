package lifecycle

import (
	"errors"
	"fmt"
	"time"
)

// FilterField is one way in which a list of tasks can be narrowed, or ordered. The table of them is where a new one begins: the parser,
// the addresses, the search box and both stores read it.
type FilterField struct {
	Name    string // In addresses and in the grammar of the search box.
	Column  string // The column of tasks that holds the value, where a row is selected by plain equality and nothing else; else empty.
	Counter bool   // The counters of tasks by state and agent can answer for it.

	set     func(f *Filter, value string, now time.Time) error // Nil for q.
	written func(f Filter) []string                            // As set reads them back; nil for q.
}

// FilterFields lists the fields in the order in which filters are written.
func FilterFields() []FilterField { return append([]FilterField(nil), filterFields...) }

// FilterParameters lists the parameters that [ParseFilter] understands.
func FilterParameters() []string {
	out := make([]string, len(filterFields))
	for i, field := range filterFields {
		out[i] = field.Name
	}
	return out
}

var filterFields = []FilterField{
	{Name: "state", Counter: true, set: setState, written: func(f Filter) []string { return texts(f.States) }},
	plain("agent", "", true, func(f *Filter) *[]string { return &f.Agents }),
	plain("type", "type", false, func(f *Filter) *[]string { return &f.Types }),
	plain("stream", "", false, func(f *Filter) *[]string { return &f.Streams }),
	plain("category", "category", false, func(f *Filter) *[]string { return &f.Categories }),
	plain("id", "", false, func(f *Filter) *[]string { return &f.IDs }),
	{Name: "anomaly", set: setAnomaly, written: func(f Filter) []string { return texts(f.Anomalies) }},
	{Name: "has", set: setHas, written: hasValues},
	{Name: "q"}, // Words: read and written by the grammar of the search box, which reads this table.
	instant("from", func(f *Filter) *Micros { return &f.From }),
	instant("to", func(f *Filter) *Micros { return &f.To }),
	{Name: "sort", Counter: true, set: setSort, written: sortValues},
}

// plain is a field of alternatives, each any text.
func plain(name, column string, counter bool, of func(*Filter) *[]string) FilterField {
	return FilterField{
		Name: name, Column: column, Counter: counter,
		set:     func(f *Filter, value string, _ time.Time) error { *of(f) = append(*of(f), value); return nil },
		written: func(f Filter) []string { return *of(&f) },
	}
}

// instant is a field of one time; the last one given counts.
func instant(name string, of func(*Filter) *Micros) FilterField {
	return FilterField{
		Name: name,
		set: func(f *Filter, value string, now time.Time) (err error) {
			*of(f), err = parseInstant(value, now)
			return err
		},
		written: func(f Filter) []string {
			if at := *of(&f); at.Known() {
				return []string{at.Time().Format(time.RFC3339Nano)}
			}
			return nil
		},
	}
}

func setState(f *Filter, value string, _ time.Time) error {
	if !State(value).Valid() {
		return fmt.Errorf("%q is not a state", value)
	}
	f.States = append(f.States, State(value))
	return nil
}

func setAnomaly(f *Filter, value string, _ time.Time) error {
	if AnomalyCode(value).Meaning() == "" {
		return fmt.Errorf("%q is not an anomaly", value)
	}
	f.Anomalies = append(f.Anomalies, AnomalyCode(value))
	return nil
}

func setHas(f *Filter, value string, _ time.Time) error {
	if value != "duplicate" {
		return fmt.Errorf("%q is not known; has:duplicate is", value)
	}
	f.Duplicates = true
	return nil
}

func hasValues(f Filter) []string {
	if f.Duplicates {
		return []string{"duplicate"}
	}
	return nil
}

func wordValues(f Filter) []string {
	if len(f.Words) > 0 {
		return []string{f.wordsQuery()}
	}
	return nil
}

var errSort = errors.New("is not an order; last_event, published and both with a leading - are")

func setSort(f *Filter, value string, _ time.Time) error {
	switch Sort(value) {
	case SortLastEvent, SortLastEventDesc, SortPublished, SortPublishedDesc:
		f.Sort = Sort(value)
		return nil
	}
	return fmt.Errorf("%q %w", value, errSort)
}

func sortValues(f Filter) []string {
	if f.Sort == "" || f.Sort == SortLastEventDesc {
		return nil
	}
	return []string{string(f.Sort)}
}

// InGrammar reports whether people narrow a list by it in the search box; words stand there without a name, and times and orders have
// controls of their own.
func (field FilterField) InGrammar() bool {
	switch field.Name {
	case "q", "from", "to", "sort":
		return false
	}
	return true
}

// fieldOf finds a field by its name; nil where there is none.
func fieldOf(name string) *FilterField {
	for i := range filterFields {
		if filterFields[i].Name == name {
			return &filterFields[i]
		}
	}
	return nil
}

// values are how the filter asks for the field; none where it does not.
func (field FilterField) values(f Filter) []string {
	if field.written == nil {
		return wordValues(f)
	}
	return field.written(f)
}

// Asks reports whether the filter asks for the field.
func (field FilterField) Asks(f Filter) bool { return len(field.values(f)) > 0 }

// Counted reports whether counters can answer for the filter: it asks for nothing else than what they count by.
func (f Filter) Counted() bool {
	for _, field := range filterFields {
		if !field.Counter && field.Asks(f) {
			return false
		}
	}
	return true
}

// FilterColumns lists the columns of [Filter.Columns].
func FilterColumns() []string {
	var out []string
	for _, field := range filterFields {
		if field.Column != "" {
			out = append(out, field.Column)
		}
	}
	return out
}

// ColumnValues is a column of tasks and the values of which a row must have one.
type ColumnValues struct {
	Column string
	Values []string
}

// Columns are the columns by which the filter selects with plain equality; all of them must hold.
func (f Filter) Columns() []ColumnValues {
	var out []ColumnValues
	for _, field := range filterFields {
		if field.Column != "" && field.Asks(f) {
			out = append(out, ColumnValues{field.Column, field.values(f)})
		}
	}
	return out
}
