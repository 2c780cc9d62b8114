package dlqtriage

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"fleetglass/lifecycle"
)

// Correction is the word of a person about why a message died.
type Correction struct {
	Entry  string // Its id.
	Reason string // What the message died with. Untrusted.
	Class
	By string
	At lifecycle.Micros
}

// SuggestedRule is a rule that would have said what people said.
type SuggestedRule struct {
	Rule     Rule
	Text     string       // The rule as it stands in a policy file.
	From     []Correction // That say so, the latest first.
	Against  int          // Corrections of the same reason that say something else.
	LatestAt lifecycle.Micros
}

// SuggestRules makes a rule of each reason that people classified and that the policy classifies otherwise: the latest suggestion first. A
// reason that says nothing makes none.
func (p *Policy) SuggestRules(corrections []Correction) []SuggestedRule {
	groups := map[string]map[Class][]Correction{}
	for _, c := range corrections {
		key := Fingerprint(c.Reason)
		if key == NoReason || c.Category == Unclassified {
			continue
		}
		if groups[key] == nil {
			groups[key] = map[Class][]Correction{}
		}
		groups[key][c.Class] = append(groups[key][c.Class], c)
	}
	out := []SuggestedRule{}
	for fingerprint, classes := range groups {
		if s, ok := p.suggest(fingerprint, classes); ok {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b SuggestedRule) int {
		return cmp.Or(cmp.Compare(b.LatestAt, a.LatestAt), strings.Compare(a.Rule.Name, b.Rule.Name))
	})
	return out
}

// suggest makes a rule of what most people say of a reason; where as many say something else, of what was said last.
func (p *Policy) suggest(fingerprint string, classes map[Class][]Correction) (SuggestedRule, bool) {
	var best []Correction
	all := 0
	for _, said := range classes {
		slices.SortFunc(said, func(a, b Correction) int { return cmp.Or(cmp.Compare(b.At, a.At), strings.Compare(a.Entry, b.Entry)) })
		all += len(said)
		if len(said) > len(best) || len(said) == len(best) && said[0].At > best[0].At {
			best = said
		}
	}
	if p.Classify(Evidence{Texts: []string{best[0].Reason}}).Class == best[0].Class {
		return SuggestedRule{}, false
	}
	s := SuggestedRule{Rule: ruleOf(fingerprint, best[0].Class), From: best, Against: all - len(best), LatestAt: best[0].At}
	if !s.matchesAll() {
		return SuggestedRule{}, false
	}
	text, err := yaml.Marshal([]Rule{s.Rule})
	s.Text = string(text)
	return s, err == nil
}

// matchesAll reports whether the rule's pattern is in each of the reasons that it was made of.
func (s *SuggestedRule) matchesAll() bool {
	pattern, err := regexp.Compile("(?is)" + s.Rule.Any[0])
	return err == nil && !slices.ContainsFunc(s.From, func(c Correction) bool { return !pattern.MatchString(c.Reason) })
}

func ruleOf(fingerprint string, c Class) Rule {
	r := Rule{Name: "suggested-" + fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(fingerprint+string(c.Category)+c.Detail))), Any: []string{patternOf(fingerprint)}}
	if c.Detail != "" {
		r.Detail = c.Detail
	} else {
		r.Category = c.Category
	}
	return r
}

// placeholder finds in a fingerprint what stands for varying parts.
var placeholder = regexp.MustCompile(`<(?:text|address|time|id|host)>|#|\s+`)

// patternOf is a pattern for the texts that have a fingerprint, as far as it is not cut off.
func patternOf(fingerprint string) string {
	if cut, rest, long := strings.Cut(fingerprint, "… "); long && len(rest) == 8 {
		fingerprint = cut[:max(0, strings.LastIndexByte(cut, ' '))] // A word that was cut may have stood for something.
	}
	var b strings.Builder
	from := 0
	for _, at := range placeholder.FindAllStringIndex(fingerprint, -1) {
		b.WriteString(regexp.QuoteMeta(fingerprint[from:at[0]]))
		switch fingerprint[at[0]] {
		case '#':
			b.WriteString(`\d[\d.,_]*`)
		case '<':
			b.WriteString(`.{1,200}?`)
		default:
			b.WriteString(`\s+`)
		}
		from = at[1]
	}
	b.WriteString(regexp.QuoteMeta(fingerprint[from:]))
	return b.String()
}

// CorrectionOf is the word of a person about an entry; false where the rules classified it, or nobody did.
func CorrectionOf(e Entry) (Correction, bool) {
	if e.Classification.By == "" || e.Classification.By == ByRules {
		return Correction{}, false
	}
	return Correction{Entry: e.ID, Reason: e.Reason, Class: e.Class, By: e.Classification.By, At: e.Classification.At}, true
}
