package access

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func TestTheTokensFile(t *testing.T) {
	t.Parallel()
	text, entry := NewToken("grafana", []Scope{Read, TriagePropose}, noon)
	if !strings.HasPrefix(text, "fg_") || len(text) != 46 {
		t.Errorf("token %q: want fg_ and 43 characters", text)
	}
	file, err := Marshal(entry)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(file), text) {
		t.Errorf("the file shows the token:\n%s", file)
	}
	got, err := ParseTokens(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Token{entry}, got); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
}

func TestBadTokensFilesAreRefused(t *testing.T) {
	t.Parallel()
	hash := Hash("x")
	for text, want := range map[string]string{
		"":          "no tokens",
		"# nothing": "no tokens",
		"tokens: [{sha256: " + hash + ", scopes: [read]}]":                                                    "name is missing",
		"tokens: [{name: a, sha256: abc, scopes: [read]}]":                                                    "not the hexadecimal hash",
		"tokens: [{name: a, sha256: " + hash + "}]":                                                           "scopes are missing",
		"tokens: [{name: a, sha256: " + hash + ", role: boss}]":                                               `"boss" is not a role`,
		"tokens: [{name: a, sha256: " + hash + ", scopes: [open]}]":                                           `"open" is not a scope`,
		"tokens: [{name: a, sha256: " + hash + ", scopes: [root]}]":                                           `"root" is not a scope`,
		"tokens: [{name: a, sha256: " + hash + ", scopes: [read], agents: [cto]}]":                            "scope report",
		"tokens: [{name: a, sha256: " + hash + ", scopes: [report], agents: [cto, c.t]}]":                     `"c.t" is not the name`,
		"tokens: [{name: a, sha256: " + hash + ", scopes: [report], agents: [\"\"]}]":                         `"" is not the name`,
		"tokens: [{name: a, sha256: " + hash + ", scopes: [report], agents: [cto, cto]}]":                     "there twice",
		"tokens: [{name: a, token: secret, scopes: [read]}]":                                                  "unknown field",
		"tokens: [{name: a, sha256: &h " + hash + ", scopes: [read]}, {name: a, sha256: *h, scopes: [read]}]": "twice",
	} {
		if _, err := ParseTokens([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseTokens(%q): got %v, want an error with %q", text, err, want)
		}
	}
}

func TestAFileMayHoldNoTokenAnyMore(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"tokens: []", "tokens:\n"} {
		if got, err := ParseTokens([]byte(text)); err != nil || len(got) > 0 {
			t.Errorf("ParseTokens(%q): got %v, %v; want none, and no error", text, got, err)
		}
	}
}

func TestTokensComeIntoTheFileAndLeaveIt(t *testing.T) {
	t.Parallel()
	_, ann := NewToken("ann", []Scope{Read}, time.Time{})
	_, bob := NewToken("bob", []Scope{Report}, noon)
	file, err := AddToken(nil, ann)
	if err != nil {
		t.Fatal(err)
	}
	if file, err = AddToken(file, bob); err != nil {
		t.Fatal(err)
	}
	if _, err := AddToken(file, ann); err == nil || !strings.Contains(err.Error(), `named "ann"`) {
		t.Errorf("the same name again: got %v", err)
	}
	if _, err := RemoveToken(file, "eve"); err == nil || !strings.Contains(err.Error(), `no token named "eve"`) {
		t.Errorf("an unknown name: got %v", err)
	}
	for i, want := range [][]Token{{bob}, nil} {
		if file, err = RemoveToken(file, []string{"ann", "bob"}[i]); err != nil {
			t.Fatal(err)
		}
		got, err := ParseTokens(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("after removal %d (-want +got):\n%s", i+1, diff)
		}
	}
	if _, err := AddToken([]byte("tokens: [{name: a}]"), ann); err == nil {
		t.Error("a damaged file is written over")
	}
}
