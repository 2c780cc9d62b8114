package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"fleetglass/access"
	"fleetglass/internal/testkit"
)

// unmasked is the text that only a revealed payload shows.
const unmasked = "hunter2-of-the-payload"

// revealing is a program with a message that holds a secret, and a token for each role.
func revealing(t *testing.T, args ...string) (*running, map[string]string) {
	t.Helper()
	secrets := map[string]string{}
	var entries []access.Token
	for _, role := range access.Roles() {
		text, entry := access.NewToken(string(role), role.Scopes(), time.Time{})
		secrets[string(role)], entries = text, append(entries, entry)
	}
	r := start(t, settings(t, append(args, "--auth-tokens-file", writeTokens(t, entries...))...))
	connectAgent(t, r.AgentsURL()).publish("private-2", fmt.Sprintf(`{"taskId":"private-2","db_password":%q,"note":"seen"}`, unmasked))
	testkit.Eventually(t, patience, func() error {
		return r.asks(http.MethodGet, "/api/v1/tasks/private-2/payload", secrets["viewer"], "", 200, nil)
	})
	return r, secrets
}

// reveals asks for the payload by call and by form, and returns the statuses and what was shown.
func (r *running) reveals(token, reason string) (statuses [2]int, shown string) {
	r.t.Helper()
	call, form := with(token), with(token)
	call.Set("Content-Type", "application/json")
	call.Set("Idempotency-Key", "the-same")
	form.Set("Content-Type", "application/x-www-form-urlencoded")
	form.Set("Origin", "http://"+r.Addr())
	for i, answer := range []*http.Response{
		r.request(http.MethodPost, "/api/v1/tasks/private-2/payload/reveal", call, strings.NewReader(fmt.Sprintf(`{"reason":%q}`, reason))),
		r.request(http.MethodPost, "/payload", form, strings.NewReader(url.Values{"message": {"TASKS:1"}, "task": {"private-2"}, "reason": {reason}}.Encode())),
	} {
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			r.t.Fatal(err)
		}
		if answer.StatusCode == 200 && answer.Header.Get("Cache-Control") != "no-store" || answer.Header.Get("Idempotency-Replayed") != "" {
			r.t.Errorf("an answer that is kept: %v", answer.Header)
		}
		statuses[i] = answer.StatusCode
		shown += string(text)
	}
	return statuses, shown
}

func TestAPayloadIsRevealedToTheRoleForAReasonThatTheAuditKeeps(t *testing.T) {
	t.Parallel()
	r, secrets := revealing(t, "--masking-reveal", "triager", "--read-only")
	for _, tt := range []struct {
		role, reason string
		want         int
	}{{"viewer", "I am curious", 403}, {"triager", "", 400}, {"triager", "the customer asked", 200}, {"admin", "the auditor asked", 200}} {
		got, shown := r.reveals(secrets[tt.role], tt.reason)
		if got != [2]int{tt.want, tt.want} || strings.Count(shown, unmasked) != map[bool]int{true: 2}[tt.want == 200] {
			t.Errorf("%s for %q: %v: %s", tt.role, tt.reason, got, shown)
		}
		page, _ := io.ReadAll(r.request(http.MethodGet, "/tasks/private-2?tab=payload", with(secrets[tt.role]), nil).Body)
		if offered := strings.Contains(string(page), `id="reveal"`); offered != (tt.role != "viewer") || strings.Contains(string(page), unmasked) {
			t.Errorf("%s is offered the form: %t", tt.role, offered)
		}
	}
	header := with(secrets["admin"])
	header.Set("Accept", "text/csv")
	text, _ := io.ReadAll(r.request(http.MethodGet, "/api/v1/audit?action=reveal-payload", header, nil).Body)
	audit := string(text)
	for want, n := range map[string]int{
		",reveal-payload,message TASKS:1,allowed,the customer asked": 2, ",reveal-payload,message TASKS:1,allowed,the auditor asked": 2,
		",reveal-payload,message TASKS:1,denied,Payloads are shown": 2, ",viewer,": 2, unmasked: 0,
	} {
		if strings.Count(audit, want) < n || n == 0 && strings.Contains(audit, want) || strings.Count(audit, "\n") != 7 {
			t.Errorf("the audit has %q %d times, want %d: %s", want, strings.Count(audit, want), n, audit)
		}
	}
	for _, path := range []string{"/tasks?q=private", "/api/v1/tasks", "/api/v1/tasks/private-2/payload", "/api/v1/tasks/private-2/events", "/payload?message=TASKS:1", "/metrics", "/api/v1/audit", "/audit"} {
		shown, _ := io.ReadAll(r.request(http.MethodGet, path, with(secrets["admin"]), nil).Body)
		if strings.Contains(string(shown), unmasked) {
			t.Errorf("%s shows it too", path)
		}
	}
}

func TestNobodyRevealsUnlessTheSettingsSayWho(t *testing.T) {
	t.Parallel()
	r, secrets := revealing(t)
	if got, shown := r.reveals(secrets["admin"], "the auditor asked"); got != [2]int{403, 403} || strings.Contains(shown, unmasked) || !strings.Contains(shown, "masking-reveal") {
		t.Errorf("an administrator: %v: %s", got, shown)
	}
	for args, want := range map[string]string{"--masking-reveal=viewer": "needs authentication", "--masking-reveal=king --token=fg_kP0vN3p1Zr8Q0m2Yx7w5t4s6u9aBcDeFgHiJk": "is not one of"} {
		if _, err := load(strings.Fields(args), vars(), io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func TestMaskingRulesAreFollowed(t *testing.T) {
	t.Parallel()
	rules := writeFile(t, "masking.yaml", "fields: [note]\n")
	r := start(t, settings(t, "--masking-rules", rules))
	connectAgent(t, r.AgentsURL()).publish("followed-1", `{"taskId":"followed-1","note":"first-text","other":"second-text"}`)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(rules, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	shows := func(first, second bool, health string) {
		t.Helper()
		testkit.Eventually(t, patience, func() error {
			var shown struct{ Body string }
			if err := r.get("/api/v1/tasks/followed-1/payload", &shown); err != nil {
				return err
			}
			var ready struct {
				Parts []struct{ Name, State, Detail string }
			}
			if err := r.get("/readyz", &ready); err != nil {
				return err
			}
			if strings.Contains(shown.Body, "first-text") != first || strings.Contains(shown.Body, "second-text") != second || !strings.Contains(fmt.Sprint(ready), health) {
				return fmt.Errorf("%s, %+v", shown.Body, ready)
			}
			return nil
		})
	}
	shows(false, true, "{masking rules ok }")
	write("fields: [other]\n")
	shows(true, false, "{masking rules ok }")
	for _, wrong := range []string{"fields: [", "", "patterns: [{name: all, regexp: '.*'}]\n", "felds: [a]\n"} {
		write(wrong)
		shows(true, false, "what was in force before stays in force")
		write("fields: [other]\n")
		shows(true, false, "{masking rules ok }")
	}
	if err := os.Remove(rules); err != nil {
		t.Fatal(err)
	}
	shows(true, false, "what was in force before stays in force")
}
