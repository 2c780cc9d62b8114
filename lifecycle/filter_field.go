package lifecycle

import (
	"fmt"
	"time"
)

// FilterField is one way in which a list of tasks can be narrowed, or ordered. The table of them is where a new one begins: the parser,
// the addresses, the search box with its help, and both stores read it.
type FilterField struct {
	Name    string // In addresses and in the grammar of the search box.
	Column  string // The column of tasks that holds the value, where a row is selected by plain equality and nothing else; else empty.
	Counter bool   // The counters of tasks by state and agent can answer for it.

	grammar GrammarField                                        // Without a name where it has no place in the search box.
	set     func(f *Filter, t QueryTerm, now time.Time) error   // Nil for q.
	values  func(f Filter) []string                             // As set reads them back; nil for q, and where only the search box asks.
	not     func(f Filter) []string                             // Likewise, of what is left out; nil where nothing can be.
	bounds  func(f Filter) (b Bounds, value func(int64) string) // Nil where nothing is compared.
}

// FilterFields lists the fields in the order in which filters are written.
func FilterFields() []FilterField { return append([]FilterField(nil), filterFields...) }

// FilterParameters lists the parameters that [ParseFilter] understands.
func FilterParameters() []string {
	var out []string
	for _, field := range filterFields {
		if field.parameter() {
			out = append(out, field.Name)
		}
	}
	return out
}

// TaskGrammar is what the search box of tasks understands.
func TaskGrammar() Grammar { return taskGrammar }

var taskGrammar = func() Grammar {
	g := Grammar{MessageField: "message"}
	for _, field := range filterFields {
		if f := field.grammar; f.About != "" {
			f.Name = field.Name
			g.Fields = append(g.Fields, f)
		}
	}
	return g
}()

// parameter reports whether addresses have a parameter of that name. What only the search box can ask for stands in q.
func (field FilterField) parameter() bool { return field.values != nil || field.Name == "q" }

// written are the values of the field's own parameter.
func (field FilterField) written(f Filter) []string {
	if field.values == nil {
		return nil
	}
	return field.values(f)
}

// terms are what the field asks for and only the grammar of the search box can say.
func (field FilterField) terms(f Filter) (out []string) {
	if field.Name == messageField.Name {
		for _, m := range f.Messages {
			out = append(out, Term(false, field.Name, "", m))
		}
	}
	if field.bounds != nil {
		b, value := field.bounds(f)
		for _, pair := range b.written(value) {
			out = append(out, Term(false, field.Name, pair[0], pair[1]))
		}
	}
	if field.not != nil {
		for _, v := range field.not(f) {
			out = append(out, Term(true, field.Name, "", v))
		}
	}
	return out
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

// Asks reports whether the filter asks for the field, also by leaving values of it out.
func (field FilterField) Asks(f Filter) bool {
	if field.Name == "q" {
		return len(f.Words)+len(f.Not.Words) > 0
	}
	return len(field.written(f))+len(field.terms(f)) > 0
}

// Counted reports whether counters can answer for the filter: it asks for nothing else than what they count by.
func (f Filter) Counted() bool {
	for _, field := range filterFields {
		if !field.Counter && field.Asks(f) {
			return false
		}
	}
	return len(f.Not.Agents)+len(f.Not.States) == 0 && !f.Sort.ByCost()
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

// ColumnValues is a column of tasks and the values of which a row must have one, or must have none.
type ColumnValues struct {
	Column string
	Values []string
	Not    bool
}

// Columns are the columns by which the filter selects with plain equality; all of them must hold.
func (f Filter) Columns() []ColumnValues {
	var out []ColumnValues
	for _, field := range filterFields {
		if field.Column == "" {
			continue
		}
		if values := field.values(f); len(values) > 0 {
			out = append(out, ColumnValues{Column: field.Column, Values: values})
		}
		if values := field.not(f); len(values) > 0 {
			out = append(out, ColumnValues{Column: field.Column, Values: values, Not: true})
		}
	}
	return out
}

// ResolveStates turns states that are left out into the others, of which the counters and an index know. It is false where no state is left, so
// that no task can be selected.
func (f *Filter) ResolveStates() bool {
	if len(f.Not.States) == 0 {
		return true
	}
	wanted := f.States
	if len(wanted) == 0 {
		wanted = States()
	}
	f.States = without(wanted, f.Not.States)
	f.Not.States = nil
	return len(f.States) > 0
}

func without[T comparable](values, others []T) (out []T) {
	for _, v := range values {
		if !oneOf(others, v) {
			out = append(out, v)
		}
	}
	return out
}

func oneOf[T comparable](values []T, v T) bool {
	for _, w := range values {
		if v == w {
			return true
		}
	}
	return false
}

// check errors when a value is no message.
func checkMessage(value string) error {
	if !isMessage(value) {
		return fmt.Errorf("%q is not a message; write stream:sequence, such as TASKS:255", value)
	}
	return nil
}
