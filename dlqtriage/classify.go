package dlqtriage

import (
	"net/textproto"
	"slices"
	"strconv"
	"strings"
)

// longestText is how much of one text the rules look at, in bytes: half of it from the beginning and half from the end, where traces of
// calls name the failure itself.
const longestText = 4 << 10

// Classify says why a message died. The sources are believed in the order of [Sources]; among the rules for one source the first that
// matches counts. What no rule matches is [Unclassified], and never forced into another category.
func (p *Policy) Classify(e Evidence) Verdict {
	for _, signs := range e.signs() {
		for i := range p.Rules {
			for _, s := range signs {
				if v, ok := p.Rules[i].match(s); ok {
					return v
				}
			}
		}
	}
	return Verdict{Class: ClassOf(Unclassified, "")}
}

// signs are the texts of the evidence with where they were found, those of one rank together. A status that an error text names ranks behind
// that text itself, whose words say more.
func (e Evidence) signs() [][]sign {
	term, reported := textSigns(SourceTerm, e.Term), textSigns(SourceReported, e.Reported)
	texts := textSigns(SourceText, e.Texts...)
	status := append(e.reportedStatus(), statusSigns(term)...)
	return [][]sign{e.headerSigns(), term, reported, append(status, statusSigns(reported)...), texts, statusSigns(texts)}
}

// headerSigns are the headers, in a fixed order.
func (e Evidence) headerSigns() []sign {
	var out []sign
	for name, values := range e.Headers {
		for _, v := range values {
			out = append(out, sign{source: SourceHeader, header: textproto.CanonicalMIMEHeaderKey(name), text: bounded(v)})
		}
	}
	slices.SortFunc(out, func(a, b sign) int { return strings.Compare(a.header+a.text, b.header+b.text) })
	return out
}

func textSigns(source Source, texts ...string) []sign {
	var out []sign
	for _, t := range texts {
		if t != "" {
			out = append(out, sign{source: source, text: bounded(t)})
		}
	}
	return out
}

// statusSigns are the statuses that texts name.
func statusSigns(texts []sign) []sign {
	var out []sign
	for _, s := range texts {
		if status, words := statusIn(s.text); status != 0 {
			out = append(out, sign{source: SourceStatus, status: status, text: s.text, words: words})
		}
	}
	return out
}

// reportedStatus is the status that somebody reported, together with all that was said: its company tells whose status it is.
func (e Evidence) reportedStatus() []sign {
	if e.Status == 0 {
		return nil
	}
	said := strings.Join(append([]string{e.Term, e.Reported}, e.Texts...), "\n")
	return []sign{{source: SourceStatus, status: e.Status, text: bounded(said), words: "HTTP " + strconv.Itoa(e.Status)}}
}

func bounded(text string) string {
	if len(text) <= longestText {
		return text
	}
	return text[:longestText/2] + "\n…\n" + text[len(text)-longestText/2:]
}
