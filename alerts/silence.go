package alerts

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"fleetglass/lifecycle"
)

// Silence keeps alerts from receivers until a time. It says nothing about who looks after them.
type Silence struct {
	ID        string           `json:"id"`
	Matchers  []Matcher        `json:"matchers"` // All must hold.
	CreatedAt lifecycle.Micros `json:"created_at"`
	Until     lifecycle.Micros `json:"until"` // It mutes before this.
	Comment   string           `json:"comment"`
	By        string           `json:"by"`
	EndedAt   lifecycle.Micros `json:"ended_at,omitempty"` // When somebody took it back; zero for never.
	EndedBy   string           `json:"ended_by,omitempty"`
}

// Active reports whether the silence mutes at an instant.
func (s Silence) Active(now lifecycle.Micros) bool { return !s.EndedAt.Known() && now < s.Until }

// Mutes reports whether every matcher holds for the alert.
func (s Silence) Mutes(a Alert) bool {
	return len(s.Matchers) > 0 && !slices.ContainsFunc(s.Matchers, func(m Matcher) bool { return !m.Matches(a) })
}

// muting is the active silence that mutes the alert and ends last; nil for none.
func muting(silences []Silence, a Alert, now lifecycle.Micros) *Silence {
	var out *Silence
	for i, s := range silences {
		if s.Active(now) && s.Mutes(a) && (out == nil || s.Until > out.Until) {
			out = &silences[i]
		}
	}
	return out
}

// Op is how a matcher compares.
type Op string

// The ways to compare, as Alertmanager writes them. Patterns are RE2 and hold for the whole value.
const (
	Equal      Op = "="
	NotEqual   Op = "!="
	Matches    Op = "=~"
	NotMatches Op = "!~"
)

// Ops lists the ways to compare.
func Ops() []Op { return []Op{Equal, NotEqual, Matches, NotMatches} }

// Matcher compares one field of an alert.
type Matcher struct {
	Name  string `json:"name"`
	Op    Op     `json:"op"`
	Value string `json:"value"`
}

// Fields lists the fields that matchers may name.
func Fields() []string {
	return []string{"rule", "severity", "agent", "stream", "consumer", "category", "task_id", "id"}
}

// field is the value that a matcher of that name compares.
func (a Alert) field(name string) string {
	switch name {
	case "rule":
		return string(a.Rule)
	case "severity":
		return string(a.Severity)
	case "agent":
		return a.Labels.Agent
	case "stream":
		return a.Labels.Stream
	case "consumer":
		return a.Labels.Consumer
	case "category":
		return a.Labels.Category
	case "task_id":
		return a.TaskID
	case "id":
		return a.ID
	}
	return ""
}

// Matches reports whether the matcher holds for the alert. One with a pattern that cannot be read holds for none.
func (m Matcher) Matches(a Alert) bool {
	value := a.field(m.Name)
	switch m.Op {
	case Equal:
		return value == m.Value
	case NotEqual:
		return value != m.Value
	}
	pattern, err := m.pattern()
	return err == nil && pattern.MatchString(value) == (m.Op == Matches)
}

func (m Matcher) pattern() (*regexp.Regexp, error) { return regexp.Compile(`\A(?s:` + m.Value + `)\z`) }

// String writes the matcher as Alertmanager does.
func (m Matcher) String() string { return m.Name + string(m.Op) + fmt.Sprintf("%q", m.Value) }

// ParseMatcher reads the form that [Matcher.String] writes; the quotes may be left out.
func ParseMatcher(text string) (Matcher, error) {
	text = strings.TrimSpace(text)
	at := strings.IndexAny(text, "=!")
	if at < 0 {
		return Matcher{}, fmt.Errorf("%q has none of =, !=, =~ and !~", text)
	}
	m := Matcher{Name: strings.TrimSpace(text[:at]), Op: Equal, Value: text[at+1:]}
	for _, op := range []Op{Matches, NotMatches, NotEqual} {
		if value, is := strings.CutPrefix(text[at:], string(op)); is {
			m.Op, m.Value = op, value
			break
		}
	}
	m.Value = strings.TrimSpace(m.Value)
	if quoted := strings.TrimSuffix(strings.TrimPrefix(m.Value, `"`), `"`); len(quoted) == len(m.Value)-2 {
		m.Value = quoted
	}
	return m, nil
}

// Bounds of a silence.
const (
	maxMatchers = 20
	maxValue    = 1000 // Bytes.
	maxComment  = 2000 // Characters.
)

// Wrong is one thing that is wrong with a request.
type Wrong struct {
	Pointer string // The place in the body, such as /matchers/0/op.
	Why     string
}

// Validate says everything that is wrong with a silence that somebody wants now.
func (s Silence) Validate(now lifecycle.Micros) []Wrong {
	var out []Wrong
	wrong := func(is bool, pointer, why string) {
		if is {
			out = append(out, Wrong{pointer, why})
		}
	}
	wrong(len(s.Matchers) == 0, "/matchers", "Name at least one matcher: a silence of everything would hide what you do not know of.")
	wrong(len(s.Matchers) > maxMatchers, "/matchers", fmt.Sprintf("Name at most %d matchers.", maxMatchers))
	for i, m := range s.Matchers[:min(len(s.Matchers), maxMatchers)] {
		at := fmt.Sprintf("/matchers/%d", i)
		wrong(!slices.Contains(Fields(), m.Name), at+"/name", "The name must be one of "+strings.Join(Fields(), ", ")+".")
		wrong(!slices.Contains(Ops(), m.Op), at+"/op", "The op must be one of =, !=, =~ and !~.")
		wrong(len(m.Value) > maxValue || !utf8.ValidString(m.Value), at+"/value", "The value must be a text of at most 1,000 bytes.")
		if m.Op == Matches || m.Op == NotMatches {
			_, err := m.pattern()
			wrong(err != nil, at+"/value", "The value is not a pattern in the syntax RE2.")
		}
	}
	wrong(len(out) == 0 && s.Mutes(Alert{}) && s.hollow(), "/matchers", "These matchers would mute every alert; narrow them.")
	wrong(s.Until <= now, "/until", "The end of a silence must be in the future.")
	n := utf8.RuneCountInString(strings.TrimSpace(s.Comment))
	wrong(n < 3 || n > maxComment, "/comment", "Say why, in 3 to 2,000 characters.")
	return out
}

// hollow reports whether the silence holds for alerts of which every field has a value that nobody could have meant.
func (s Silence) hollow() bool {
	odd := "\x00nobody's\x00"
	return s.Mutes(Alert{ID: odd, Rule: RuleID(odd), Severity: Severity(odd), TaskID: odd, Labels: Labels{odd, odd, odd, odd}})
}
