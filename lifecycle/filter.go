package lifecycle

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Sort is an order of the task list. Every order is total: the task id breaks ties, in the same direction.
type Sort string

// The orders.
const (
	SortLastEventDesc Sort = "-last_event" // The default.
	SortLastEvent     Sort = "last_event"
	SortPublishedDesc Sort = "-published"
	SortPublished     Sort = "published"
)

// Filter selects tasks. Values of one field are alternatives; different fields must all hold. The zero value selects everything.
// Pages, the API and the search box share it and its textual forms.
type Filter struct {
	States     []State
	Agents     []string
	Types      []string
	Streams    []string // Stream names as [StreamID.String] writes them.
	Categories []string
	IDs        []string      // Task ids, or their beginnings when they end in "*".
	Anomalies  []AnomalyCode // Tasks that show one of these.
	Duplicates bool          // Only tasks with publishes caught by the stream.
	Words      []string      // Each must occur in the task id, the message id or the title, without regard to case.
	From, To   Micros        // On the last event: From <= last event < To.
	Sort       Sort
}

// FilterError says which parameter is wrong, and how.
type FilterError struct {
	Parameter string
	Detail    string
}

// Error implements error.
func (e *FilterError) Error() string { return e.Parameter + ": " + e.Detail }

// ParseFilter reads a filter from query parameters; others are ignored. Repeated parameters are alternatives; q is the search
// box's grammar ([ParseQuery]). Relative times (1h, 7d, …) are counted back from now. The error is a *FilterError.
func ParseFilter(v url.Values, now time.Time) (Filter, error) {
	var f Filter
	for _, q := range v["q"] {
		if err := f.parseQuery(q, now); err != nil {
			return Filter{}, err
		}
	}
	for _, field := range filterFields {
		for _, value := range v[field.Name] {
			if field.Name == "q" {
				continue // Read above.
			}
			if err := f.set(field.Name, value, now); err != nil {
				return Filter{}, err
			}
		}
	}
	f.normalize()
	if err := f.check(); err != nil {
		return Filter{}, err
	}
	return f, nil
}

// ParseQuery reads the grammar of the search box: words, and field:value pairs with the fields of [FilterParameters]; a value with
// spaces stands in double quotes, where a backslash escapes a quote or a backslash.
func ParseQuery(q string, now time.Time) (Filter, error) {
	var f Filter
	if err := f.parseQuery(q, now); err != nil {
		return Filter{}, err
	}
	f.normalize()
	if err := f.check(); err != nil {
		return Filter{}, err
	}
	return f, nil
}

func (f *Filter) parseQuery(q string, now time.Time) error {
	terms, err := SplitQuery(q, isQueryField)
	if err != nil {
		return err
	}
	for _, t := range terms {
		if t.Field == "" {
			f.Words = append(f.Words, t.Value)
			continue
		}
		if err := f.set(t.Field, t.Value, now); err != nil {
			return err
		}
	}
	return nil
}

func (f *Filter) set(name, value string, now time.Time) error {
	if value == "" {
		return nil // An empty form field asks for nothing.
	}
	field := fieldOf(name)
	if field == nil || field.set == nil {
		return &FilterError{name, "is not a field"}
	}
	if err := field.set(f, value, now); err != nil {
		return &FilterError{name, err.Error()}
	}
	return nil
}

// normalize sorts and deduplicates, so that equal filters have equal text.
func (f *Filter) normalize() {
	f.States = sortedUnique(f.States)
	f.Agents = sortedUnique(f.Agents)
	f.Types = sortedUnique(f.Types)
	f.Streams = sortedUnique(f.Streams)
	f.Categories = sortedUnique(f.Categories)
	f.IDs = sortedUnique(f.IDs)
	f.Anomalies = sortedUnique(f.Anomalies)
	f.Words = sortedUnique(f.Words)
	if f.Sort == "" {
		f.Sort = SortLastEventDesc
	}
}

func sortedUnique[T ~string](s []T) []T {
	slices.Sort(s)
	return slices.Compact(s)
}

