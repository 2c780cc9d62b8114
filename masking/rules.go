package masking

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// Placeholder stands where something was hidden.
const Placeholder = "[masked]"

// Rules are what somebody wants hidden beside what is built in.
type Rules struct {
	Fields   []string  `yaml:"fields"`   // Optional; names of JSON fields and headers, without regard to case, where * stands for anything.
	Paths    []string  `yaml:"paths"`    // Optional; places in the JSON body, such as $.payload.customer.email or $.items[*].iban.
	Patterns []Pattern `yaml:"patterns"` // Optional; forms of texts, hidden wherever they occur.
	BuiltIn  *bool     `yaml:"built_in"` // Optional; default true. Whether what is built in is hidden too.
}

// Pattern is the form of a text.
type Pattern struct {
	Name   string `yaml:"name"`   // Required. What it is, for errors.
	Regexp string `yaml:"regexp"` // Required. RE2. It must not match the empty text.
}

// Parse makes a masker of rules in YAML. It errors on an unknown key, on a rule that cannot be used, and on a text without any rule: a file that was cut off
// must not show what it hid.
func Parse(text []byte) (*Masker, error) {
	var r Rules
	if err := yaml.UnmarshalWithOptions(text, &r, yaml.DisallowUnknownField()); err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.New(yaml.FormatError(err, false, false))
	}
	if r.Fields == nil && r.Paths == nil && r.Patterns == nil && r.BuiltIn == nil {
		return nil, errors.New("no rules; to hide only what is built in, write fields: []")
	}
	return New(r)
}

// secretWords are the last words of field names whose values are hidden. "tokens", as in token budgets, is not one of them.
const secretWords = `password|passwd|passphrase|pwd|secret|token|api[_-]?key|apikey|private[_-]?key|privatekey|secret[_-]?key|access[_-]?key|accesskey|credentials?|authorization|` +
	`cookie|set-cookie|client[_-]?secret|session[_-]?id|connection[_-]?string`

// secretField is a name that is one of the words or ends in one, behind a separator or as the last word of camelCase.
var secretField = regexp.MustCompile(`^(?:.*[_\-. ])?(?i:` + secretWords + `)$|[a-z0-9](?:Password|Passphrase|Secret|Token|ApiKey|APIKey|PrivateKey|SecretKey|AccessKey|Credentials?|Authorization|Cookie|ConnectionString)$`)

// form is how a text looks that is hidden wherever it stands.
type form struct {
	shape *regexp.Regexp
	hints []string // One of them is in every such text: looking for them is much quicker. None: there is always a look.
	fold  bool     // In any case; the hints are in lower case.

	begin *regexp.Regexp // The shape at the beginning of a text, which is a hint that begins a word; nil where the hints stand anywhere.
}

// beginning is the form of texts that begin a word and begin with one of the hints. There it is tried, because a look through a whole page takes
// milliseconds.
func beginning(shape string, hints ...string) form {
	return form{shape: regexp.MustCompile(`\b` + shape), begin: regexp.MustCompile(`^` + shape), hints: hints}
}

// inAnyCase is the form whose hints, in lower case, may stand in any case.
func (f form) inAnyCase() form {
	f.fold = true
	return f
}

// tokenForms are texts that are tokens of well-known makers, whatever field they are in.
var tokenForms = []form{
	beginning(`sk-[A-Za-z0-9_-]{20,}`, "sk-"), // OpenAI, Anthropic
	beginning(`gh[pousr]_[A-Za-z0-9]{30,}`, "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
	beginning(`github_pat_[A-Za-z0-9_]{30,}`, "github_pat_"),
	beginning(`glpat-[A-Za-z0-9_-]{20,}`, "glpat-"),
	beginning(`xox[abeoprs]-[A-Za-z0-9-]{10,}`, "xox"), // Slack
	beginning(`(?:AKIA|ASIA)[0-9A-Z]{16}\b`, "AKIA", "ASIA"),
	beginning(`AIza[0-9A-Za-z_-]{35}`, "AIza"),                                        // Google
	beginning(`eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`, "eyJ"), // JWT
	{shape: regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[A-Za-z0-9+/=\s:,]|\\[nrt]|-[A-Za-z0-9])*(?:-----END [A-Z ]*PRIVATE KEY-----)?`), hints: []string{"PRIVATE KEY"}},
	beginning(`(?i:bearer\s+)[A-Za-z0-9._~+/-]{20,}=*`, "bearer").inAnyCase(),
	{shape: regexp.MustCompile(`://[^/\s:@"'<>\\]{1,200}:[^/\s@"'<>\\]{1,200}@`), hints: []string{"://"}}, // user:password@ in an address
}

// maxTries is how often the beginning of a form is tried in a text before the whole is looked through: a text of nothing but hints costs no more than a few looks.
const maxTries = 8

// mayOccur reports false where no text of the form is in a text.
func (f form) mayOccur(text string) bool {
	index := strings.Index
	if f.fold {
		index = indexFold
	}
	tries := 0
	for _, hint := range f.hints {
		for at := 0; ; at++ {
			found := index(text[at:], hint)
			if found < 0 {
				break
			}
			at += found
			if f.begin == nil {
				return true
			}
			if at > 0 && wordByte(text[at-1]) {
				continue
			}
			if tries++; tries > maxTries || f.begin.MatchString(text[at:]) {
				return true
			}
		}
	}
	return len(f.hints) == 0
}

// indexFold is where a word of lower-case ASCII letters stands first in a text, in any case; -1 where it does not.
func indexFold(text, word string) int {
	for at := range len(text) - len(word) + 1 {
		if text[at]|0x20 == word[0] && strings.EqualFold(text[at:at+len(word)], word) {
			return at
		}
	}
	return -1
}

// wordByte reports whether RE2 takes a byte for part of a word.
func wordByte(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

// New compiles rules. It errors, naming the rule, where one cannot be used.
func New(r Rules) (*Masker, error) {
	m := &Masker{builtIn: r.BuiltIn == nil || *r.BuiltIn}
	for _, name := range r.Fields {
		if strings.TrimSpace(name) == "" {
			return nil, errors.New("fields: a name is empty")
		}
		pattern := strings.ReplaceAll(regexp.QuoteMeta(name), `\*`, `.*`)
		m.fields = append(m.fields, regexp.MustCompile(`(?is)^`+pattern+`$`)) // A quoted name is always a pattern.
	}
	for _, text := range r.Paths {
		p, err := parsePath(text)
		if err != nil {
			return nil, fmt.Errorf("paths: %w", err)
		}
		m.paths = append(m.paths, p)
	}
	if m.builtIn {
		m.forms = slices.Clone(tokenForms)
	}
	for _, p := range r.Patterns {
		compiled, err := regexp.Compile(p.Regexp)
		if err != nil {
			return nil, fmt.Errorf("patterns: %q: %w", p.Name, err)
		}
		if p.Regexp == "" || compiled.MatchString("") {
			return nil, fmt.Errorf("patterns: %q matches the empty text", p.Name)
		}
		m.forms = append(m.forms, form{shape: compiled})
	}
	return m, nil
}
