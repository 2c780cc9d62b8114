package lifecycle

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// declared lists the constants of a type that a file of this package declares.
func declared(t *testing.T, file, typ string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if name, named := spec.Type.(*ast.Ident); named && name.Name == typ {
			out = append(out, strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`))
		}
		return false
	})
	return out
}

func TestTheTableHoldsEveryStateOnce(t *testing.T) {
	t.Parallel()
	seen := map[State]bool{}
	for _, s := range States() {
		if seen[s] {
			t.Errorf("%s stands in the table twice", s)
		}
		seen[s] = true
		if !strings.HasSuffix(s.Meaning(), ".") {
			t.Errorf("%s means %q, want a sentence", s, s.Meaning())
		}
	}
	for _, s := range declared(t, "state.go", "State") {
		if !seen[State(s)] {
			t.Errorf("%s has no row in the table of states", s)
		}
	}
	if State("").Valid() || State("gone").Valid() {
		t.Error("a state that is not in the table is valid")
	}
}

func TestEveryStateIsGivenByAVerdictOrByADecision(t *testing.T) {
	t.Parallel()
	given := map[State]bool{StateTriaged: true} // A person gives this one.
	for _, r := range Rules() {
		given[r.State] = true
	}
	for _, s := range States() {
		if !given[s] {
			t.Errorf("no verdict gives %s", s)
		}
	}
}

func TestWhatAStateCountsAsIsConsistent(t *testing.T) {
	t.Parallel()
	for _, s := range States() {
		switch {
		case s.InFlight() && !s.Open():
			t.Errorf("%s is in a worker's hands and not open", s)
		case s.Dead() && s.Open():
			t.Errorf("%s is dead and open", s)
		case s.Abandoned() && !s.Dead():
			t.Errorf("%s is abandoned and not dead", s)
		}
	}
}

func TestEveryKnownRemovalHasWords(t *testing.T) {
	t.Parallel()
	known := map[Removal]bool{}
	for _, r := range Removals() {
		known[r] = true
		if !r.Known() || r.Words() == "" {
			t.Errorf("%s is known and has no words", r)
		}
	}
	for _, text := range declared(t, "removal.go", "Removal") {
		if r := Removal(text); r != RemovedUnknown && !known[r] {
			t.Errorf("%s is missing in Removals", r)
		}
	}
}
