package dlqtriage

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"fleetglass/lifecycle"
)

// FilterParameters lists the parameters that [ParseEntryFilter] reads, q included.
func FilterParameters() []string {
	out := []string{"q"}
	for _, f := range filterFields {
		out = append(out, f.grammar.Name)
	}
	return out
}

// ParseEntryFilter reads a filter from query parameters; others are ignored. Repeated parameters are alternatives; q is the grammar of the
// search box with the fields of entries ([EntryGrammar]). Relative times are counted back from now. The error joins a *lifecycle.FilterError for
// everything that is wrong ([lifecycle.FilterErrors]); the filter has the rest.
func ParseEntryFilter(v url.Values, now time.Time) (EntryFilter, error) {
	var f EntryFilter
	var wrong []error
	for _, q := range v["q"] {
		terms, err := EntryGrammar().Split(q)
		wrong = append(wrong, err)
		for _, t := range terms {
			wrong = append(wrong, f.term(t, now))
		}
	}
	for _, field := range filterFields {
		for _, value := range v[field.grammar.Name] {
			wrong = append(wrong, f.term(lifecycle.QueryTerm{Field: field.grammar.Name, Value: value}, now))
		}
	}
	f.normalize()
	return f, errors.Join(append(wrong, f.check())...)
}

// check errors when the filter asks for too much.
func (f EntryFilter) check() error {
	wrong := []error{lifecycle.CheckWords(slices.Concat(f.Words, f.Not.Words))}
	for _, field := range filterFields {
		wrong = append(wrong, lifecycle.CheckAlternatives(field.grammar.Name, slices.Concat(field.get(f), field.not(f))))
	}
	return errors.Join(append(wrong, lifecycle.CheckSpan(f.From, f.To))...)
}

func (f *EntryFilter) term(t lifecycle.QueryTerm, now time.Time) error {
	switch {
	case t.Value == "": // An empty form field asks for nothing.
	case t.Field == "" && t.Not:
		f.Not.Words = append(f.Not.Words, t.Value)
	case t.Field == "":
		f.Words = append(f.Words, t.Value)
	default:
		if err := filterFieldOf(t.Field).set(f, t, now); err != nil {
			return &lifecycle.FilterError{Parameter: t.Field, Detail: err.Error()}
		}
	}
	return nil
}

// normalize sorts and deduplicates, so that equal filters have equal text.
func (f *EntryFilter) normalize() {
	n := &f.Not
	f.Statuses, f.Categories, f.Kinds, f.Paths = unique(f.Statuses), unique(f.Categories), unique(f.Kinds), unique(f.Paths)
	n.Statuses, n.Categories, n.Kinds, n.Paths = unique(n.Statuses), unique(n.Categories), unique(n.Kinds), unique(n.Paths)
	for _, list := range []*[]string{
		&f.Details, &f.Agents, &f.Types, &f.Fingerprints, &f.IDs, &f.Words, &n.Details, &n.Agents, &n.Types, &n.Fingerprints, &n.IDs, &n.Words,
	} {
		*list = unique(*list)
	}
}

func unique[T ~string](s []T) []T {
	slices.Sort(s)
	return slices.Compact(s)
}

// Values writes the filter as query parameters that [ParseEntryFilter] reads back. Words, and what is left out, become one q.
func (f EntryFilter) Values() url.Values {
	v := url.Values{}
	var terms []string
	for _, field := range filterFields {
		if values := field.get(f); len(values) > 0 {
			v[field.grammar.Name] = slices.Clone(values)
		}
		for _, value := range field.not(f) {
			terms = append(terms, lifecycle.Term(true, field.grammar.Name, "", value))
		}
	}
	if terms = append(terms, f.wordTerms()...); len(terms) > 0 {
		v.Set("q", strings.Join(terms, " "))
	}
	return v
}

func (f EntryFilter) wordTerms() (out []string) {
	g := EntryGrammar()
	for _, w := range f.Words {
		out = append(out, g.Word(false, w))
	}
	for _, w := range f.Not.Words {
		out = append(out, g.Word(true, w))
	}
	return out
}
