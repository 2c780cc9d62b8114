package dlqtriage

import (
	"fmt"
	"strings"
	"testing"

	"fleetglass/lifecycle"
)

func corrected(entry, reason string, c Class, at int) Correction {
	return Correction{Entry: entry, Reason: reason, Class: c, By: "ann", At: planNow + lifecycle.Micros(at)}
}

func TestCorrectionsAreOfferedAsRules(t *testing.T) {
	t.Parallel()
	gone, moment := ClassOf("", DependencyUnavailable), ClassOf(Transient, "")
	got := DefaultPolicy().SuggestRules([]Correction{
		corrected("a", `crm: tenant "acme" is frozen since 2026-11-20T10:00:00Z (case 4711)`, gone, 1),
		corrected("b", `crm: tenant "umbrella" is frozen since 2026-11-21T11:30:00Z (case 12)`, gone, 2),
		corrected("c", `crm: tenant "initech" is frozen since 2026-11-22T11:30:00Z (case 9)`, moment, 3),
		corrected("d", "the printer is on fire again", moment, 9),
		corrected("e", "HTTP 429", ClassOf("", LLMProviderRateLimit), 10),
		corrected("f", "", moment, 11),
		corrected("g", "nobody knows", ClassOf(Unclassified, ""), 12),
	})
	if len(got) != 2 || got[0].From[0].Entry != "d" || len(got[1].From) != 2 || got[1].Against != 1 || got[1].Rule.Detail != DependencyUnavailable {
		t.Fatalf("got %+v", got)
	}
	var file strings.Builder
	file.WriteString("rules:\n")
	for _, s := range got {
		file.WriteString(s.Text)
	}
	p, err := ParsePolicy([]byte(file.String()))
	if err != nil {
		t.Fatalf("%v in\n%s", err, file.String())
	}
	for text, want := range map[string]Class{
		`crm: tenant "hooli" is frozen since 2027-01-01T00:00:00Z (case 5)`: gone, "The printer is on  fire again": moment, "the printer is fine": ClassOf(Unclassified, ""),
	} {
		if v := p.Classify(Evidence{Term: text}); v.Class != want {
			t.Errorf("%q with the suggested rules: got %v by %q, want %v\n%s", text, v.Class, v.Rule, want, file.String())
		}
	}
	if again := p.SuggestRules([]Correction{corrected("h", "the printer is on fire again", moment, 1)}); len(again) != 0 {
		t.Errorf("what a rule says already is offered again: %+v", again)
	}
}

func TestALongReasonMakesARuleOfItsBeginning(t *testing.T) {
	t.Parallel()
	reason := "step deploy failed: " + strings.Repeat("service alpha rolled back; ", 40)
	got := DefaultPolicy().SuggestRules([]Correction{corrected("a", reason, ClassOf(Transient, ""), 1)})
	if len(got) != 1 || !strings.HasPrefix(got[0].Rule.Any[0], `step\s+deploy\s+failed:`) || strings.Contains(got[0].Rule.Any[0], "…") {
		t.Fatalf("got %+v", got)
	}
}

func TestEveryReasonMakesARuleThatMatchesIt(t *testing.T) {
	t.Parallel()
	none := &Policy{}
	for i, row := range readReasons(t) {
		got := none.SuggestRules([]Correction{corrected(fmt.Sprint(i), row.text, ClassOf(Permanent, ""), 1)})
		if len(got) != 1 {
			t.Errorf("%q (%s) makes no rule: %s", row.text, Fingerprint(row.text), patternOf(Fingerprint(row.text)))
		}
	}
}
