package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fleetglass/access"
)

// command runs a command and returns what it writes for people and for files.
func command(t *testing.T, args ...string) (people, files string, err error) {
	t.Helper()
	var out, said bytes.Buffer
	l, err := load(args, vars(), &out)
	if err != nil {
		return "", "", err
	}
	err = l.context.Run(l, &terminal{out: &out, err: &said})
	return said.String(), out.String(), err
}

func TestTokensAreMadeListedAndRevoked(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "tokens.yaml")
	people, file, err := command(t, "token", "--name", "grafana", "--scopes", "metrics")
	if err != nil || !strings.Contains(people, "shown only now") {
		t.Fatalf("token: %v, %q", err, people)
	}
	if err := os.WriteFile(name, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	people, file, err = command(t, "token", "create", "--name", "ceo", "--scopes", "read,triage:apply", "--auth-tokens-file", name)
	if err != nil || file != "" {
		t.Fatalf("token create: %v, %q on standard output, want nothing", err, file)
	}
	if _, _, err = command(t, "token", "create", "--name", "agents", "--scopes", "report", "--agent", "cto,cfo", "--auth-tokens-file", name); err != nil {
		t.Fatal(err)
	}
	if _, _, err := command(t, "token", "create", "--name", "mute", "--agent", "cto", "--auth-tokens-file", name); err == nil {
		t.Error("a token that may not report is bound to an agent")
	}
	secret := regexp.MustCompile(`fg_\S+`).FindString(people)
	if _, _, err := command(t, "token", "create", "--name", "ceo", "--auth-tokens-file", name); err == nil {
		t.Error("two tokens get one name")
	}
	_, table, err := command(t, "token", "list", "--auth-tokens-file", name)
	if err != nil || strings.Contains(table, secret) || !regexp.MustCompile(`"ceo" +read, triage:apply +20\d\d-`).MatchString(table) || !strings.Contains(table, access.Hash(secret)[:12]) || !strings.Contains(table, "report, reports for cto, cfo") {
		t.Errorf("token list: %v\n%s", err, table)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 || bytes.Contains(text, []byte(secret)) {
		t.Errorf("the file has mode %v and shows the secret: %v", info.Mode(), bytes.Contains(text, []byte(secret)))
	}
	if _, _, err := command(t, "token", "revoke", "ceo", "--auth-tokens-file", name); err != nil {
		t.Fatal(err)
	}
	if _, table, _ = command(t, "token", "list", "--auth-tokens-file", name); strings.Contains(table, "ceo") || !strings.Contains(table, "grafana") {
		t.Errorf("after revoking ceo:\n%s", table)
	}
	for _, args := range [][]string{{"token", "revoke", "ceo", "--auth-tokens-file", name}, {"token", "list"}, {"token", "revoke", "x"}} {
		if _, _, err := command(t, args...); err == nil {
			t.Errorf("%v: want an error", args)
		}
	}
}

// A person who names a file that is not there yet gets it, and is told that it is new: the name may be a slip. Only the command that makes a token makes the file.
func TestTheFirstTokenMakesItsFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "tokens.yaml")
	for _, args := range [][]string{{"token", "list"}, {"token", "revoke", "ceo"}, {"tasks"}, {"serve"}} {
		if _, _, err := command(t, append(args, "--auth-tokens-file", name)...); err == nil || !strings.Contains(err.Error(), "no such file") {
			t.Errorf("%v: %v, want that there is no such file", args, err)
		}
	}
	for i, args := range [][]string{{"token", "create", "--name", "ceo"}, {"token", "--name", "cto"}} {
		if i == 1 {
			name = filepath.Join(t.TempDir(), "tokens.yaml")
		}
		people, file, err := command(t, append(args, "--auth-tokens-file", name)...)
		if err != nil || file != "" || !strings.Contains(people, name+", a new file that only its owner can read") {
			t.Fatalf("%v: %v, %q, %q on standard output; want that the file is new", args, err, people, file)
		}
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v: the file: %v, %v; want one that only its owner reads", args, info, err)
		}
	}
	people, _, err := command(t, "token", "create", "--name", "cfo", "--auth-tokens-file", name)
	if err != nil || strings.Contains(people, "new file") {
		t.Errorf("a second token: %v, %q; the file is not new", err, people)
	}
	if _, table, err := command(t, "token", "list", "--auth-tokens-file", name); err != nil || !strings.Contains(table, `"cto"`) || !strings.Contains(table, `"cfo"`) {
		t.Errorf("token list: %v\n%s", err, table)
	}
	if _, _, err := command(t, "token", "create", "--name", "ceo", "--auth-tokens-file", filepath.Join(t.TempDir(), "no", "tokens.yaml")); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("in a directory that is not there: %v, want that there is no such file", err)
	}
}
