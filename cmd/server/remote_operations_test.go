package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fleetglass/client"
	"fleetglass/internal/testkit"
)

// A person at a terminal takes back what was done to many, and is told where there is nothing to cancel or to take back.
func TestAPersonUndoesAnOperationAtATerminal(t *testing.T) {
	t.Parallel()
	r := start(t, settings(t))
	r.die("draft-7", "provider timeout after 30 s")
	var entries client.Page[client.DeadLetter]
	testkit.Eventually(t, patience, func() error {
		_, text := r.command("dlq", "-o", "json")
		if err := json.Unmarshal([]byte(text), &entries); err != nil || len(entries.Data) != 1 {
			return fmt.Errorf("entries: %w: %s", err, text)
		}
		return nil
	})
	server, err := client.New(client.Config{Server: "http://" + r.Addr()})
	if err != nil {
		t.Fatal(err)
	}
	done, err := server.ActOnMany(t.Context(), client.ManyAction{
		Action: client.Action{Action: "discard", Reason: "the wrong filter", Params: map[string]any{"because": "obsolete"}}, Selector: client.ManySelector{IDs: []string{entries.Data[0].ID}},
	}, "many")
	if err != nil {
		t.Fatal(err)
	}
	if done, err = follow(t.Context(), server, done, patience); err != nil || done.Counts.Done != 1 {
		t.Fatalf("%+v: %v", done, err)
	}
	if code, text := r.command("cancel", done.ID); code != 1 || !strings.Contains(text, "had ended already (succeeded)") || !strings.Contains(text, "nothing was cancelled") {
		t.Errorf("cancelling what has ended: exit code %d:\n%s", code, text)
	}
	if code, text := r.command("undo", done.ID, "--reason", "the wrong filter", "--dry-run"); code != 0 || !strings.Contains(text, "can be taken back  1") {
		t.Errorf("dry run: exit code %d:\n%s", code, text)
	}
	for range 2 { // The same key is the same undo.
		if code, text := r.command("undo", done.ID, "--reason", "the wrong filter", "--key", "one"); code != 0 || !strings.Contains(text, "succeeded") || !strings.Contains(text, "taken back  1") {
			t.Errorf("undo: exit code %d:\n%s", code, text)
		}
	}
	if code, text := r.command("dlq"); code != 0 || !strings.Contains(text, "draft-7") {
		t.Errorf("the entry is not open again: exit code %d:\n%s", code, text)
	}
	if code, text := r.command("undo", done.ID, "--reason", "once more"); code != 1 || !strings.Contains(text, "nothing of operation "+done.ID) {
		t.Errorf("a second undo: exit code %d:\n%s", code, text)
	}
	if code, text := r.command("undo", "op-none", "--reason", "no such one"); code != 1 || !strings.Contains(text, "There is no operation") {
		t.Errorf("undoing none: exit code %d:\n%s", code, text)
	}
}

// Counts that lack what was acted on just now say so, also of an operation that was cancelled meanwhile.
func TestATerminalSaysThatAnOperationIsStillBeingCounted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ status, counting, want, not string }{
		{"running", "true", "running, counting", ""},
		{"cancelled", "true", "cancelled, counting", "nothing of operation"},
		{"cancelled", "false", "cancelled", "counting"},
	} {
		operation := `{"id":"op-1","action":"discard","status":"` + tt.status + `","counting":` + tt.counting + `,"created_at":"2026-01-02T03:04:05Z","counts":{"selected":900}}`
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			answer := operation
			if r.Method == http.MethodGet && r.URL.Path == "/api/v1/operations" {
				answer = `{"data":[` + operation + `],"page":{"next":null},"as_of":"2026-01-02T03:04:06Z","gaps":[]}`
			}
			_, _ = io.WriteString(w, answer)
		}))
		for _, command := range [][]string{{"operations"}, {"undo", "op-0", "--reason", "the wrong filter", "--wait", "0s"}} {
			var out strings.Builder
			run(t.Context(), append(command, "--server", server.URL), vars(), &out, &out)
			if !strings.Contains(out.String(), tt.want) || tt.not != "" && strings.Contains(out.String(), tt.not) {
				t.Errorf("%s of one that is %s, counting %s: want %q and not %q:\n%s", command[0], tt.status, tt.counting, tt.want, tt.not, &out)
			}
		}
		server.Close()
	}
}
