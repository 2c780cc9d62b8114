package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"fleetglass/client"
	"fleetglass/internal/testkit"
)

// command runs a command against the server, and returns its exit code and what it printed.
func (r *running) command(args ...string) (int, string) {
	r.t.Helper()
	var out strings.Builder
	code := run(r.t.Context(), append(args, "--server", "http://"+r.Addr()), vars(), &out, &out)
	return code, out.String()
}

// A person at a terminal lists, reads and retries, once.
func TestAPersonTriagesAtATerminal(t *testing.T) {
	t.Parallel()
	r := start(t, settings(t))
	r.die("draft-7", "provider timeout \x1b[2Jafter 30 s")
	testkit.Eventually(t, patience, func() error {
		if _, text := r.command("dlq"); !strings.Contains(text, "draft-7") || !strings.Contains(text, "llm_provider_timeout") {
			return fmt.Errorf("dlq:\n%s", text)
		}
		return nil
	})
	_, dlq := r.command("dlq")
	if strings.Contains(dlq, "\x1b") {
		t.Errorf("a reason controls the terminal: %q", dlq)
	}
	if code, text := r.command("tasks", "agent:marketing"); code != 0 || !strings.Contains(text, "draft-7") {
		t.Errorf("tasks: exit code %d:\n%s", code, text)
	}
	if code, text := r.command("tasks", "agent:nobody"); code != 0 || text != "nothing found\n" {
		t.Errorf("tasks of nobody: exit code %d:\n%s", code, text)
	}
	if code, text := r.command("task", "draft-7"); code != 0 || !strings.Contains(text, "recovery") || !strings.Contains(text, "provider timeout") {
		t.Errorf("task: exit code %d:\n%s", code, text)
	}
	if code, text := r.command("in-flight"); code != 0 {
		t.Errorf("in-flight: exit code %d:\n%s", code, text)
	}
	if code, text := r.command("tasks", "--limit", "500"); code != 1 || strings.Count(text, "limit") != 1 {
		t.Errorf("too high a limit: exit code %d, said once is enough:\n%s", code, text)
	}
	_, text := r.command("dlq", "-o", "json")
	var entries client.Page[client.DeadLetter]
	if err := json.Unmarshal([]byte(text), &entries); err != nil || len(entries.Data) != 1 {
		t.Fatalf("entries: %v: %s", err, text)
	}
	for range 2 { // The same key is the same retry.
		if code, text := r.command("retry", entries.Data[0].ID, "--reason", "the provider is back", "--as", "unchanged", "--key", "one"); code != 0 || !strings.Contains(text, "succeeded") {
			t.Errorf("retry: exit code %d:\n%s", code, text)
		}
	}
	if code, text := r.command("retry", entries.Data[0].ID, "--reason", "once more"); code != 1 || strings.Contains(text, "--key") {
		t.Errorf("a second retry: exit code %d:\n%s", code, text)
	}
}

func TestCommandsSayWhyTheServerCannotBeAsked(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]string{"nowhere": "is no address", "http://127.0.0.1:1": "ask 127.0.0.1:1"} {
		var out strings.Builder
		if code := run(t.Context(), []string{"tasks", "--server", server}, vars(), &out, &out); code != 1 || !strings.Contains(out.String(), want) {
			t.Errorf("%s: exit code %d: %s", server, code, &out)
		}
	}
}

// bash itself says what the script completes.
func TestBashCompletesCommandsAndFlags(t *testing.T) {
	t.Parallel()
	var script strings.Builder
	if code := run(t.Context(), []string{"completion", "bash"}, vars(), &script, &script); code != 0 {
		t.Fatalf("exit code %d: %s", code, &script)
	}
	for _, tt := range []struct{ words, want string }{
		{"(fleetglass ta)", "tasks task"}, {"(fleetglass retry --re)", "--reason"}, {"(fleetglass token re)", "revoke"}, {"(fleetglass serve --nats-u)", "--nats-user --nats-url"},
	} {
		last := strings.Count(tt.words, " ")
		shell := exec.CommandContext(t.Context(), "bash", "-c", fmt.Sprintf("%s\nCOMP_WORDS=%s COMP_CWORD=%d; _fleetglass; echo ${COMPREPLY[@]}", &script, tt.words, last))
		got, err := shell.CombinedOutput()
		if want := strings.Fields(tt.want); err != nil || !sameWords(strings.Fields(string(got)), want) {
			t.Errorf("%s: completed %q, %v; want %q", tt.words, got, err, want)
		}
	}
}

func sameWords(a, b []string) bool {
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}
