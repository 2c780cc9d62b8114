package brokersync

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// shown is what may differ of an event where Fleetglass starts again: when something was seen first, how exactly that is known, and in which words it is told.
var shown = regexp.MustCompile(` @\S+| exact| ".*"| basis=\S+ deadline=\S+-or-before| \S+\.\.\S+`)

// deadline is what who starts again may know less exactly.
var deadline = regexp.MustCompile(` basis=\S+ deadline=\S+`)

// weaker are the parts of a claim in the place of which who starts again may say less: it may not know how a message came to lie there.
var weaker = strings.NewReplacer("max_deliveries", "stranded")

// strandedAt is how many attempts were known of a message as its consumer was seen to be past it: who starts again may know fewer.
var strandedAt = regexp.MustCompile(`^(stranded \d+) n=\d+`)

// removed is who removed a message: who starts again was not there, and may not know which limits the stream had.
var removed = regexp.MustCompile(` by=\S+`)

// A synchronizer that starts again before any poll of a scenario knows less than one that goes on. It may say less, later, and less exactly, but nothing that
// the other does not say.
func TestWhoStartsAgainSaysNothingElse(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenario files: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		given, _, _ := strings.Cut(string(text), "\n---\n")
		lines := strings.Split(given+later(given), "\n")
		goesOn := claims(play(t, strings.Join(lines, "\n"), inOrder{}))
		for claim := range maps.Clone(goesOn) {
			for _, less := range []string{
				weaker.Replace(claim), strandedAt.ReplaceAllString(claim, "$1"), deadline.ReplaceAllString(claim, ""), removed.ReplaceAllString(claim, " by=deleted"), removed.ReplaceAllString(claim, " by=unwatched"),
			} {
				goesOn[less] = true
			}
		}
		for i, line := range strings.Split(given, "\n") {
			if !strings.HasPrefix(line, "poll ") {
				continue
			}
			again := append(append(append([]string(nil), lines[:i]...), "starts-again"), lines[i:]...)
			for claim := range claims(play(t, strings.Join(again, "\n"), inOrder{})) {
				if !goesOn[claim] && !goesOn[strandedAt.ReplaceAllString(claim, "$1")] {
					t.Errorf("%s: who starts again before %q says %q", filepath.Base(file), line, claim)
				}
			}
		}
	}
}

// later are polls after those of a scenario, with all lines stored: what was said late is said in the end.
func later(given string) string {
	var last time.Duration
	for _, line := range strings.Split(given, "\n") {
		if at, poll := strings.CutPrefix(line, "poll "); poll {
			last, _ = time.ParseDuration(at)
		}
	}
	polls := "\nstored-up-to 10h"
	for n := range 4 {
		polls += fmt.Sprintf("\npoll %s", last+time.Duration(n+1)*10*time.Second)
	}
	return polls
}

// claims are the different things that polls say.
func claims(said string) map[string]bool {
	out := map[string]bool{}
	for _, line := range strings.Split(said, "\n") {
		if event, is := strings.CutPrefix(line, "  "); is {
			out[shown.ReplaceAllString(event, "")] = true
		}
	}
	return out
}
