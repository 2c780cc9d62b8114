package dlqtriage

import (
	_ "embed"
	"slices"
	"sync"
)

// Policy is everything about triage that an operator can configure: the table of classification, who can do what, the models, and the
// bounds of preflight. A policy never changes after it was made.
type Policy struct {
	Terms        map[string]string `yaml:"terms" json:"terms"`                 // Named parts of patterns: <name> in a pattern stands for its text.
	Rules        []Rule            `yaml:"rules" json:"rules"`                 // In order: those of the file before the built-in ones.
	BuiltInRules *bool             `yaml:"built_in_rules" json:"-"`            // In a file; false leaves the built-in rules out.
	Agents       []AgentProfile    `yaml:"agents" json:"agents"`               // In the order in which another agent is looked for.
	TriageAgent  string            `yaml:"triage_agent" json:"triage_agent"`   // Who decides about what no retry cures.
	Models       []ModelProfile    `yaml:"models" json:"models"`               //
	DefaultModel string            `yaml:"default_model" json:"default_model"` // What an agent uses that names none.
	Fallback     string            `yaml:"fallback_model" json:"fallback_model"`
	Bounds       PreflightBounds   `yaml:"preflight" json:"preflight"`
	Auto         AutoPolicy        `yaml:"auto" json:"auto"`         // What auto-triage may do, where it is on.
	Recovery     RecoveryPolicy    `yaml:"recovery" json:"recovery"` // What is known of the effects of task types.
}

// AgentProfile is an agent and the task types that it can do.
type AgentProfile struct {
	Name         string   `yaml:"name" json:"name"`
	Capabilities []string `yaml:"capabilities" json:"capabilities"`
	Model        string   `yaml:"model,omitempty" json:"model,omitempty"` // Optional; default the policy's.
}

// ModelProfile is a model and how much it takes.
type ModelProfile struct {
	Name          string `yaml:"name" json:"name"`
	ContextWindow int    `yaml:"context_window" json:"context_window"`         // Tokens.
	Budget        int    `yaml:"budget,omitempty" json:"budget,omitempty"`     // Tokens of a prompt; optional, default the policy's.
	Encoding      string `yaml:"encoding,omitempty" json:"encoding,omitempty"` // How its tokens are estimated; optional, default o200k_base.
}

// PreflightBounds are the bounds of preflight (SPEC 5, prevention).
type PreflightBounds struct {
	Budget     int     `yaml:"budget" json:"budget"`           // Tokens, for models that have none of their own.
	WarnAbove  float64 `yaml:"warn_above" json:"warn_above"`   // Share of the budget.
	SplitShare float64 `yaml:"split_share" json:"split_share"` // Share of the budget that a subtask should have at most.
}

//go:embed policy.yaml
var builtIn []byte

// DefaultPolicy is the built-in policy.
func DefaultPolicy() *Policy { return defaultPolicy() }

var defaultPolicy = sync.OnceValue(func() *Policy {
	p, err := parse(builtIn)
	if err == nil {
		err = p.compile(nil)
	}
	if err != nil {
		panic("the built-in triage policy: " + err.Error()) // A test holds it to be valid.
	}
	return p
})

// model finds a model by its name.
func (p *Policy) model(name string) (ModelProfile, bool) {
	i := slices.IndexFunc(p.Models, func(m ModelProfile) bool { return m.Name == name })
	if i < 0 {
		return ModelProfile{}, false
	}
	return p.Models[i], true
}

// agent finds an agent by its name.
func (p *Policy) agent(name string) (AgentProfile, bool) {
	i := slices.IndexFunc(p.Agents, func(a AgentProfile) bool { return a.Name == name })
	if i < 0 {
		return AgentProfile{}, false
	}
	return p.Agents[i], true
}

// KnowsAgent reports whether the policy names the agent.
func (p *Policy) KnowsAgent(name string) bool {
	_, known := p.agent(name)
	return known
}

// ModelOf is the model that an agent uses: the one that the task names, else the agent's, else the policy's.
func (p *Policy) ModelOf(agent, named string) string {
	if named != "" {
		return named
	}
	if a, known := p.agent(agent); known && a.Model != "" {
		return a.Model
	}
	return p.DefaultModel
}

// AlternateAgent is the first other agent that can do the task type, else the agent that triages.
func (p *Policy) AlternateAgent(agent, taskType string) string {
	for _, a := range p.Agents {
		if a.Name != agent && slices.Contains(a.Capabilities, taskType) {
			return a.Name
		}
	}
	return p.TriageAgent
}

// LargerModel is the model with the smallest context window that is larger than that of the given one. ok is false when there is none, or
// the given model is not known.
func (p *Policy) LargerModel(than string) (larger ModelProfile, ok bool) {
	current, known := p.model(than)
	if !known {
		return ModelProfile{}, false
	}
	for _, m := range p.Models {
		if m.ContextWindow > current.ContextWindow && (!ok || m.ContextWindow < larger.ContextWindow) {
			larger, ok = m, true
		}
	}
	return larger, ok
}

// AnotherModel is the fallback model, or the first other one where the fallback is the one that failed. It is empty when there is no other.
func (p *Policy) AnotherModel(than string) string {
	if p.Fallback != than {
		return p.Fallback
	}
	for _, m := range p.Models {
		if m.Name != than {
			return m.Name
		}
	}
	return ""
}
