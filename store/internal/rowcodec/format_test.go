package rowcodec

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"reflect"
	"strings"
	"testing"

	"fleetglass/lifecycle"

	"github.com/tinylib/msgp/msgp"
)

var update = flag.Bool("update", false, "add the names of new fields to testdata/format.txt")

const formatFile = "testdata/format.txt"

// TestNamesOfFieldsNeverChange holds the format to the list of the names that were ever given: rows of every version must stay readable.
func TestNamesOfFieldsNeverChange(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(formatFile)
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, field, _ := strings.Cut(strings.TrimSpace(line), " = ")
		given[name] = field
	}
	for _, row := range formatOf(t) {
		name, field, _ := strings.Cut(row, " = ")
		switch was, known := given[name]; {
		case known && was != field:
			t.Errorf("%s was given to %s and is now of %s: another field needs a name that was never used; of a renamed one correct the line in %s", name, was, field, formatFile)
		case !known && *update:
			text = fmt.Appendln(text, row)
		case !known:
			t.Errorf("%s is not in %s: run this test with -update", row, formatFile)
		}
	}
	if *update {
		if err := os.WriteFile(formatFile, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// formatOf lists every stored field of rows.go as "row.name = field type".
func formatOf(t *testing.T) (out []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "rows.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok {
			if row, ok := spec.Type.(*ast.StructType); ok {
				out = append(out, fieldsOf(t, spec.Name.Name, row)...)
			}
		}
		return true
	})
	return out
}

func fieldsOf(t *testing.T, row string, fields *ast.StructType) (out []string) {
	t.Helper()
	given := map[string]bool{}
	for place, f := range fields.Fields.List {
		name := nameOf(f, place)
		if name == "-" {
			continue
		}
		if given[name] {
			t.Errorf("%s gives the name %s twice", row, name)
		}
		given[name] = true
		field := types.ExprString(f.Type)
		if len(f.Names) > 0 {
			field = f.Names[0].Name + " " + field
		}
		out = append(out, fmt.Sprintf("%s.%s = %s", row, name, field))
	}
	return out
}

// nameOf is the name of a field in stored rows; in a tuple its place is the name.
func nameOf(f *ast.Field, place int) string {
	if f.Tag == nil {
		return fmt.Sprint(place)
	}
	name, _, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("msg"), ",")
	return name
}

func TestRowsOfANewerVersionAreRead(t *testing.T) {
	t.Parallel()
	want := lifecycle.Event{Kind: lifecycle.Acked, Agent: "cto", Attempt: 3}
	want.Detail.MsgID, want.Detail.Outcome = "m", lifecycle.OutcomeRetried
	row := AppendEvent(nil, &want)
	var newer []byte // A field that this version does not know comes first, another one last, and the detail has one more part.
	fields, rest, err := msgp.ReadMapHeaderBytes(row)
	if err != nil {
		t.Fatal(err)
	}
	newer = msgp.AppendString(msgp.AppendMapHeader(newer, fields+2), "new")
	newer = msgp.AppendMapStrStr(newer, map[string]string{"a": "b"})
	newer = append(newer, onePartMore(t, rest)...)
	newer = msgp.AppendInt(msgp.AppendString(newer, "newer"), 7)
	var got lifecycle.Event
	if err := ReadEvent(&got, newer); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, %v; want %+v", got, err, want)
	}
}

// onePartMore appends a part to the detail in the fields of an event.
func onePartMore(t *testing.T, fields []byte) []byte {
	t.Helper()
	parts := reflect.TypeFor[detailRow]().NumField()
	head := msgp.AppendArrayHeader(msgp.AppendString(nil, "i"), uint32(parts))
	at := bytes.Index(fields, head)
	if at < 0 {
		t.Fatal("the event has no detail")
	}
	end, err := msgp.Skip(fields[at+2:])
	if err != nil {
		t.Fatal(err)
	}
	stop := len(fields) - len(end)
	out := msgp.AppendArrayHeader(msgp.AppendString(bytes.Clone(fields[:at]), "i"), uint32(parts+1))
	out = append(out, fields[at+len(head):stop]...)
	return append(msgp.AppendString(out, "part"), fields[stop:]...)
}

func TestRowsOfAnOlderVersionAreRead(t *testing.T) {
	t.Parallel()
	older := msgp.AppendString(msgp.AppendMapHeader(nil, 2), "a")
	older = msgp.AppendString(older, string(lifecycle.Acked))
	older = msgp.AppendArrayHeader(msgp.AppendString(older, "i"), 1) // A detail of one part.
	older = msgp.AppendString(msgp.AppendString(msgp.AppendMapHeader(older, 1), "a"), "m")
	want := lifecycle.Event{Kind: lifecycle.Acked}
	want.Detail.MsgID = "m"
	var got lifecycle.Event
	if err := ReadEvent(&got, older); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, %v; want %+v", got, err, want)
	}
}
