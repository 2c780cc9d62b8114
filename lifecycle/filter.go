package lifecycle

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Sort is an order of the task list. Every order is total: the task id breaks ties, in the same direction.
type Sort string

// The orders.
const (
	SortLastEventDesc Sort = "-last_event" // The default.
	SortLastEvent     Sort = "last_event"
	SortPublishedDesc Sort = "-published"
	SortPublished     Sort = "published"
	SortCostDesc      Sort = "-cost" // Only of tasks of which a cost was reported.
	SortCost          Sort = "cost"
)

// Filter selects tasks. Values of one field are alternatives; different fields must all hold. The zero value selects everything.
// Pages, the API and the search box share it and its textual forms.
type Filter struct {
	States     []State
	Agents     []string
	Types      []string
	Publishers []string // Names as [PublisherName] writes them: tasks of which one of them published a message, by its own word.
	Streams    []string // Stream names as [StreamID.String] writes them.
	Categories []string
	IDs        []string      // Task ids, or their beginnings when they end in "*".
	Anomalies  []AnomalyCode // Tasks that show one of these.
	Duplicates bool          // Only tasks with publishes caught by the stream.
	Layers     []Layer       // Tasks with a finding of one of these layers of the duplicate ledger.
	Messages   []string      // Places in streams, as "stream:sequence": tasks that have a message there. A name without its epoch means every stream of that name.
	Words      []string      // Each must occur in the task id, a message id, the title or the reason, without regard to case.
	Not        Exclusion     // What no task of the list may have.
	Cost       Bounds        // What agents reported that it cost, in millionths of a USD; zero where nothing was.
	Attempt    Bounds        // Of the current or last attempt; zero where none is known.
	Ran        RunTime       // How long workers had the newest message.
	Published  Bounds        // On the time, in microseconds, at which the newest message was published, or one of Publishers published its message; tasks without one are left out where there is a bound.
	From, To   Micros        // On the last event: From <= last event < To.
	Sort       Sort
}

// Exclusion names what a task of a list may not have: not one value of all this.
type Exclusion struct {
	States     []State
	Agents     []string
	Types      []string
	Publishers []string // Not one message of the task is theirs.
	Streams    []string
	Categories []string
	IDs        []string // Also beginnings that end in "*".
	Anomalies  []AnomalyCode
	Duplicates bool
	Layers     []Layer
	Messages   []string
	Words      []string
}

// FilterError says which parameter is wrong, and how.
type FilterError struct {
	Parameter string
	Detail    string
}

// Error implements error.
func (e *FilterError) Error() string { return e.Parameter + ": " + e.Detail }

// FilterErrors are all the *[FilterError]s that an error joins, the first of each parameter.
func FilterErrors(err error) (all []*FilterError) {
	var joined interface{ Unwrap() []error }
	var one *FilterError
	switch {
	case errors.As(err, &joined):
		for _, part := range joined.Unwrap() {
			for _, wrong := range FilterErrors(part) {
				if !slices.ContainsFunc(all, func(named *FilterError) bool { return named.Parameter == wrong.Parameter }) {
					all = append(all, wrong)
				}
			}
		}
	case errors.As(err, &one):
		return []*FilterError{one}
	}
	return all
}

// ParseFilter reads a filter from query parameters; others are ignored. Repeated parameters are alternatives; q is the search
// box's grammar ([ParseQuery]). Relative times (1h, 7d, …) are counted back from now. The error joins a *FilterError for everything that
// is wrong ([FilterErrors]); the filter has the rest.
func ParseFilter(v url.Values, now time.Time) (Filter, error) {
	var f Filter
	var wrong []error
	for _, q := range v["q"] {
		wrong = append(wrong, f.parseQuery(q, now))
	}
	for _, field := range filterFields {
		for _, value := range v[field.Name] {
			if field.parameter() && field.Name != "q" { // Read above.
				wrong = append(wrong, f.set(QueryTerm{Field: field.Name, Value: value}, now))
			}
		}
	}
	f.normalize()
	return f, errors.Join(append(wrong, f.check())...)
}

// ParseQuery reads the grammar of the search box ([TaskGrammar]). The error is that of [ParseFilter].
func ParseQuery(q string, now time.Time) (Filter, error) {
	return ParseFilter(url.Values{"q": {q}}, now)
}

