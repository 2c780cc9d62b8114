package access

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
	got, err := ReadTokens(write(t, string(file)))
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
		"":           "no tokens",
		"tokens: []": "no tokens",
		"tokens: [{sha256: " + hash + ", scopes: [read]}]":                                                    "name is missing",
		"tokens: [{name: a, sha256: abc, scopes: [read]}]":                                                    "not the hexadecimal hash",
		"tokens: [{name: a, sha256: " + hash + "}]":                                                           "scopes are missing",
		"tokens: [{name: a, sha256: " + hash + ", role: boss}]":                                               `"boss" is not a role`,
		"tokens: [{name: a, sha256: " + hash + ", scopes: [open]}]":                                           `"open" is not a scope`,
		"tokens: [{name: a, sha256: " + hash + ", scopes: [root]}]":                                           `"root" is not a scope`,
		"tokens: [{name: a, token: secret, scopes: [read]}]":                                                  "unknown field",
		"tokens: [{name: a, sha256: &h " + hash + ", scopes: [read]}, {name: a, sha256: *h, scopes: [read]}]": "twice",
	} {
		if _, err := ReadTokens(write(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ReadTokens(%q): got %v, want an error with %q", text, err, want)
		}
	}
	if _, err := ReadTokens(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("a missing file gave no error")
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "tokens.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
