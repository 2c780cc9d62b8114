package lifecycle

import (
	"net/url"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// filled is a filter in which one field of the struct, and nothing else, is set.
func filled(t *testing.T, i int) Filter {
	t.Helper()
	var f Filter
	switch v := reflect.ValueOf(&f).Elem().Field(i); v.Interface().(type) {
	case []State:
		f.States = []State{StateFailed}
	case []AnomalyCode:
		f.Anomalies = []AnomalyCode{AnomalyLateAck}
	case []Layer:
		f.Layers = []Layer{LayerExecution}
	case []string:
		v.Set(reflect.ValueOf([]string{"some text"}))
	case bool:
		v.SetBool(true)
	case Exclusion:
		f.Not.Words = []string{"some text"}
	case Bounds:
		v.Set(reflect.ValueOf(Bounds{Least: Bound{At: 7, Set: true, Open: true}}))
	case RunTime:
		f.Ran = RunTime{Bounds: Bounds{Most: Bound{At: 7, Set: true}}, AsOf: MicrosOf(noon)}
	case Micros:
		v.SetInt(1_700_000_000_000_000)
	case Sort:
		f.Sort = SortPublished
	default:
		t.Fatalf("no value is known for a %v: add one here", v.Type())
	}
	return f
}

// A field of the struct that no row of the table writes would be dropped from addresses, and counters would answer as if it were not asked for.
func TestEveryFieldOfAFilterHasARowInTheTable(t *testing.T) {
	t.Parallel()
	asked := map[string]bool{}
	for i := range reflect.TypeFor[Filter]().NumField() {
		f, name := filled(t, i), reflect.TypeFor[Filter]().Field(i).Name
		if name == "Messages" {
			f.Messages = []string{"TASKS:255"}
		}
		if len(f.Values()) != 1 {
			t.Errorf("%s alone is written as %v, want one parameter", name, f.Values())
			continue
		}
		for _, field := range FilterFields() {
			asked[field.Name] = asked[field.Name] || field.Asks(f)
		}
		f.normalize()
		got, err := ParseFilter(f.Values(), noon)
		if d := cmp.Diff(f, got); err != nil || d != "" {
			t.Errorf("%s does not come back from its address: %v (-want +got):\n%s", name, err, d)
		}
		if f.Query() == "" {
			t.Errorf("%s cannot be written in the search box", name)
		}
	}
	for _, field := range FilterFields() {
		if !asked[field.Name] {
			t.Errorf("%s is in the table, and no field of the struct is written so", field.Name)
		}
	}
}

func TestColumnsAreThoseOfTheFieldsThatAreAskedFor(t *testing.T) {
	t.Parallel()
	f, err := ParseFilter(url.Values{"type": {"b", "a"}, "agent": {"x"}}, noon)
	if err != nil {
		t.Fatal(err)
	}
	want := []ColumnValues{{Column: "type", Values: []string{"a", "b"}}}
	if d := cmp.Diff(want, f.Columns()); d != "" {
		t.Errorf("columns (-want +got):\n%s", d)
	}
}
