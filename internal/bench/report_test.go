package bench

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestARatioIsTheMedianOfThePairs(t *testing.T) {
	t.Parallel()
	r := Ratio("a", "", "x/s", []float64{10, 30, 20}, []float64{100, 100, 50}, &Ruler{Floor: 0.3, Goal: 0.5})
	if *r.Ratio != 0.3 || r.Value != 20 || *r.Baseline != 100 || !*r.Met || *r.GoalMet || r.Judged != "ratio" {
		t.Errorf("got %+v", r)
	}
}

func TestWhereLessIsBetterTheFloorIsAnUpperBound(t *testing.T) {
	t.Parallel()
	r := Value("a", "", "ms", []float64{90, 110}, &Ruler{Floor: 300, Goal: 90, Lower: true})
	if r.Value != 100 || !*r.Met || *r.GoalMet || r.Higher {
		t.Errorf("got %+v", r)
	}
	if got := Value("b", "", "ms", []float64{301}, &Ruler{Floor: 300, Goal: 90, Lower: true}).verdict(); got != "no" {
		t.Errorf("verdict %q, want no", got)
	}
}

func TestQuantilesAreFiguresThatWereMeasured(t *testing.T) {
	t.Parallel()
	var all []float64
	for i := range 100 {
		all = append(all, float64(100-i))
	}
	for q, want := range map[float64]float64{0: 1, 0.5: 50, 0.99: 99, 1: 100} {
		if got := Quantile(all, q); got != want {
			t.Errorf("quantile %v: got %v, want %v", q, got, want)
		}
	}
}

func TestReportsReadBackAndCompare(t *testing.T) {
	t.Parallel()
	before := Report{Schema: 1, Commit: "old", Form: "quick", Results: []Result{
		Ratio("ingest", "", "x/s", []float64{10, 12}, []float64{100, 100}, nil), Value("gone", "", "ms", []float64{5}, nil),
	}}
	path := filepath.Join(t.TempDir(), "old.json")
	if err := WriteReport(path, before); err != nil {
		t.Fatal(err)
	}
	read, err := ReadReport(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, read); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	after := Report{Schema: 1, Commit: "new", Form: "quick", Results: []Result{
		Ratio("ingest", "", "x/s", []float64{22, 22}, []float64{100, 100}, nil), Value("added", "", "ms", []float64{7}, nil),
	}}
	var out strings.Builder
	if err := WriteComparison(&out, read, after); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ingest  0.110   0.220  +100.0 %", "added   -       7.00   new", "gone    5.00    -      not measured"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}

func TestAFileOfAnotherSchemaIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.json")
	if err := WriteReport(path, Report{Schema: 2}); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadReport(path); err == nil || !strings.Contains(err.Error(), "schema 2") {
		t.Errorf("got %v, want an error that names the schema", err)
	}
}
