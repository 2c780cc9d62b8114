package dlqtriage

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"fleetglass/lifecycle"
)

// Rule is one row of the table of classification. It holds for a text of one of its sources when all that it names is there.
type Rule struct {
	Name     string   `yaml:"name" json:"name"`                             // Required. Unique; shown with every verdict.
	Detail   string   `yaml:"detail,omitempty" json:"detail,omitempty"`     // What it says; its category follows from the taxonomy.
	Category Category `yaml:"category,omitempty" json:"category,omitempty"` // What it says where no detail fits.
	Names    string   `yaml:"names,omitempty" json:"names,omitempty"`       // detail or category: the text itself names what it is.

	Sources []Source `yaml:"sources,omitempty" json:"sources,omitempty"` // Optional; default the texts: TERM reason, reported error, error text.
	Header  string   `yaml:"header,omitempty" json:"header,omitempty"`   // The header that is looked at; needed for the source header.
	Status  []int    `yaml:"status,omitempty" json:"status,omitempty"`   // One of these HTTP statuses; needed for the source http_status.
	All     []string `yaml:"all,omitempty" json:"all,omitempty"`         // Each of these patterns (RE2, in any case) must be in the text.
	Any     []string `yaml:"any,omitempty" json:"any,omitempty"`         // One of these must.
	None    []string `yaml:"none,omitempty" json:"none,omitempty"`       // None of these may.

	all, any, none []*regexp.Regexp
}

// textSources are where a rule looks that names no sources.
var textSources = []Source{SourceTerm, SourceReported, SourceText}

// sources are where the rule looks.
func (r *Rule) sources() []Source {
	switch {
	case len(r.Sources) > 0:
		return r.Sources
	case r.Header != "":
		return []Source{SourceHeader}
	case len(r.Status) > 0:
		return []Source{SourceStatus}
	}
	return textSources
}

// sign is one text that a rule may match.
type sign struct {
	source Source
	header string // Of the source header, in lower case.
	status int    // Of the source http_status.
	text   string // What patterns look through.
	words  string // What is shown as evidence instead of the matching part; empty for that.
}

// match says what the rule concludes from a sign.
func (r *Rule) match(s sign) (Verdict, bool) {
	if !slices.Contains(r.sources(), s.source) || !strings.EqualFold(r.Header, s.header) || !r.hasStatus(s.status) {
		return Verdict{}, false
	}
	at, ok := r.find(s.text)
	if !ok {
		return Verdict{}, false
	}
	v := Verdict{Class: ClassOf(r.Category, r.Detail), Rule: r.Name}
	if r.Names != "" {
		if v.Class, at = named(r.Names, s.text); at == nil {
			return Verdict{}, false
		}
	}
	found := s.words
	if found == "" {
		found = excerpt(s.text, at[0], at[1])
	}
	v.Evidence = []lifecycle.Evidence{{Source: string(s.source), Text: found}}
	return v, true
}

func (r *Rule) hasStatus(status int) bool {
	return len(r.Status) == 0 || slices.Contains(r.Status, status)
}

// find looks for the rule's patterns and returns where the most telling one matched.
func (r *Rule) find(text string) (at []int, ok bool) {
	at = []int{0, 0}
	for _, p := range r.none {
		if p.MatchString(text) {
			return nil, false
		}
	}
	for _, p := range r.all {
		if at = p.FindStringIndex(text); at == nil {
			return nil, false
		}
	}
	if len(r.any) == 0 {
		return at, true
	}
	for _, p := range r.any {
		if at = p.FindStringIndex(text); at != nil {
			return at, true
		}
	}
	return nil, false
}

// namePattern finds words that may name a detail or a category.
var namePattern = regexp.MustCompile(`(?i)\b[a-z]+(?:_[a-z]+)*\b`)

// named finds the first detail, or category, that the text names in its own words, and where.
func named(what, text string) (Class, []int) {
	for _, at := range namePattern.FindAllStringIndex(text, -1) {
		word := strings.ToLower(text[at[0]:at[1]])
		if row, known := DetailNamed(word); known && what == "detail" {
			return row.Class, at
		}
		if c := Category(word); what == "category" && c.Known() && c != Unclassified {
			return ClassOf(c, ""), at
		}
	}
	return Class{}, nil
}

// Evidence is shown with some of the text around it.
const (
	excerptBefore = 60
	excerptLength = 240
)

// excerpt is the part of a text around from..to, at most excerptLength bytes and a mark on each side that was cut.
func excerpt(text string, from, to int) string {
	begin := max(0, from-excerptBefore)
	end := min(len(text), max(begin+excerptLength, min(to, begin+2*excerptLength)))
	for begin > 0 && !utf8.RuneStart(text[begin]) {
		begin--
	}
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	out := strings.TrimSpace(strings.ToValidUTF8(text[begin:end], "\uFFFD"))
	if begin > 0 {
		out = "…" + out
	}
	if end < len(text) {
		out += "…"
	}
	return out
}
