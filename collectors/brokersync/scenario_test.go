package brokersync

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fleetglass/lifecycle"
)

var update = flag.Bool("update", false, "write the expected parts of the scenario files anew")

// A scenario file has lines that make a broker and a store polls among them, a line of dashes, and what
// each poll must say. The directives are described in testdata/scenarios/README.md.
func TestScenariosSayWhatIsProvedAndNothingElse(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenario files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			given, want, _ := strings.Cut(string(text), "\n---\n")
			got := play(t, given, inOrder{})
			if *update {
				if err := os.WriteFile(file, []byte(given+"\n---\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
				want = got
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s (-want +got):\n%s", file, d)
			}
			for seed := range uint64(40) {
				if d := cmp.Diff(got, play(t, given, shuffled{rand.New(rand.NewPCG(seed, 1))})); d != "" {
					t.Fatalf("in another order, seed %d (-want +got):\n%s", seed, d)
				}
			}
		})
	}
}

// order is the order of what must not matter: the consumers in an observation, the open messages in an answer, the answers.
type order interface {
	shuffle(n int, swap func(i, j int))
	// some is how many of n questions are answered before the next step.
	some(n int) int
}

type inOrder struct{}

func (inOrder) shuffle(int, func(i, j int)) {}
func (inOrder) some(n int) int              { return n }

type shuffled struct{ r *rand.Rand }

func (s shuffled) shuffle(n int, swap func(i, j int)) { s.r.Shuffle(n, swap) }
func (s shuffled) some(n int) int                     { return 1 + s.r.IntN(n) }

// play runs the polls of a scenario and returns what they say. Each poll is repeated until it says nothing more: nothing may be said
// twice, and a synchronizer that has just started may have nothing to add. One that looked some time before it asks is not: the next one looks again.
func play(t *testing.T, given string, o order) string {
	t.Helper()
	w := newWorld()
	said := &strings.Builder{}
	for i, line := range strings.Split(given, "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		poll, err := w.apply(line)
		if err != nil {
			t.Fatalf("line %d %q: %v", i+1, line, err)
		}
		if !poll {
			continue
		}
		fmt.Fprintln(said, line)
		quiet := 0
		for n := 0; quiet < 2; n++ {
			next, batch := stepAll(t, w, w.states[w.replica], o)
			w.states[w.replica] = next
			text := w.render(batch)
			if quiet++; text != "" {
				quiet = 0
			}
			if said.WriteString(text); n > 50 {
				t.Fatalf("a poll does not come to an end:\n%s", said)
			}
			if w.store(t, batch); w.slow {
				break
			}
		}
		if w.slow {
			continue
		}
		if _, batch := stepAll(t, w, NewState(w.consumersStored()), o); w.render(batch) != "" {
			t.Fatalf("%s: a synchronizer that has just started adds\n%s", line, w.render(batch))
		}
	}
	return said.String()
}

// stepAll answers questions and steps until none is left. Stepping again with the same arguments must give the same.
func stepAll(t *testing.T, w *world, s State, o order) (State, lifecycle.Batch) {
	t.Helper()
	seen, facts := w.observe(o, s.Sweep.Cursor), NewFacts()
	for range 1000 {
		next, batch, questions := w.rules.Step(s, seen, facts)
		again, batchAgain, _ := w.rules.Step(s, seen, facts)
		if !reflect.DeepEqual(next, again) || !reflect.DeepEqual(batch, batchAgain) {
			t.Fatalf("the same step gives something else:\n%+v\n%+v\n%+v\n%+v", next, again, batch, batchAgain)
		}
		if questions.None() {
			return next, batch
		}
		w.answer(questions, &facts, o)
	}
	t.Fatal("questions without end")
	return s, lifecycle.Batch{}
}
