package main

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/internal/testkit"
)

func TestATerminalGetsTextAlone(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\tb\nc": "a\tb\nc", "é – 漢": "é – 漢", "\x1b[2J\x07\r\x7f": "\uFFFD[2J\uFFFD\uFFFD\uFFFD", "\u009b31m": "\uFFFD31m", "a\x9b1mb": "a\uFFFD1mb", "\u202eabc": "\uFFFDabc",
	} {
		var whole, bytewise strings.Builder
		if n, err := (&plainWriter{to: &whole}).Write([]byte(in)); n != len(in) || err != nil {
			t.Errorf("%q: %d, %v", in, n, err)
		}
		w := &plainWriter{to: &bytewise}
		for i := range len(in) {
			_, _ = w.Write([]byte{in[i]})
		}
		if whole.String() != want || bytewise.String() != want {
			t.Errorf("%q: %q and %q, want %q", in, whole.String(), bytewise.String(), want)
		}
	}
}

// TestNoCommandPassesOrdersToTheTerminal names streams, consumers, agents, types, titles and reasons as an attacker would.
func TestNoCommandPassesOrdersToTheTerminal(t *testing.T) {
	t.Parallel()
	const orders = "\x1b]0;owned\x07\x1b[2J\u009b31m"
	broker := testkit.BareBroker(t)
	js := testkit.JetStream(t, broker)
	name := "EVIL" + orders
	stream := jetstream.StreamConfig{Name: name, Subjects: []string{"genbrain.agents.*.tasks.>"}, Description: orders}
	if _, err := js.CreateStream(t.Context(), stream); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateConsumer(t.Context(), name, jetstream.ConsumerConfig{Durable: "evil" + orders + "-task-worker", Description: orders}); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, args := range [][]string{{"provision", "--permissions"}, {"provision", "--apply"}, {"doctor", "--fail-on", "critical"}} {
		out.Reset()
		run(t.Context(), append(args, "--nats-url", broker.URL()), vars(), &out, &out)
		noOrders(t, strings.Join(args, " "), out.String())
	}

	r := start(t, settings(t))
	a := connectAgent(t, r.AgentsURL())
	msg := nats.NewMsg("genbrain.agents.evil" + orders + ".tasks.type" + orders)
	msg.Header.Set("Nats-Msg-Id", "orders-1")
	msg.Data = []byte(`{"taskId":"orders-1","payload":{"title":"\u001b[2J\u009b31m"}}`)
	if _, err := a.js.PublishMsg(t.Context(), msg); err != nil {
		t.Fatal(err)
	}
	r.die("draft-1", "a reason"+orders)
	testkit.Eventually(t, patience, func() error {
		if code, text := r.command("task", "orders-1"); code != 0 {
			return fmt.Errorf("exit code %d: %s", code, text)
		}
		return nil
	})
	for _, args := range [][]string{
		{"tasks"}, {"tasks", "-o", "json"}, {"task", "orders-1"}, {"task", "orders-1", "-o", "json"}, {"in-flight"}, {"dlq"}, {"dlq", "-o", "json"}, {"alerts"}, {"task", "no" + orders}, {"tasks", "state:" + orders},
	} {
		_, text := r.command(args...)
		noOrders(t, strings.Join(args, " "), text)
	}
}

func noOrders(t *testing.T, command, text string) {
	t.Helper()
	if text == "" {
		t.Errorf("%q prints nothing", command)
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }); i >= 0 {
		t.Errorf("%q passes a control character to the terminal: %q", command, text[max(0, i-60):min(len(text), i+20)])
	}
}
