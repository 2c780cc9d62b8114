package lifecycle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// foldedFile says, for the version of the rules that it names, what every scenario came to.
const foldedFile = "testdata/folded.txt"

// folded is a scenario with what it came to, as digests.
type folded struct{ given, facts, outcome string }

// TestTheVersionRisesWithTheRules compares what scenario files come to with what they came to when the version was raised. A store judges
// its tasks anew only where the version is another one, so a rule that changes under the same version would leave old and new judgements
// side by side.
func TestTheVersionRisesWithTheRules(t *testing.T) {
	t.Parallel()
	if FactsVersion >= FoldVersion {
		t.Errorf("FactsVersion %d is not below FoldVersion %d: the suite of the stores tests upgrades from both sides of it", FactsVersion, FoldVersion)
	}
	now := foldScenarios(t)
	text, err := os.ReadFile(foldedFile)
	if err != nil && !*update {
		t.Fatal(err)
	}
	version, facts, before := parseFolded(t, string(text))
	outcomeChanged, factsChanged := changedScenarios(before, now)
	if version == FoldVersion && len(outcomeChanged)+len(factsChanged) > 0 {
		t.Errorf("scenarios come to something else under version %d: %v, and their facts: %v.\n"+
			"Raise FoldVersion in upgrade.go by one; where facts changed by two, and FactsVersion to the one between. Then run this test with -update.",
			FoldVersion, outcomeChanged, factsChanged)
		return
	}
	if len(factsChanged) > 0 && FactsVersion <= version {
		t.Errorf("the facts of %v changed since version %d: raise FactsVersion in upgrade.go to %d.", factsChanged, version, FoldVersion-1)
		return
	}
	want := renderFolded(now)
	if *update {
		if err := os.WriteFile(foldedFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if version != FoldVersion || facts != FactsVersion || string(text) != want {
		t.Errorf("%s does not know all scenario files of version %d: run this test with -update", foldedFile, FoldVersion)
	}
}

func foldScenarios(t *testing.T) map[string]folded {
	t.Helper()
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenario files: %v", err)
	}
	out := map[string]folded{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		given, _, _ := strings.Cut(string(text), "\n---\n")
		m := foldAll([][]Event{parseScenario(t, given)})
		out[strings.TrimSuffix(filepath.Base(file), ".txt")] = folded{given: shortDigest(given), facts: shortDigest(factsOf(t, m)), outcome: shortDigest(render(m))}
	}
	return out
}

// factsOf writes all facts that a fold came to.
func factsOf(t *testing.T, m *memory) string {
	t.Helper()
	var b strings.Builder
	write := func(v any) {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(text, '\n'))
	}
	for _, id := range m.taskIDs() {
		write(m.tasks[id].Facts)
		for _, facts := range m.record(id).Messages {
			write(facts)
		}
	}
	return b.String()
}

func shortDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// changedScenarios lists those whose events are as they were and that come to something else.
func changedScenarios(before, now map[string]folded) (outcome, facts []string) {
	for _, name := range slices.Sorted(maps.Keys(before)) {
		b, n := before[name], now[name]
		if b.given != n.given {
			continue // Another scenario, or none.
		}
		if b.outcome != n.outcome {
			outcome = append(outcome, name)
		}
		if b.facts != n.facts {
			facts = append(facts, name)
		}
	}
	return outcome, facts
}

func renderFolded(now map[string]folded) string {
	var b strings.Builder
	fmt.Fprintf(&b, "version %d facts %d\n", FoldVersion, FactsVersion)
	for _, name := range slices.Sorted(maps.Keys(now)) {
		f := now[name]
		fmt.Fprintf(&b, "%s %s %s %s\n", name, f.given, f.facts, f.outcome)
	}
	return b.String()
}

func parseFolded(t *testing.T, text string) (version, facts int, out map[string]folded) {
	t.Helper()
	out = map[string]folded{}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if _, err := fmt.Sscanf(lines[0], "version %d facts %d", &version, &facts); err != nil && !*update {
		t.Fatalf("%s: %v", foldedFile, err)
	}
	for _, line := range lines[1:] {
		parts := strings.Fields(line)
		if len(parts) != 4 {
			t.Fatalf("%s: %q is no scenario with three digests", foldedFile, line)
		}
		out[parts[0]] = folded{parts[1], parts[2], parts[3]}
	}
	return version, facts, out
}
