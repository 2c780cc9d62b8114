package alerts

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// ParseRules reads a file of alert rules and puts it over the built-in ones. It errors with everything that is wrong, one line each, with line
// numbers. A rule that the file does not name stays as it is:
//
//	rules:
//	  stale: {for: 30s, severity: critical}
//	  pending_queue_age: {threshold: 30m}
//	  outcome_unknown: {enabled: false}
func ParseRules(text []byte) (Rules, error) {
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, errors.New(yaml.FormatError(err, false, false))
	}
	r := &rulesReader{rules: Defaults()}
	for _, doc := range file.Docs {
		r.document(doc.Body)
	}
	if len(r.wrong) > 0 {
		return nil, errors.Join(r.wrong...)
	}
	return r.rules, nil
}

// rulesReader puts what it reads over the rules, and collects what is wrong.
type rulesReader struct {
	rules Rules
	wrong []error
}

func (r *rulesReader) complain(at ast.Node, format string, args ...any) {
	r.wrong = append(r.wrong, fmt.Errorf("line %d: %s", at.GetToken().Position.Line, fmt.Sprintf(format, args...)))
}

func (r *rulesReader) document(body ast.Node) {
	if body == nil || body.Type() == ast.NullType {
		return
	}
	for _, section := range r.pairs(body, "the file") {
		if name := section.Key.String(); name != "rules" {
			r.complain(section.Key, "%q is not known; rules is", name)
			continue
		}
		for _, rule := range r.pairs(section.Value, "rules") {
			r.rule(rule)
		}
	}
}

// pairs are the entries of a mapping.
func (r *rulesReader) pairs(node ast.Node, what string) []*ast.MappingValueNode {
	switch n := node.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	r.complain(node, "%s has names and values", what)
	return nil
}

func (r *rulesReader) rule(pair *ast.MappingValueNode) {
	id := RuleID(pair.Key.String())
	i := r.rules.place(id)
	if i < 0 {
		r.complain(pair.Key, "%q is not a rule; they are %s", id, strings.Join(ruleNames(r.rules), ", "))
		return
	}
	for _, setting := range r.pairs(pair.Value, string(id)) {
		r.setting(&r.rules[i], setting)
	}
}

func (r *rulesReader) setting(rule *Rule, pair *ast.MappingValueNode) {
	text := strings.Trim(pair.Value.String(), `"'`)
	switch name := pair.Key.String(); name {
	case "enabled":
		on, err := strconv.ParseBool(text)
		if err != nil {
			r.complain(pair.Value, "%s.enabled is true or false, not %q", rule.ID, text)
		}
		rule.Off = !on
	case "severity":
		rule.Severity = Severity(text)
		if !slices.Contains(Severities(), rule.Severity) {
			r.complain(pair.Value, "%s.severity is critical, warning or info, not %q", rule.ID, text)
		}
	case "for":
		rule.For = r.duration(pair, rule, text, 0)
	case "threshold":
		if rule.Means == "" {
			r.complain(pair.Key, "%s has no threshold; for says how long it must last", rule.ID)
			return
		}
		rule.Threshold = r.duration(pair, rule, text, time.Second)
	default:
		r.complain(pair.Key, "%s.%s is not known; enabled, severity, for and threshold are", rule.ID, name)
	}
}

// longest is the longest duration that makes sense in a rule.
const longest = 30 * 24 * time.Hour

func (r *rulesReader) duration(pair *ast.MappingValueNode, rule *Rule, text string, least time.Duration) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil || d < least || d > longest {
		r.complain(pair.Value, "%s.%s is a time from %s to %s, such as 90s, 5m or 1h30m, not %q", rule.ID, pair.Key, least, longest, text)
	}
	return d
}

func ruleNames(rules Rules) (out []string) {
	for _, r := range rules {
		out = append(out, string(r.ID))
	}
	return out
}
