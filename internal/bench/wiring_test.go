package bench

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestIngestIsWiredAsTheProgramIs compares what the measured collectors are given with what the program gives its own, so that a setting
// that is added there is measured here. The program's package cannot be imported.
func TestIngestIsWiredAsTheProgramIs(t *testing.T) {
	t.Parallel()
	program, measured := wiringOf(t, "../../cmd/server/collect.go", "../../cmd/server/capture_shards.go"), wiringOf(t, "collect_test.go")
	delete(program, "idempotency.FirestoreConfig") // There is no Firestore here; without a project the program's collector does nothing either.
	delete(program, "deadletters.Config")          // Nothing dies in what is measured, and its stream is no captured one.
	if len(program) < 4 {
		t.Fatalf("the program's wiring is not found any more: %v", program)
	}
	if diff := cmp.Diff(program, measured); diff != "" {
		t.Errorf("settings by type (-the program +here):\n%s", diff)
	}
}

// wiringOf lists the fields that source files set of each configuration of collectors.
func wiringOf(t *testing.T, paths ...string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		addWiring(file, out)
	}
	return out
}

func addWiring(file *ast.File, out map[string][]string) {
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		name, ok := literal.Type.(*ast.SelectorExpr)
		if !ok || !strings.HasSuffix(name.Sel.Name, "Config") {
			return true
		}
		var fields []string
		for _, element := range literal.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok {
				fields = append(fields, pair.Key.(*ast.Ident).Name)
			}
		}
		slices.Sort(fields)
		out[name.X.(*ast.Ident).Name+"."+name.Sel.Name] = fields
		return true
	})
}
