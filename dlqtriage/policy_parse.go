package dlqtriage

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// ParsePolicy reads a policy file and puts it over the built-in policy: its rules come first, and every other section that it has replaces
// the built-in one. It errors with everything that is wrong, one line each, with line numbers.
func ParsePolicy(text []byte) (*Policy, error) {
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, errors.New(yaml.FormatError(err, false, false))
	}
	c := &complaints{file: file}
	for _, doc := range file.Docs {
		c.shape(doc.Body, reflect.TypeFor[Policy](), "$")
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	p, err := parse(text)
	if err != nil {
		return nil, err
	}
	own := len(p.Rules)
	p = p.over(DefaultPolicy())
	p.check(c, own)
	if err := c.err(); err != nil {
		return nil, err
	}
	return p, p.compile(c)
}

func parse(text []byte) (*Policy, error) {
	var p Policy
	if err := yaml.Unmarshal(text, &p); err != nil {
		return nil, errors.New(yaml.FormatError(err, false, false))
	}
	return &p, nil
}

// over is the policy with what it leaves out taken from below.
func (p *Policy) over(below *Policy) *Policy {
	out := *below
	if p.BuiltInRules == nil || *p.BuiltInRules {
		out.Rules = append(append([]Rule{}, p.Rules...), below.Rules...)
	} else {
		out.Rules = p.Rules
	}
	out.Terms = map[string]string{}
	for _, terms := range []map[string]string{below.Terms, p.Terms} {
		for name, pattern := range terms {
			out.Terms[name] = pattern
		}
	}
	setUnless(&out.Agents, p.Agents, p.Agents == nil)
	setUnless(&out.Models, p.Models, p.Models == nil)
	setUnless(&out.TriageAgent, p.TriageAgent, p.TriageAgent == "")
	setUnless(&out.DefaultModel, p.DefaultModel, p.DefaultModel == "")
	setUnless(&out.Fallback, p.Fallback, p.Fallback == "")
	setUnless(&out.Bounds.Budget, p.Bounds.Budget, p.Bounds.Budget == 0)
	setUnless(&out.Bounds.WarnAbove, p.Bounds.WarnAbove, p.Bounds.WarnAbove == 0)
	setUnless(&out.Bounds.SplitShare, p.Bounds.SplitShare, p.Bounds.SplitShare == 0)
	out.Auto = out.Auto.over(p.Auto)
	out.Recovery = out.Recovery.over(p.Recovery)
	return &out
}

func setUnless[T any](to *T, by T, absent bool) {
	if !absent {
		*to = by
	}
}

// complaints collects what is wrong with a policy file.
type complaints struct {
	file *ast.File // Nil for the built-in policy.
	list []error
}

func (c *complaints) err() error { return errors.Join(c.list...) }

// at complains about the place in the file that a path such as $.rules[2].any[0] names.
func (c *complaints) at(path, format string, args ...any) {
	line := 0
	for path != "" && line == 0 {
		line = c.line(path)
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	c.complainAt(line, format, args...)
}

func (c *complaints) complainAt(line int, format string, args ...any) {
	c.list = append(c.list, fmt.Errorf("line %d: %s", max(line, 1), fmt.Sprintf(format, args...)))
}

func (c *complaints) line(path string) int {
	if c.file == nil {
		return 0
	}
	p, err := yaml.PathString(path)
	if err != nil {
		return 0
	}
	node, err := p.FilterFile(c.file)
	if err != nil || node.GetToken() == nil {
		return 0
	}
	return node.GetToken().Position.Line
}
