//go:build linux

package situations

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	rowNamed  = regexp.MustCompile(`"([^"]+)"( \((live|afterwards)\))?`)
	testNamed = regexp.MustCompile("`(Test\\w+)`")
)

// docs/situations.md says by which rows each situation of the specification is played, and where a row is played in one mode only.
func TestTheDocumentNamesTheRowsThatPlayEachSituation(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "situations.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "\n## Rows of the specification\n")
	section, _, _ := strings.Cut(after, "\n## ")
	modes, tests, named := modesOfRows(t), testsOfTheTree(t), 0
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 2 || !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| situation") {
			continue
		}
		rows, functions := rowNamed.FindAllStringSubmatch(cells[1], -1), testNamed.FindAllStringSubmatch(cells[1], -1)
		if named++; len(rows)+len(functions) == 0 {
			t.Errorf("nothing plays %s", cells[0])
		}
		for _, r := range rows {
			if m, exists := modes[r[1]]; !exists || m != mode(r[3]) {
				t.Errorf("%s: row %q is played %q, and the document says %q (exists: %v)", cells[0], r[1], m, r[3], exists)
			}
		}
		for _, f := range functions {
			if !tests[f[1]] {
				t.Errorf("%s: there is no %s", cells[0], f[1])
			}
		}
	}
	if named < 30 {
		t.Errorf("only %d situations were read", named)
	}
}

// modesOfRows is in which mode alone each row is played; empty for both.
func modesOfRows(t *testing.T) map[string]mode {
	t.Helper()
	out := map[string]mode{}
	for _, heading := range rows {
		for _, row := range heading {
			if _, twice := out[row.name]; twice {
				t.Errorf("two rows have the name %q", row.name)
			}
			out[row.name] = row.mode
		}
	}
	return out
}

// testsOfTheTree are the names of all test functions.
func testsOfTheTree(t *testing.T) map[string]bool {
	t.Helper()
	function, out := regexp.MustCompile(`(?m)^func (Test\w+)\(`), map[string]bool{}
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range function.FindAllSubmatch(text, -1) {
			out[string(found[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
