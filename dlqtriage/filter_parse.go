package dlqtriage

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"fleetglass/lifecycle"
)

// filterField is one way in which a list of entries can be narrowed.
type filterField struct {
	name string
	set  func(f *EntryFilter, value string, now time.Time) error
	get  func(f EntryFilter) []string
}

// filterFields lists them in the order in which filters are written.
var filterFields = []filterField{
	oneOf("status", Statuses(), func(f *EntryFilter) *[]Status { return &f.Statuses }),
	oneOf("category", Categories(), func(f *EntryFilter) *[]Category { return &f.Categories }),
	free("detail", func(f *EntryFilter) *[]string { return &f.Details }),
	oneOf("kind", append(Kinds(), Empty), func(f *EntryFilter) *[]Kind { return &f.Kinds }),
	oneOf("path", append(Paths(), Empty), func(f *EntryFilter) *[]Path { return &f.Paths }),
	free("agent", func(f *EntryFilter) *[]string { return &f.Agents }),
	free("type", func(f *EntryFilter) *[]string { return &f.Types }),
	free("fingerprint", func(f *EntryFilter) *[]string { return &f.Fingerprints }),
	free("id", func(f *EntryFilter) *[]string { return &f.IDs }),
	instant("from", func(f *EntryFilter) *lifecycle.Micros { return &f.From }),
	instant("to", func(f *EntryFilter) *lifecycle.Micros { return &f.To }),
}

// oneOf is a field whose values are known.
func oneOf[T ~string](name string, known []T, of func(*EntryFilter) *[]T) filterField {
	return filterField{name, func(f *EntryFilter, value string, _ time.Time) error {
		if !slices.Contains(known, T(value)) {
			return fmt.Errorf("%q is none of %q", value, known)
		}
		*of(f) = append(*of(f), T(value))
		return nil
	}, func(f EntryFilter) []string { return textsOf(*of(&f)) }}
}

// free is a field of any text.
func free(name string, of func(*EntryFilter) *[]string) filterField {
	return filterField{
		name, func(f *EntryFilter, value string, _ time.Time) error { *of(f) = append(*of(f), value); return nil },
		func(f EntryFilter) []string { return *of(&f) },
	}
}

// instant is a field of one time; the last one given counts.
func instant(name string, of func(*EntryFilter) *lifecycle.Micros) filterField {
	return filterField{name, func(f *EntryFilter, value string, now time.Time) (err error) {
		*of(f), err = lifecycle.ParseInstant(value, now)
		return err
	}, func(f EntryFilter) []string {
		if at := *of(&f); at.Known() {
			return []string{at.Time().Format(time.RFC3339Nano)}
		}
		return nil
	}}
}

func textsOf[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

func filterFieldOf(name string) *filterField {
	i := slices.IndexFunc(filterFields, func(f filterField) bool { return f.name == name })
	if i < 0 {
		return nil
	}
	return &filterFields[i]
}

// FilterParameters lists the parameters that [ParseEntryFilter] reads, q included.
func FilterParameters() []string {
	out := []string{"q"}
	for _, f := range filterFields {
		out = append(out, f.name)
	}
	return out
}

// ParseEntryFilter reads a filter from query parameters; others are ignored. Repeated parameters are alternatives; q is the grammar of the
// search box with the fields of entries. Relative times are counted back from now. The error is a *lifecycle.FilterError.
func ParseEntryFilter(v url.Values, now time.Time) (EntryFilter, error) {
	var f EntryFilter
	for _, q := range v["q"] {
		terms, err := lifecycle.SplitQuery(q, func(name string) bool { return filterFieldOf(name) != nil })
		if err != nil {
			return EntryFilter{}, err
		}
		for _, t := range terms {
			if err := f.term(t, now); err != nil {
				return EntryFilter{}, err
			}
		}
	}
	for _, field := range filterFields {
		for _, value := range v[field.name] {
			if err := f.term(lifecycle.QueryTerm{Field: field.name, Value: value}, now); err != nil {
				return EntryFilter{}, err
			}
		}
	}
	f.normalize()
	if err := f.check(); err != nil {
		return EntryFilter{}, err
	}
	return f, nil
}

// check errors when the filter asks for too much.
func (f EntryFilter) check() error {
	if err := lifecycle.CheckWords(f.Words); err != nil {
		return err
	}
	for _, field := range filterFields {
		if err := lifecycle.CheckAlternatives(field.name, field.get(f)); err != nil {
			return err
		}
	}
	return nil
}

func (f *EntryFilter) term(t lifecycle.QueryTerm, now time.Time) error {
	switch {
	case t.Value == "": // An empty form field asks for nothing.
	case t.Field == "":
		f.Words = append(f.Words, t.Value)
	default:
		if err := filterFieldOf(t.Field).set(f, t.Value, now); err != nil {
			return &lifecycle.FilterError{Parameter: t.Field, Detail: err.Error()}
		}
	}
	return nil
}

// normalize sorts and deduplicates, so that equal filters have equal text.
func (f *EntryFilter) normalize() {
	f.Statuses, f.Categories, f.Kinds, f.Paths = unique(f.Statuses), unique(f.Categories), unique(f.Kinds), unique(f.Paths)
	for _, list := range []*[]string{&f.Details, &f.Agents, &f.Types, &f.Fingerprints, &f.IDs, &f.Words} {
		*list = unique(*list)
	}
}

func unique[T ~string](s []T) []T {
	slices.Sort(s)
	return slices.Compact(s)
}

// Values writes the filter as query parameters that [ParseEntryFilter] reads back. Words become one q.
func (f EntryFilter) Values() url.Values {
	v := url.Values{}
	for _, field := range filterFields {
		if values := field.get(f); len(values) > 0 {
			v[field.name] = slices.Clone(values)
		}
	}
	var words string
	for _, w := range f.Words {
		if words != "" {
			words += " "
		}
		words += quoted(w)
	}
	if words != "" {
		v.Set("q", words)
	}
	return v
}

// quoted writes a word so that it is not read as a field.
func quoted(word string) string {
	if name, _, found := strings.Cut(word, ":"); found && filterFieldOf(name) != nil {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
	}
	return lifecycle.QuoteQuery(word)
}
