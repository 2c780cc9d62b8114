package dlqtriage

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tiktoken-go/tokenizer"
)

// check complains about what does not fit together. own is how many of the rules are the file's.
func (p *Policy) check(c *complaints, own int) {
	names := map[string]bool{}
	for i := range p.Rules {
		path := fmt.Sprintf("$.rules[%d]", i)
		if i < own {
			p.Rules[i].check(c, path)
		}
		if i < own && names[p.Rules[i].Name] {
			c.at(path+".name", "rule %q is there twice", p.Rules[i].Name)
		}
		names[p.Rules[i].Name] = true
	}
	p.checkAgents(c)
	p.checkModels(c)
	p.Auto.check(c)
	p.Recovery.check(c)
	for name, share := range map[string]float64{"warn_above": p.Bounds.WarnAbove, "split_share": p.Bounds.SplitShare} {
		if share <= 0 || share > 1 {
			c.at("$.preflight."+name, "preflight.%s is a share, above 0 and at most 1", name)
		}
	}
	if p.Bounds.Budget <= 0 {
		c.at("$.preflight.budget", "preflight.budget is a number of tokens above 0")
	}
}

func (p *Policy) checkAgents(c *complaints) {
	seen := map[string]bool{}
	for i, a := range p.Agents {
		path := fmt.Sprintf("$.agents[%d].name", i)
		switch {
		case a.Name == "":
			c.at(path, "agent %d has no name", i+1)
		case seen[a.Name]:
			c.at(path, "agent %q is there twice", a.Name)
		}
		seen[a.Name] = true
		if _, known := p.model(a.Model); a.Model != "" && !known {
			c.at(fmt.Sprintf("$.agents[%d].model", i), "agent %q: %q is not one of the models", a.Name, a.Model)
		}
	}
	if !seen[p.TriageAgent] {
		c.at("$.triage_agent", "triage_agent: %q is not one of the agents", p.TriageAgent)
	}
}

func (p *Policy) checkModels(c *complaints) {
	seen := map[string]bool{}
	for i, m := range p.Models {
		path := fmt.Sprintf("$.models[%d]", i)
		switch {
		case m.Name == "":
			c.at(path, "model %d has no name", i+1)
		case seen[m.Name]:
			c.at(path+".name", "model %q is there twice", m.Name)
		case m.ContextWindow <= 0:
			c.at(path+".context_window", "model %q: context_window is a number of tokens above 0", m.Name)
		case m.Budget < 0 || m.Budget > m.ContextWindow:
			c.at(path+".budget", "model %q: budget is a number of tokens, at most the context window", m.Name)
		}
		if _, err := tokenizer.Get(m.encoding()); err != nil {
			c.at(path+".encoding", "model %q: %q is not an encoding; o200k_base, cl100k_base, p50k_base and r50k_base are", m.Name, m.Encoding)
		}
		seen[m.Name] = true
	}
	for key, name := range map[string]string{"default_model": p.DefaultModel, "fallback_model": p.Fallback} {
		if !seen[name] {
			c.at("$."+key, "%s: %q is not one of the models", key, name)
		}
	}
}

// check complains about a rule that says nothing, or looks nowhere.
func (r *Rule) check(c *complaints, path string) {
	if r.Name == "" {
		c.at(path, "a rule has no name")
	}
	if _, known := DetailNamed(r.Detail); r.Detail != "" && !known {
		c.at(path+".detail", "rule %q: %q is not a detail of the taxonomy", r.Name, r.Detail)
	}
	if r.Category != "" && !r.Category.Known() {
		c.at(path+".category", "rule %q: %q is not a category", r.Name, r.Category)
	}
	if says := boolCount(r.Detail != "", r.Category != "", r.Names != ""); says != 1 {
		c.at(path, "rule %q: give one of detail, category and names", r.Name)
	}
	if r.Names != "" && r.Names != "detail" && r.Names != "category" {
		c.at(path+".names", "rule %q: names is detail or category", r.Name)
	}
	r.checkSources(c, path)
}

func (r *Rule) checkSources(c *complaints, path string) {
	for i, s := range r.Sources {
		if !slices.Contains(Sources(), s) {
			c.at(fmt.Sprintf("%s.sources[%d]", path, i), "rule %q: %q is not a source", r.Name, s)
		}
	}
	if header := slices.Contains(r.sources(), SourceHeader); header != (r.Header != "") {
		c.at(path, "rule %q: the source header and a header's name belong together", r.Name)
	}
	if len(r.All)+len(r.Any)+len(r.Status) == 0 && r.Names == "" && r.Header == "" {
		c.at(path, "rule %q would match everything: give all, any or status", r.Name)
	}
}

func boolCount(conditions ...bool) (n int) {
	for _, is := range conditions {
		if is {
			n++
		}
	}
	return n
}

// termInPattern finds <name> in a pattern.
var termInPattern = regexp.MustCompile(`<([a-z_]+)>`)

// compile makes the patterns of all rules. Those of rules that were compiled before are made again: they may use another term now.
func (p *Policy) compile(c *complaints) error {
	if c == nil {
		c = &complaints{}
	}
	rules := slices.Clone(p.Rules)
	for i := range rules {
		r := &rules[i]
		path := fmt.Sprintf("$.rules[%d]", i)
		r.all = p.patterns(c, r.All, path+".all")
		r.any = p.patterns(c, r.Any, path+".any")
		r.none = p.patterns(c, r.None, path+".none")
	}
	p.Rules = rules
	return c.err()
}

func (p *Policy) patterns(c *complaints, texts []string, path string) []*regexp.Regexp {
	var out []*regexp.Regexp
	for i, text := range texts {
		whole := termInPattern.ReplaceAllStringFunc(text, func(name string) string {
			if pattern, known := p.Terms[strings.Trim(name, "<>")]; known {
				return "(?:" + pattern + ")"
			}
			return name
		})
		re, err := regexp.Compile("(?is)" + whole)
		if err != nil {
			c.at(fmt.Sprintf("%s[%d]", path, i), "%s[%d]: %v", settingName(path), i, err)
			continue
		}
		out = append(out, re)
	}
	return out
}
