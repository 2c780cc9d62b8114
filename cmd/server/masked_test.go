package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"fleetglass/internal/testkit"
)

// hidden are the texts that nobody may see, each in another place of a message.
var hidden = map[string]string{
	"a field": "hunter2-in-a-field", "a header": "hunter2-in-a-header", "a title": "sk-abcdefghijklmnopqrstuvwxTITLE", "a reason": "ghp_abcdefghijklmnopqrstuvwxyz012REASON",
	"a path of the rules": "ada-of-the-rules", "a field of the rules": "078-05-1120",
}

func TestSecretsOfAMessageAreShownNowhereAndSentAgain(t *testing.T) {
	t.Parallel()
	rules := filepath.Join(t.TempDir(), "masking.yaml")
	if err := os.WriteFile(rules, []byte("fields: [\"*_ssn\"]\npaths: [$.payload.customer.name]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, settings(t, "--masking-rules", rules))
	a := connectAgent(t, r.AgentsURL())
	body := fmt.Sprintf(`{"taskId":"private-1","type":"code_review","payload":{"title":"Use %s","db_password":%q,"us_ssn":%q,"customer":{"name":%q},"token_budget":1234567}}`,
		hidden["a title"], hidden["a field"], hidden["a field of the rules"], hidden["a path of the rules"])
	msg := nats.NewMsg("genbrain.agents.backend.tasks.code_review")
	msg.Header.Set("Nats-Msg-Id", "private-1")
	msg.Header.Set("Authorization", hidden["a header"])
	msg.Data = []byte(body)
	if _, err := a.js.PublishMsg(t.Context(), msg); err != nil {
		t.Fatal(err)
	}
	a.do(a.take().TermWithReason("401 for " + hidden["a reason"]))

	entry := ""
	testkit.Eventually(t, patience, func() error {
		var list struct{ Data []struct{ ID string } }
		if err := r.get("/api/v1/dlq?q=private-1", &list); err != nil || len(list.Data) != 1 {
			return fmt.Errorf("%d dead letters, %w", len(list.Data), err)
		}
		entry = list.Data[0].ID
		return nil
	})
	posts := 0
	post := func(path, contentType, text string) string {
		posts++
		header := http.Header{"Content-Type": {contentType}, "Idempotency-Key": {fmt.Sprint("key-", posts)}, "Accept": {"application/json, text/event-stream, text/html"}, "Origin": {"http://" + r.Addr()}}
		shown, err := io.ReadAll(r.request(http.MethodPost, path, header, strings.NewReader(text)).Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(shown)
	}
	exits := map[string]string{}
	for _, path := range []string{
		"/", "/tasks", "/dlq", "/dlq/" + url.PathEscape(entry), "/tasks/private-1", "/tasks/private-1?tab=events", "/tasks/private-1?tab=payload", "/tasks/private-1?tab=json", "/tasks/private-1?tab=related",
		"/payload?message=" + url.QueryEscape(entry), "/api/v1/tasks", "/api/v1/tasks/private-1", "/api/v1/tasks/private-1/events", "/api/v1/tasks/private-1/payload", "/api/v1/tasks/private-1/report",
		"/api/v1/dlq", "/api/v1/dlq/" + url.PathEscape(entry), "/api/v1/dlq/groups?by=fingerprint", "/api/v1/triage/suggested-rules", "/api/v1/quarantine",
	} {
		text, err := io.ReadAll(r.request(http.MethodGet, path, nil, nil).Body)
		if err != nil {
			t.Fatal(err)
		}
		exits[path] = string(text)
	}
	actions := "/api/v1/dlq/" + url.PathEscape(entry) + "/actions"
	edited := `{"action":"retry","reason":"the key is new","dry_run":true,"params":{"as":"edited","force":true,"force_reason":"a test","payload":{"a":1}}}`
	exits["a preview"] = post(actions, "application/json", `{"action":"retry","reason":"the key is new","dry_run":true,"params":{"as":"unchanged","force":true,"force_reason":"a test"}}`)
	exits["a difference"] = post(actions, "application/json", edited)
	exits["a preview on a page"] = post("/dlq/"+url.PathEscape(entry), "application/x-www-form-urlencoded", "action=retry&as=unchanged&reason=the+key+is+new")
	exits["a tool"] = post("/mcp", "application/json", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_dlq_entry","arguments":{"id":"`+entry+`"}}}`)
	exits["another tool"] = post("/mcp", "application/json", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_trace","arguments":{"task_id":"private-1"}}}`)
	for exit, text := range exits {
		for place, secret := range hidden {
			if strings.Contains(text, secret) {
				t.Errorf("%s shows %s", exit, place)
			}
		}
	}
	for _, exit := range []string{"/api/v1/tasks/private-1/payload", "/tasks/private-1?tab=payload", "a preview", "a tool", "a difference"} {
		if !strings.Contains(exits[exit], "[masked]") || !strings.Contains(exits[exit], "1234567") {
			t.Errorf("%s does not show what may be seen: %.600s", exit, exits[exit])
		}
	}

	if refused := post(actions, "application/json", strings.Replace(strings.Replace(edited, `"dry_run":true,`, "", 1), `{"a":1}`, `{"db_password":"[masked]"}`, 1)); !strings.Contains(refused, "/body/params/payload") {
		t.Errorf("a payload with what stands for a secret: %s", refused)
	}
	r.retry(entry, "send-it-again")
	again := a.take()
	if string(again.Data()) != body || again.Headers().Get("Authorization") != hidden["a header"] {
		t.Errorf("the worker gets another message: %s %v", again.Data(), again.Headers())
	}
}

func TestMaskingCanBeTurnedOffAndItsRulesAreChecked(t *testing.T) {
	t.Parallel()
	r := start(t, settings(t, "--masking", "off"))
	a := connectAgent(t, r.AgentsURL())
	a.publish("open-1", `{"taskId":"open-1","password":"hunter2"}`)
	testkit.Eventually(t, patience, func() error {
		var shown struct{ Body string }
		if err := r.get("/api/v1/tasks/open-1/payload", &shown); err != nil {
			return err
		}
		if !strings.Contains(shown.Body, "hunter2") {
			return fmt.Errorf("the body is %s", shown.Body)
		}
		return nil
	})
	wrong := filepath.Join(t.TempDir(), "masking.yaml")
	if err := os.WriteFile(wrong, []byte("patterns: [{name: all, regexp: '.*'}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	args := []string{"--masking-rules", wrong, "--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0", "--data-dir", t.TempDir()}
	if code := run(t.Context(), args, vars(), &out, &out); code == 0 || !strings.Contains(out.String(), `"all" matches the empty text`) {
		t.Errorf("code %d: %s", code, &out)
	}
}