func (f *Filter) parseQuery(q string, now time.Time) error {
	terms, err := TaskGrammar().Split(q)
	if err != nil {
		return err
	}
	var wrong []error
	for _, t := range terms {
		switch {
		case t.Field != "":
			wrong = append(wrong, f.set(t, now))
		case t.Not:
			f.Not.Words = append(f.Not.Words, t.Value)
		default:
			f.Words = append(f.Words, t.Value)
		}
	}
	return errors.Join(wrong...)
}

func (f *Filter) set(t QueryTerm, now time.Time) error {
	if t.Value == "" {
		return nil // An empty form field asks for nothing.
	}
	if err := fieldOf(t.Field).set(f, t, now); err != nil {
		return &FilterError{t.Field, err.Error()}
	}
	return nil
}

// normalize sorts and deduplicates, so that equal filters have equal text.
func (f *Filter) normalize() {
	f.States = sortedUnique(f.States)
	f.Agents = sortedUnique(f.Agents)
	f.Types = sortedUnique(f.Types)
	f.Publishers = publisherNames(f.Publishers)
	f.Streams = sortedUnique(f.Streams)
	f.Categories = sortedUnique(f.Categories)
	f.IDs = sortedUnique(f.IDs)
	f.Anomalies = sortedUnique(f.Anomalies)
	f.Layers = sortedUnique(f.Layers)
	f.Messages = sortedUnique(f.Messages)
	f.Words = sortedUnique(f.Words)
	f.Not.normalize()
	if f.Sort == "" {
		f.Sort = SortLastEventDesc
	}
}

func (x *Exclusion) normalize() {
	x.States, x.Anomalies, x.Publishers = sortedUnique(x.States), sortedUnique(x.Anomalies), publisherNames(x.Publishers)
	x.Layers = sortedUnique(x.Layers)
	for _, list := range []*[]string{&x.Agents, &x.Types, &x.Streams, &x.Categories, &x.IDs, &x.Messages, &x.Words} {
		*list = sortedUnique(*list)
	}
}

func publisherNames(names []string) []string {
	for i, name := range names {
		names[i] = PublisherName(name)
	}
	return sortedUnique(names)
}

func sortedUnique[T ~string](s []T) []T {
	slices.Sort(s)
	return slices.Compact(s)
}

// Values writes the filter as query parameters that [ParseFilter] reads back: words, and what only the search box can ask for, become one q.
// The default order is left out.
func (f Filter) Values() url.Values {
	v := url.Values{}
	var terms []string
	for _, field := range filterFields {
		if values := field.written(f); len(values) > 0 && field.parameter() {
			v[field.Name] = values
		}
		terms = append(terms, field.terms(f)...)
	}
	if terms = append(terms, f.wordTerms()...); len(terms) > 0 {
		v["q"] = []string{strings.Join(terms, " ")}
	}
	return v
}

// Query writes the filter in the grammar of the search box.
func (f Filter) Query() string {
	var parts []string
	for _, field := range filterFields {
		if field.parameter() {
			for _, value := range field.written(f) {
				parts = append(parts, Term(false, field.Name, "", value))
			}
		}
		parts = append(parts, field.terms(f)...)
	}
	return strings.Join(append(parts, f.wordTerms()...), " ")
}

func (f Filter) wordTerms() (out []string) {
	for _, w := range f.Words {
		out = append(out, taskGrammar.Word(false, w))
	}
	for _, w := range f.Not.Words {
		out = append(out, taskGrammar.Word(true, w))
	}
	return out
}

func texts[T ~string](in []T) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = string(s)
	}
	return out
}

// ParseInstant reads an RFC 3339 time, a date, or a span back from now such as 15m, 24h, 7d.
func ParseInstant(s string, now time.Time) (Micros, error) { return parseInstant(s, now) }

// parseInstant reads an RFC 3339 time, a date, or a span back from now such as 15m, 24h, 7d.
func parseInstant(s string, now time.Time) (Micros, error) {
	if at, ok := parseTime(s); ok {
		return at, nil
	}
	text := strings.TrimPrefix(s, "-")
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil && n > 0 && n <= 36500 {
			return MicrosOf(now.AddDate(0, 0, -int(n))), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return MicrosOf(now.Add(-d)), nil
	}
	return 0, fmt.Errorf("%q is not a time; use RFC 3339, a date, or a span such as 15m, 24h, 7d", s)
}

func parseTime(s string) (Micros, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil && t.UTC().Year() > 0 && t.UTC().Year() <= 9999 {
			return MicrosOf(t), true
		}
	}
	return 0, false
}
