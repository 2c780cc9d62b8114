//go:build unix

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// The server may run as another user than whoever makes a token: a file that it can read stays one.
func TestATokensFileKeepsItsOwnerAndMode(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "tokens.yaml")
	if _, _, err := command(t, "token", "create", "--name", "ceo", "--auth-tokens-file", name); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, 0o640); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 { // Nobody else can give a file away.
		if err := os.Chown(name, 4711, 4712); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"token", "create", "--name", "cto"}, {"token", "revoke", "ceo"}} {
		if _, _, err := command(t, append(args, "--auth-tokens-file", name)...); err != nil {
			t.Fatal(err)
		}
		after, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		was, is := before.Sys().(*syscall.Stat_t), after.Sys().(*syscall.Stat_t)
		if after.Mode() != before.Mode() || is.Uid != was.Uid || is.Gid != was.Gid {
			t.Errorf("%v: the file is of %d:%d with mode %v; it was of %d:%d with mode %v", args, is.Uid, is.Gid, after.Mode(), was.Uid, was.Gid, before.Mode())
		}
	}
}
