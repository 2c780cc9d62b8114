package archtest

import (
	"slices"
	"strings"
	"testing"
)

func TestTheTreeKeepsTheTable(t *testing.T) {
	t.Parallel()
	packages, err := Load(t.Context(), "../..")
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) < 5 {
		t.Fatalf("go list found %d packages; want the whole module", len(packages))
	}
	for _, problem := range Check(Module, Table, packages) {
		t.Error(problem)
	}
}

func TestForbiddenImportsAreFound(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		pkg  Package
		want string // Empty when allowed.
	}{
		{"the core imports the standard library", Package{ImportPath: "m/lifecycle", Imports: []string{"context", "encoding/json"}}, ""},
		{"the core imports a library", Package{ImportPath: "m/lifecycle", Imports: []string{"github.com/nats-io/nats.go"}},
			"lifecycle imports github.com/nats-io/nats.go"},
		{"the core imports a store", Package{ImportPath: "m/lifecycle", Imports: []string{"m/store/sqlite"}}, "lifecycle imports m/store/sqlite"},
		{"the api imports the pages", Package{ImportPath: "m/api", Imports: []string{"m/web"}}, "api imports m/web"},
		{"a store imports its driver's module", Package{ImportPath: "m/store/sqlite", Imports: []string{"zombiezen.com/go/sqlite/sqlitex"}}, ""},
		{"a prefix is a whole element", Package{ImportPath: "m/store/sqlite", Imports: []string{"zombiezen.com/go/sqlitexyz"}},
			"store/sqlite imports zombiezen.com/go/sqlitexyz"},
		{"a test uses the kit", Package{ImportPath: "m/api", XTestImports: []string{"m/api", "m/internal/testkit"}}, ""},
		{"the program uses the kit", Package{ImportPath: "m/api", Imports: []string{"m/internal/testkit"}}, "api imports m/internal/testkit"},
		{"a test reaches across", Package{ImportPath: "m/api", TestImports: []string{"m/web"}}, "a test of api imports m/web"},
		{"a collector", Package{ImportPath: "m/collectors/acks", Imports: []string{"m/collectors", "m/fleet", "m/lifecycle"}}, ""},
		{"collectors know no other collector", Package{ImportPath: "m/collectors/acks", Imports: []string{"m/collectors/publishes"}},
			"collectors/acks imports m/collectors/publishes"},
		{"a package without a row", Package{ImportPath: "m/utils"}, "utils has no row in the table of imports"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := strings.Join(Check("m", Table, []Package{tt.pkg}), "; "); got != tt.want {
				t.Errorf("Check(%+v) = %q, want %q", tt.pkg, got, tt.want)
			}
		})
	}
}

func TestTheTableHasOneRowPerPackage(t *testing.T) {
	t.Parallel()
	var names []string
	for _, r := range Table {
		names = append(names, r.Package)
	}
	slices.Sort(names)
	if unique := slices.Compact(slices.Clone(names)); len(unique) != len(names) {
		t.Errorf("the table has a package twice: %v", names)
	}
}
