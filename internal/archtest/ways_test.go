package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// place is a function or a type as docs/architecture.md names it: `file:function`. A file without a directory is one of each store.
var place = regexp.MustCompile("`([a-z_/]+\\.go):([A-Za-z]+)`")

// TestTheWaysInTheDocumentsExist holds the lists of file:function in docs/architecture.md to the sources.
func TestTheWaysInTheDocumentsExist(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	places := place.FindAllStringSubmatch(string(text), -1)
	if len(places) < 9 {
		t.Fatalf("%d places found; want those of an acknowledgement's way at least", len(places))
	}
	for _, p := range places {
		if !slices.Contains(namesIn(t, p[1]), p[2]) {
			t.Errorf("docs/architecture.md names %s:%s, which does not exist", p[1], p[2])
		}
	}
}

// namesIn are the functions and types of a file.
func namesIn(t *testing.T, path string) (names []string) {
	t.Helper()
	if !strings.Contains(path, "/") {
		return append(namesIn(t, "store/sqlite/"+path), namesIn(t, "store/postgres/"+path)...)
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("../..", path), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Error(err)
		return nil
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names = append(names, d.Name.Name)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if s, ok := s.(*ast.TypeSpec); ok {
					names = append(names, s.Name.Name)
				}
			}
		}
	}
	return names
}
