package lifecycle

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Grammar is what the search box of one kind of list understands: words, quoted phrases, and field:value pairs, each of which a minus in front
// turns around. Tasks and dead letters have one each; both are read by [Grammar.Split].
type Grammar struct {
	Fields       []GrammarField
	MessageField string // The field that a bare stream:sequence asks for.
}

// GrammarField is a field of a [Grammar].
type GrammarField struct {
	Name     string
	About    string   // What it narrows by.
	Example  string   // A term with it, as people type it.
	Values   []string // The only values that there are; none where any text is one.
	Compares bool     // It takes >, >=, < and <= before its value.
	Once     bool     // It has one value, and no minus turns it around.
}

// QueryTerm is a word of a query, or a value with its field.
type QueryTerm struct {
	Not   bool   // It stands behind a minus.
	Field string // Empty for a word.
	Op    string // One of >, >=, < and <=; empty where nothing is compared.
	Value string // Never empty.
	Text  string // The term as it was typed.
}

// Field finds a field by its name; nil where there is none.
func (g Grammar) Field(name string) *GrammarField {
	i := slices.IndexFunc(g.Fields, func(f GrammarField) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &g.Fields[i]
}

// Names are the names of the fields, in the order of the alphabet.
func (g Grammar) Names() []string {
	out := make([]string, len(g.Fields))
	for i, f := range g.Fields {
		out[i] = f.Name
	}
	slices.Sort(out)
	return out
}

// Split cuts a query into its terms. The error is a *[FilterError]; it names the choices where a field is not known.
func (g Grammar) Split(q string) ([]QueryTerm, error) {
	var out []QueryTerm
	rest := strings.TrimLeftFunc(q, unicode.IsSpace)
	for rest != "" {
		t, after, err := g.cutTerm(rest)
		if err != nil {
			return nil, err
		}
		t.Text = rest[:len(rest)-len(after)]
		if t.Value != "" { // Two quotes with nothing in between ask for nothing.
			out = append(out, t)
		}
		rest = strings.TrimLeftFunc(after, unicode.IsSpace)
	}
	return out, nil
}

// cutTerm reads the first term of a text that does not begin with a space.
func (g Grammar) cutTerm(s string) (t QueryTerm, rest string, err error) {
	rest = s
	if after, found := strings.CutPrefix(s, "-"); found && after != "" && !unicode.IsSpace([]rune(after)[0]) {
		t.Not, rest = true, after
	}
	if name, value, found := strings.Cut(rest, ":"); found {
		if f := g.Field(name); f != nil {
			t.Field = name
			rest, err = f.cutPair(&t, value)
			return t, rest, err
		}
	}
	bare := !strings.HasPrefix(rest, `"`)
	if t.Value, rest, err = cutValue(rest); err != nil {
		return t, rest, &FilterError{"q", err.Error()}
	}
	if bare {
		err = g.readBare(&t)
	}
	return t, rest, err
}

// cutPair reads what stands behind the colon of a field.
func (f *GrammarField) cutPair(t *QueryTerm, s string) (rest string, err error) {
	for _, op := range []string{">=", "<=", ">", "<"} {
		if after, found := strings.CutPrefix(s, op); found {
			t.Op, s = op, after
			break
		}
	}
	if t.Value, rest, err = cutValue(s); err != nil {
		return "", &FilterError{"q", err.Error()}
	}
	switch {
	case t.Value == "" && !strings.HasPrefix(s, `""`):
		return "", &FilterError{f.Name, "has no value. Write it behind the colon without a space, such as " + f.Example}
	case t.Op != "" && !f.Compares:
		return "", &FilterError{f.Name, "cannot be compared with " + t.Op + ". Put the value in double quotes if it begins so"}
	case t.Not && f.Once:
		return "", &FilterError{f.Name, "cannot be excluded with a minus"}
	}
	return rest, nil
}

var (
	fieldLike = regexp.MustCompile(`^[a-z][a-z_]*$`)
	retryLike = regexp.MustCompile(`^r\d+$`)
)

// readBare decides what a term without a known field is: a message by its place in a stream, a word, or a field that does not exist.
func (g Grammar) readBare(t *QueryTerm) error {
	name, value, found := strings.Cut(t.Value, ":")
	near := nearest(name, g.Names())
	switch {
	case !found || value == "" || strings.HasPrefix(value, "//"):
		return nil
	case isMessage(t.Value) && (near == "" || !fieldLike.MatchString(name)):
		t.Field = g.MessageField
		return nil
	case !fieldLike.MatchString(name) || retryLike.MatchString(value):
		return nil
	}
	return &FilterError{"q", fmt.Sprintf("has no field %q%s The fields are %s. To search for the text itself, put it in double quotes",
		name, didYouMean(near), strings.Join(g.Names(), ", "))}
}

func isMessage(text string) bool {
	_, err := ParseMessageKey(text)
	return err == nil
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
	return "", "", fmt.Errorf("has a quote that is not closed")
}

// Term writes a pair so that [Grammar.Split] reads it back.
func Term(not bool, field, op, value string) string {
	minus := ""
	if not {
		minus = "-"
	}
	return minus + field + ":" + op + quoteQuery(value)
}

// Word writes a word so that [Grammar.Split] reads it back as one.
func (g Grammar) Word(not bool, word string) string {
	minus := ""
	if not {
		minus = "-"
	}
	terms, err := g.Split(minus + word)
	if err == nil && len(terms) == 1 && terms[0] == (QueryTerm{Not: not, Value: word, Text: minus + word}) {
		return minus + word
	}
	return minus + quoted(word)
}

func quoteQuery(s string) string {
	if s != "" && !strings.ContainsFunc(s, unicode.IsSpace) && !strings.ContainsAny(s[:1], `"<>`) {
		return s
	}
	return quoted(s)
}

func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
