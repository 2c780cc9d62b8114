package web

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"fleetglass/lifecycle"
	"fleetglass/views"
)

// condition is one thing that an address asks of a list, in the box or by a parameter.
type condition struct {
	lifecycle.QueryTerm
	rest url.Values // The parameters without it.
}

// conditions are what the parameters of a list ask for, in the order of the grammar, then as they stand in the box. What cannot be read asks for
// nothing.
func conditions(g lifecycle.Grammar, v url.Values) (out []condition) {
	for _, field := range g.Fields {
		for i, value := range v[field.Name] {
			rest := maps.Clone(v)
			rest[field.Name] = slices.Delete(slices.Clone(v[field.Name]), i, i+1)
			out = append(out, condition{lifecycle.QueryTerm{Field: field.Name, Value: value}, rest})
		}
	}
	text := strings.Join(v["q"], " ")
	terms, err := g.Split(text)
	if err != nil {
		return out
	}
	for i, t := range terms {
		var texts []string
		for j, other := range terms {
			if i != j {
				texts = append(texts, other.Text)
			}
		}
		rest := maps.Clone(v)
		rest["q"] = []string{strings.Join(texts, " ")}
		if len(texts) == 0 {
			delete(rest, "q")
		}
		out = append(out, condition{t, rest})
	}
	return out
}

// chip says a condition in words, and takes it away.
func (c condition) chip(path string, deadLetters, or bool) views.Chip {
	label := views.QueryWords(c.QueryTerm, deadLetters)
	if or {
		label = "or " + label
	}
	return views.Chip{Href: address(path, c.rest), Label: label, On: true, Remove: true}
}

// understood are the conditions as chips, but for those of parameters that have a control of their own. Values of one field are alternatives, and
// the chips say so.
func understood(path string, g lifecycle.Grammar, v url.Values, deadLetters bool, own ...string) (out []views.Chip) {
	seen := map[string]bool{}
	for _, c := range conditions(g, v) {
		alternative := c.Field != "" && !c.Not && c.Op == ""
		or := alternative && seen[c.Field]
		seen[c.Field] = seen[c.Field] || alternative
		if c.Text == "" && slices.Contains(own, c.Field) {
			continue
		}
		out = append(out, c.chip(path, deadLetters, or))
	}
	return out
}

// problemWords says everything that is wrong with a query; empty where an error is about something else.
func problemWords(err error) string {
	var said []string
	for _, wrong := range lifecycle.FilterErrors(err) {
		if wrong.Parameter == "q" {
			said = append(said, "The search "+wrong.Detail+".")
		} else {
			said = append(said, wrong.Error()+".")
		}
	}
	return strings.Join(said, " ")
}
