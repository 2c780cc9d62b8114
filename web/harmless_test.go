package web

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestAControlCharacterIsFoundByItsBytes holds the search by bytes to the definition by characters.
func TestAControlCharacterIsFoundByItsBytes(t *testing.T) {
	for r := rune(0); r < 0x800; r++ {
		page := []byte("a·" + string(r) + "é")
		if hasControl(page) != bytes.ContainsFunc(page, control) {
			t.Errorf("%U: found %t", r, hasControl(page))
		}
	}
	for _, cut := range []string{"\xc2", "\xc2a", "\xe2\x80", "\xf0\x9f\x98"} {
		if hasControl([]byte(cut)) {
			t.Errorf("%q: found one", cut)
		}
	}
}

// TestAPageHasNoControlCharacter sends a page through which a terminal would be told to act.
func TestAPageHasNoControlCharacter(t *testing.T) {
	got := string(harmless([]byte("one\n\ttwo\x1b[31m\u009b2J\x7f·")))
	if want := "one\n\ttwo\ufffd[31m\ufffd2J\ufffd·"; got != want || !utf8.ValidString(got) || strings.ContainsAny(got, "\x1b\x7f") {
		t.Errorf("%q, want %q", got, want)
	}
	plain := []byte("one · two\u00a0three")
	if got := harmless(plain); &got[0] != &plain[0] {
		t.Error("a page without control characters was copied")
	}
}
