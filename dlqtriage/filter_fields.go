package dlqtriage

import (
	"slices"
	"time"

	"fleetglass/lifecycle"
)

// filterField is one way in which a list of entries can be narrowed.
type filterField struct {
	grammar lifecycle.GrammarField
	set     func(f *EntryFilter, t lifecycle.QueryTerm, now time.Time) error
	get     func(f EntryFilter) []string
	not     func(f EntryFilter) []string // What is left out; nil where nothing can be.
}

// filterFields lists them in the order in which filters are written.
var filterFields = []filterField{
	oneOf("status", "what was decided about it", "status:open", Statuses(), func(f *EntryFilter) (is, not *[]Status) { return &f.Statuses, &f.Not.Statuses }),
	oneOf("category", "what may help", "category:transient", Categories(), func(f *EntryFilter) (is, not *[]Category) { return &f.Categories, &f.Not.Categories }),
	free("detail", "why it died, within its category", "detail:llm_provider_timeout", func(f *EntryFilter) (is, not *[]string) { return &f.Details, &f.Not.Details }),
	oneOf("kind", "kind of cause", "kind:resource", append(Kinds(), Empty), func(f *EntryFilter) (is, not *[]Kind) { return &f.Kinds, &f.Not.Kinds }),
	oneOf("path", "how it came to be dead", "path:terminated", append(Paths(), Empty), func(f *EntryFilter) (is, not *[]Path) { return &f.Paths, &f.Not.Paths }),
	free("agent", "whose queue it was in", "agent:marketing", func(f *EntryFilter) (is, not *[]string) { return &f.Agents, &f.Not.Agents }),
	free("type", "type of the task", "type:content_creation", func(f *EntryFilter) (is, not *[]string) { return &f.Types, &f.Not.Types }),
	free("fingerprint", "reason without its numbers and ids, as groups have it", `fingerprint:"status #"`, func(f *EntryFilter) (is, not *[]string) { return &f.Fingerprints, &f.Not.Fingerprints }),
	free("id", "id of the entry (stream:sequence), of the task or of the message", "id:TASKS:255", func(f *EntryFilter) (is, not *[]string) { return &f.IDs, &f.Not.IDs }),
	instant("from", "died at or after", "from:24h", func(f *EntryFilter) *lifecycle.Micros { return &f.From }),
	instant("to", "died before", "to:2026-01-31", func(f *EntryFilter) *lifecycle.Micros { return &f.To }),
}

// EntryGrammar is what the search box of dead letters understands.
func EntryGrammar() lifecycle.Grammar {
	g := lifecycle.Grammar{MessageField: "id"}
	for _, f := range filterFields {
		g.Fields = append(g.Fields, f.grammar)
	}
	return g
}

// listed is a field of alternatives, of which check refuses those that do not exist.
func listed[T ~string](grammar lifecycle.GrammarField, check func(string) error, of func(*EntryFilter) (is, not *[]T)) filterField {
	return filterField{
		grammar: grammar,
		set: func(f *EntryFilter, t lifecycle.QueryTerm, _ time.Time) error {
			list, not := of(f)
			if t.Not {
				list = not
			}
			*list = append(*list, T(t.Value))
			return check(t.Value)
		},
		get: func(f EntryFilter) []string { is, _ := of(&f); return textsOf(*is) },
		not: func(f EntryFilter) []string { _, not := of(&f); return textsOf(*not) },
	}
}

// oneOf is a field whose values are known.
func oneOf[T ~string](name, about, example string, known []T, of func(*EntryFilter) (is, not *[]T)) filterField {
	choices := textsOf(known)
	check := func(value string) error { return lifecycle.CheckChoice(value, "a "+name, choices) }
	return listed(lifecycle.GrammarField{Name: name, About: about, Example: example, Values: choices}, check, of)
}

// free is a field of any text.
func free(name, about, example string, of func(*EntryFilter) (is, not *[]string)) filterField {
	return listed(lifecycle.GrammarField{Name: name, About: about, Example: example}, func(string) error { return nil }, of)
}

// instant is a field of one time; the last one given counts.
func instant(name, about, example string, of func(*EntryFilter) *lifecycle.Micros) filterField {
	return filterField{
		grammar: lifecycle.GrammarField{Name: name, About: about, Example: example, Once: true},
		set: func(f *EntryFilter, t lifecycle.QueryTerm, now time.Time) (err error) {
			*of(f), err = lifecycle.ParseInstant(t.Value, now)
			return err
		},
		get: func(f EntryFilter) []string {
			if at := *of(&f); at.Known() {
				return []string{at.Time().Format(time.RFC3339Nano)}
			}
			return nil
		},
		not: func(EntryFilter) []string { return nil },
	}
}

func textsOf[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

func filterFieldOf(name string) *filterField {
	i := slices.IndexFunc(filterFields, func(f filterField) bool { return f.grammar.Name == name })
	if i < 0 {
		return nil
	}
	return &filterFields[i]
}
