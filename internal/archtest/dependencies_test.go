package archtest

import (
	"os"
	"strings"
	"testing"
)

// docs/dependencies.md says what each direct dependency is for, and which version is used.
func TestTheDocumentListsEveryDependencyWithItsVersion(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	required := map[string]bool{}
	for line := range strings.Lines(string(mod)) {
		module, version, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || !strings.HasPrefix(line, "\t") || strings.HasSuffix(version, "// indirect") {
			continue
		}
		required[module] = true
		if row := "| " + module + " | " + version + " |"; !strings.Contains(string(doc), row) {
			t.Errorf("docs/dependencies.md lacks a row that begins with %q", row)
		}
	}
	if len(required) == 0 {
		t.Fatal("go.mod requires nothing: is it read rightly?")
	}
	for line := range strings.Lines(string(doc)) {
		if cells := strings.Split(line, " | "); len(cells) == 3 && len(cells[1]) > 1 && cells[1][0] == 'v' && cells[1][1] <= '9' && !required[strings.TrimPrefix(cells[0], "| ")] {
			t.Errorf("docs/dependencies.md lists %s, which go.mod does not require", cells[0])
		}
	}
}
