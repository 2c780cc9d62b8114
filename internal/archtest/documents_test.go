package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// link is a link of a document to a file of this repository.
var link = regexp.MustCompile(`\]\(([^):#]+\.(?:md|png|yml|yaml|json))(?:#[^)]*)?\)`)

// TestTheLinksOfTheDocumentsLead follows every link from one document to another file.
func TestTheLinksOfTheDocumentsLead(t *testing.T) {
	t.Parallel()
	links := 0
	follow := func(document string) {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Error(err)
		}
		for _, l := range link.FindAllStringSubmatch(string(text), -1) {
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(document), l[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", document, l[1])
			}
		}
	}
	follow("../../README.md")
	follow("../../CHANGELOG.md")
	err := filepath.WalkDir("../../docs", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			follow(path)
		}
		return err
	})
	if err != nil || links < 50 {
		t.Errorf("%d links: %v", links, err)
	}
}

// TestEachDecisionHasANumberOfItsOwn reads the numbers from names and headings of docs/adr.
func TestEachDecisionHasANumberOfItsOwn(t *testing.T) {
	t.Parallel()
	decisions, err := filepath.Glob("../../docs/adr/*.md")
	if err != nil || len(decisions) < 50 {
		t.Fatalf("%d decisions: %v", len(decisions), err)
	}
	of := map[string]string{}
	for _, path := range decisions {
		number, _, _ := strings.Cut(filepath.Base(path), "-")
		if other := of[number]; other != "" {
			t.Errorf("%s and %s have one number", other, path)
		}
		of[number] = path
		text, err := os.ReadFile(path)
		if heading := "# " + strings.TrimLeft(number, "0") + ". "; err != nil || !strings.HasPrefix(string(text), heading) {
			t.Errorf("%s does not begin with %q: %v", path, heading, err)
		}
	}
}
