package lifecycle

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

func TestEveryKindHasARow(t *testing.T) {
	t.Parallel()
	declared := declaredKinds(t)
	if len(declared) != len(Kinds()) {
		t.Errorf("%d kinds are declared, %d have a row", len(declared), len(Kinds()))
	}
	for _, k := range declared {
		if _, known := kindIndex[k]; !known {
			t.Errorf("kind %s has no row", k)
		}
	}
}

// declaredKinds reads the constants of the type Kind from the source.
func declaredKinds(t *testing.T) (out []Kind) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "kind.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if typ, ok := spec.Type.(*ast.Ident); ok && typ.Name == "Kind" {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, Kind(text))
		}
		return true
	})
	return out
}

func TestRowsOfKindsAreWhole(t *testing.T) {
	t.Parallel()
	names := map[string]Kind{}
	for _, r := range Kinds() {
		if r.Name == "" || r.Icon == "" || r.Tone == "" || r.Provenance == "" || r.About == "" {
			t.Errorf("the row of %s is not whole: %+v", r.Kind, r)
		}
		if !unicode.IsUpper(rune(r.Meaning[0])) || !strings.HasSuffix(r.Meaning, ".") {
			t.Errorf("the meaning of %s is no sentence: %q", r.Kind, r.Meaning)
		}
		if other, taken := names[r.Name]; taken {
			t.Errorf("%s and %s have one name", r.Kind, other)
		}
		names[r.Name] = r.Kind
		if got := r.Kind.Row(); got != r {
			t.Errorf("the row of %s is %+v, want %+v", r.Kind, got, r)
		}
	}
}

func TestAKindOfANewerVersionIsShown(t *testing.T) {
	t.Parallel()
	r := Kind("brand_new").Row()
	if r.Name != "brand new" || r.Icon == "" || r.Tone == "" || r.Meaning != "An observation of the kind brand new." || r.Kind != "brand_new" {
		t.Errorf("row %+v", r)
	}
}
