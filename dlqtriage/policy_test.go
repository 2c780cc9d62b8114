package dlqtriage

import (
	"strings"
	"testing"
)

func TestAFileGoesOverTheBuiltInPolicy(t *testing.T) {
	t.Parallel()
	p, err := ParsePolicy([]byte(`
rules:
  - name: our-crm
    detail: dependency_unavailable
    any: ['crm .*<provider> is off', 'permission denied by crm']
agents:
  - {name: writer, capabilities: [content_creation], model: gpt-5}
  - {name: boss, capabilities: []}
triage_agent: boss
preflight: {budget: 1000}
`))
	if err != nil {
		t.Fatal(err)
	}
	if v := p.Classify(Evidence{Term: "permission denied by CRM"}); v.Rule != "our-crm" {
		t.Errorf("a rule of the file comes first: got %q", v.Rule)
	}
	if v := p.Classify(Evidence{Term: "HTTP 429"}); v.Detail != LLMProviderRateLimit {
		t.Errorf("built-in rules come after: got %v", v)
	}
	if got := p.AlternateAgent("x", "code_review"); got != "boss" {
		t.Errorf("agents are the file's: got %q", got)
	}
	if got := p.ModelOf("writer", ""); got != "gpt-5" {
		t.Errorf("model of the agent: got %q", got)
	}
	if p.Bounds.Budget != 1000 || p.Bounds.WarnAbove != 0.8 || p.Fallback != "gpt-5" || len(p.Models) == 0 {
		t.Errorf("what the file leaves out is built in: %+v %+v", p.Bounds, p.Models)
	}
	if DefaultPolicy().TriageAgent != "ceo" || DefaultPolicy().Bounds.Budget != 150000 {
		t.Error("the built-in policy was changed")
	}
}

func TestAFileMayLeaveTheBuiltInRulesOut(t *testing.T) {
	t.Parallel()
	p, err := ParsePolicy([]byte("built_in_rules: false\nrules:\n- {name: a, category: transient, any: [flaky]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if v := p.Classify(Evidence{Term: "HTTP 429"}); v.Category != Unclassified {
		t.Errorf("got %v", v)
	}
	if v := p.Classify(Evidence{Term: "a FLAKY test"}); v.Category != Transient || v.Kind != KindTransient || v.Detail != "" {
		t.Errorf("got %v", v)
	}
}

func TestEverythingThatIsWrongIsSaidAtOnceWithItsLine(t *testing.T) {
	t.Parallel()
	_, err := ParsePolicy([]byte(`rules:
  - name: a
    detail: cosmic_rays
    any: [x]
  - name: b
    detail: node_preemption
  - name: b
    category: transient
    status: ["x"]
  - name: c
    detail: node_preemption
    sources: [gossip]
    any: ['(']
agnets: []
models:
  - {name: m, context_window: many}
preflight: 3
`))
	if err == nil {
		t.Fatal("no error")
	}
	checkLines(t, err, "line 9: rules[2].status[0]: want a whole number", `line 14: the policy has no setting "agnets"`,
		"line 16: models[0].context_window: want a whole number", "line 17: preflight: want a mapping")
}

func TestWhatDoesNotFitTogetherIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	_, err := ParsePolicy([]byte(`rules:
  - name: a
    detail: cosmic_rays
    any: [x]
  - name: b
    detail: node_preemption
  - name: b
    category: transient
    header: X-Why
    sources: [gossip, header]
  - {detail: node_preemption, category: transient, any: [x]}
agents: [{name: a, capabilities: [], model: nobody}]
models:
  - {name: m, context_window: 10, budget: 20}
  - {name: n, context_window: 10, encoding: morse}
preflight: {warn_above: 80, split_share: 0.5}
`))
	if err == nil {
		t.Fatal("no error")
	}
	checkLines(t, err,
		`line 3: rule "a": "cosmic_rays" is not a detail of the taxonomy`,
		`line 5: rule "b" would match everything: give all, any or status`,
		`line 7: rule "b" is there twice`,
		`line 10: rule "b": "gossip" is not a source`,
		`line 11: a rule has no name`,
		`line 11: rule "": give one of detail, category and names`,
		`line 12: agent "a": "nobody" is not one of the models`,
		`triage_agent: "ceo" is not one of the agents`,
		`line 14: model "m": budget is a number of tokens, at most the context window`,
		`line 15: model "n": "morse" is not an encoding; o200k_base, cl100k_base, p50k_base and r50k_base are`,
		`default_model: "claude-sonnet-4-5" is not one of the models`,
		`line 16: preflight.warn_above is a share, above 0 and at most 1`,
	)
}

func TestPatternsThatAreNoneAreSaidWithTheirLines(t *testing.T) {
	t.Parallel()
	_, err := ParsePolicy([]byte("rules:\n- name: a\n  category: transient\n  any:\n  - 'good'\n  - '('\n  none: ['[']\n"))
	if err == nil {
		t.Fatal("no error")
	}
	checkLines(t, err, "line 6: rules[0].any[1]: error parsing regexp", "line 7: rules[0].none[0]: error parsing regexp")
}

func TestAFileThatIsNoYAMLIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"rules: [", "- a", "just text", "\t: :"} {
		if _, err := ParsePolicy([]byte(text)); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
	if _, err := ParsePolicy(nil); err != nil {
		t.Errorf("an empty file changes nothing: %v", err)
	}
}

func checkLines(t *testing.T, err error, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q is missing in\n%v", w, err)
		}
	}
	if got := strings.Count(err.Error(), "\n") + 1; got < len(want) {
		t.Errorf("%d lines, want at least %d:\n%v", got, len(want), err)
	}
}

func FuzzParsePolicy(f *testing.F) {
	f.Add(string(builtIn))
	f.Add("rules:\n- name: a\n  any: x\n")
	f.Fuzz(func(_ *testing.T, text string) { _, _ = ParsePolicy([]byte(text)) })
}
