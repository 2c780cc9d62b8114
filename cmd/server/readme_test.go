package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the table of settings in README.md anew")

const (
	readmePath    = "../../README.md"
	settingsBegin = "<!-- settings: written by make generate -->\n"
	settingsEnd   = "<!-- /settings -->\n"
)

// settingsTable is the table as README.md must have it.
func settingsTable(t *testing.T) string {
	t.Helper()
	l, err := load(nil, vars(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| setting | default | |\n|---|---|---|\n")
	for _, f := range l.context.Model.Flags {
		if !isSetting(f) {
			continue
		}
		standard := ""
		if f.Default != "" {
			standard = "`" + f.Default + "`"
		}
		fmt.Fprintf(&b, "| `--%s` | %s | %s |\n", f.Name, standard, strings.ReplaceAll(f.Help, "|", `\|`))
	}
	return b.String()
}

func TestREADMEListsEverySetting(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(readmePath)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), settingsBegin)
	got, after, closed := strings.Cut(rest, settingsEnd)
	if !found || !closed {
		t.Fatalf("README.md lacks the marks %q and %q", settingsBegin, settingsEnd)
	}
	want := settingsTable(t)
	if *update {
		if err := os.WriteFile(readmePath, []byte(before+settingsBegin+want+settingsEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the table of settings in README.md is not what the program knows; run make generate (-want +got):\n%s", diff)
	}
}