// Values writes the filter as query parameters that [ParseFilter] reads back. Words become one q. The default order is left out.
func (f Filter) Values() url.Values {
	v := url.Values{}
	for _, field := range filterFields {
		if values := field.values(f); len(values) > 0 {
			v[field.Name] = values
		}
	}
	return v
}

// Query writes the filter in the grammar of the search box.
func (f Filter) Query() string {
	var parts []string
	values := f.Values()
	for _, field := range filterFields {
		if field.Name == "q" {
			continue
		}
		for _, value := range values[field.Name] {
			parts = append(parts, field.Name+":"+quoteQuery(value))
		}
	}
	if len(f.Words) > 0 {
		parts = append(parts, f.wordsQuery())
	}
	return strings.Join(parts, " ")
}

func (f Filter) wordsQuery() string {
	quoted := make([]string, len(f.Words))
	for i, w := range f.Words {
		quoted[i] = quoteWord(w)
	}
	return strings.Join(quoted, " ")
}

func texts[T ~string](in []T) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = string(s)
	}
	return out
}

// QueryTerm is a word of a query in the grammar of the search box, or a value with its field.
type QueryTerm struct {
	Field string // Empty for a word.
	Value string // Never empty.
}

// isQueryField reports whether a name before a colon is a field of [Filter].
func isQueryField(name string) bool { return name != "q" && fieldOf(name) != nil }

// SplitQuery cuts a query in the grammar of the search box ([ParseQuery]) into words and values of the fields that isField knows. The error is a
// *FilterError.
func SplitQuery(q string, isField func(name string) bool) ([]QueryTerm, error) {
	var out []QueryTerm
	rest := strings.TrimLeftFunc(q, unicode.IsSpace)
	for rest != "" {
		var t QueryTerm
		if field, after, found := strings.Cut(rest, ":"); found && isField(field) {
			t.Field, rest = field, after
		}
		value, after, err := cutValue(rest)
		if err != nil {
			return nil, &FilterError{"q", err.Error()}
		}
		t.Value = value
		if t.Value != "" {
			out = append(out, t)
		}
		rest = strings.TrimLeftFunc(after, unicode.IsSpace)
	}
	return out, nil
}

func cutField(s string) (field, rest string, ok bool) {
	name, after, found := strings.Cut(s, ":")
	if !found || !isQueryField(name) {
		return "", s, false
	}
	return name, after, true
}

func cutValue(s string) (value, rest string, err error) {
	if !strings.HasPrefix(s, `"`) {
		i := strings.IndexFunc(s, unicode.IsSpace)
		if i < 0 {
			i = len(s)
		}
		return s[:i], s[i:], nil
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case c == '"':
			return b.String(), s[i+1:], nil
		default:
			b.WriteByte(c)
		}
	}
	return "", "", fmt.Errorf("a quote is not closed")
}

func quoteQuery(s string) string {
	if s != "" && !strings.ContainsFunc(s, unicode.IsSpace) && !strings.HasPrefix(s, `"`) {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// quoteWord quotes a word also where it would read as a field.
func quoteWord(s string) string {
	if _, _, ok := cutField(s); ok {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
	}
	return quoteQuery(s)
}

// QuoteQuery writes a value so that [SplitQuery] reads it back.
func QuoteQuery(value string) string { return quoteQuery(value) }

// ParseInstant reads an RFC 3339 time, a date, or a span back from now such as 15m, 24h, 7d.
func ParseInstant(s string, now time.Time) (Micros, error) { return parseInstant(s, now) }

// parseInstant reads an RFC 3339 time, a date, or a span back from now such as 15m, 24h, 7d.
func parseInstant(s string, now time.Time) (Micros, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			return MicrosOf(t), nil
		}
	}
	text := strings.TrimPrefix(s, "-")
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		if _, err := fmt.Sscanf(days+"\n", "%d\n", &n); err == nil && n > 0 && n <= 36500 {
			return MicrosOf(now.AddDate(0, 0, -n)), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return MicrosOf(now.Add(-d)), nil
	}
	return 0, fmt.Errorf("%q is not a time; use RFC 3339, a date, or a span such as 15m, 24h, 7d", s)
}
