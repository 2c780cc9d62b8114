package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

func TestTheHelpOfACommandListsTheSettingsThatItUses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ command, has, lacks string }{
		{"tasks", "--limit --config --listen --token", "--demo --nats-url --oidc-issuer"},
		{"provision", "--apply --nats-url --prefix --dlq-per-agent", "--demo --listen --database-url"},
		{"rebuild", "--data-dir --database-url", "--nats-url --listen"},
		{"token create", "--name --auth-tokens-file 365d", "--nats-url --listen"},
		{"version", "--help", "--config"},
		{"serve", "--demo --nats-url --oidc-issuer --log-level", ""},
	} {
		var out bytes.Buffer
		if code := run(t.Context(), append(strings.Fields(tc.command), "--help"), vars(), &out, io.Discard); code != 0 {
			t.Errorf("%s: exit code %d", tc.command, code)
		}
		flags := map[string]bool{}
		for _, word := range strings.FieldsFunc(out.String(), func(r rune) bool { return strings.ContainsRune(" \n=[.,;", r) }) {
			flags[word] = true
		}
		for _, want := range strings.Fields(tc.has) {
			if !flags[want] {
				t.Errorf("the help of %s lacks %s:\n%s", tc.command, want, &out)
			}
		}
		for _, not := range strings.Fields(tc.lacks) {
			if flags[not] {
				t.Errorf("the help of %s lists %s, which it does not use:\n%s", tc.command, not, &out)
			}
		}
	}
}

func TestTheSettingsThatACommandUsesExist(t *testing.T) {
	t.Parallel()
	l, err := load(nil, vars(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"": true}
	for _, flag := range l.context.Model.Flags {
		if isSetting(flag) {
			known[flag.Name], known[flag.Group.Key] = true, true
		}
	}
	_ = kong.Visit(l.context.Model, func(node kong.Visitable, next kong.Next) error {
		if command, ok := node.(*kong.Command); ok {
			used, _ := settingsOf(command)
			for _, name := range used {
				if !known[name] {
					t.Errorf("%s uses %q, which is neither a setting nor a group", command.Name, name)
				}
			}
		}
		return next(nil)
	})
}
