package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSummary(t *testing.T) {
	t.Parallel()
	const (
		pass      = `{"Action":"pass","Package":"p","Test":"TestA"}`
		fail      = `{"Action":"fail","Package":"p","Test":"TestB"}`
		skip      = `{"Action":"skip","Package":"p","Test":"TestC"}`
		pkgPass   = `{"Action":"pass","Package":"p"}`
		pkgFail   = `{"Action":"fail","Package":"p"}`
		noTests   = `{"Action":"skip","Package":"q"}`
		buildFail = `{"ImportPath":"p","Action":"build-fail"}`
	)
	tests := []struct {
		name  string
		allow string
		lines []string
		want  string
		ok    bool
	}{
		{"all pass", "", []string{pass, pkgPass, noTests}, "1 passed, 0 failed\n", true},
		{"a failing test fails its package once", "", []string{pass, fail, pkgFail}, "failed: p.TestB\n1 passed, 1 failed\n", false},
		{"a package that does not build", "", []string{pass, buildFail, pkgFail}, "failed: p\n1 passed, 1 failed\n", false},
		{"a skip that is not listed", "", []string{pass, skip}, "failed: skipped without being listed: p.TestC\n1 passed, 1 failed\n", false},
		{"a skip that is listed", "p.TestC # needs a printer\n", []string{pass, skip}, "1 passed, 0 failed, 1 skipped\n", true},
		{"nothing ran", "", nil, "0 passed, 0 failed\n", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			results := writeFile(t, strings.Join(tt.lines, "\n"))
			var out bytes.Buffer
			ok, err := run(&out, writeFile(t, tt.allow), []string{results})
			if err != nil {
				t.Fatal(err)
			}
			if out.String() != tt.want || ok != tt.ok {
				t.Errorf("got %q, %v; want %q, %v", out.String(), ok, tt.want, tt.ok)
			}
		})
	}
}

func TestBrokenResultsAreAnError(t *testing.T) {
	t.Parallel()
	if _, err := run(&bytes.Buffer{}, "", []string{writeFile(t, "panic: no JSON here")}); err == nil {
		t.Error("broken results gave no error")
	}
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
