package api

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fleetglass/dlqtriage"
)

// post sends JSON and expects success and an answer that the document describes.
func post[T any](f *fixture, target, body string) T {
	f.t.Helper()
	a := f.do(http.MethodPost, target, body, "Content-Type", "application/json")
	if a.status != http.StatusOK {
		f.t.Fatalf("POST %s %s: %d %s", target, body, a.status, a.body)
	}
	f.conforms(reflect.TypeFor[T](), a.body)
	return parse[T](f.t, a.body)
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	for body, want := range map[string]PreflightAnswer{
		`{"agent":"marketing","estimated_tokens":10}`: {"ok", 10, 180_000, "it fits", "claude-sonnet-4-5"},
		`{"model":"gpt-5","estimated_tokens":120001}`: {"warn", 120_001, 150_000, "120001 of 150000 tokens are used before the work begins: leave out what is not needed", "gpt-5"},
		`{"model":"gpt-5","estimated_tokens":240000}`: {"refuse", 240_000, 150_000, "split into 3 subtasks or compress", "gpt-5"},
		`{"model":"gpt-5","payload":"hello world"}`:   {"ok", 2, 150_000, "it fits", "gpt-5"},
		`{"model":"gpt-5","payload":{"a":[1,"b"]}}`:   {"ok", 8, 150_000, "it fits", "gpt-5"},
		`{"agent":"a","model":"b","payload":""}`:      {"ok", 0, 150_000, "it fits", "b"},
	} {
		if diff := cmp.Diff(want, post[PreflightAnswer](f, "/api/v1/preflight", body)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
	long := strings.Repeat("lorem ipsum dolor ", 50_000)
	if got := post[PreflightAnswer](f, "/api/v1/preflight", `{"agent":"marketing","payload":"`+long+`"}`); got.Verdict == "ok" || got.EstimatedTokens < 100_000 {
		t.Errorf("a long text: %+v", got)
	}
}

func TestAPreflightThatSaysTooLittleIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	for body, pointer := range map[string]string{
		``: "/body", `[]`: "/body", `{"agent":1}`: "/body/agent", `{"agent":"a","tokens":1}`: "/body/tokens", `{"agent":"a","estimated_tokens":1}{}`: "/body",
		`{"estimated_tokens":1}`: "/body/model", `{"agent":"a"}`: "/body/payload", `{"agent":"a","payload":"x","estimated_tokens":1}`: "/body/payload",
		`{"agent":"a","estimated_tokens":-1}`: "/body/estimated_tokens",
	} {
		p := f.refused(f.do(http.MethodPost, "/api/v1/preflight", body), 400, "invalid_body")
		if got := p["errors"].([]any)[0].(map[string]any)["pointer"]; got != pointer {
			t.Errorf("%s: pointer %v, want %s", body, got, pointer)
		}
	}
}

func TestThePolicyInForceIsShown(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	got := get[map[string]any](f, "/api/v1/triage/policy")
	policy := got["policy"].(map[string]any)
	if got["file"] != nil || got["problem"] != nil || policy["triage_agent"] != "ceo" || len(policy["rules"].([]any)) != len(dlqtriage.DefaultPolicy().Rules) {
		t.Errorf("got %v", got)
	}
}

// Whoever reads the detail alone learns which field is wrong.
func TestTheDetailOfAWrongBodyNamesTheField(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	for body, want := range map[string]string{
		`{"agent":"a","tokens":1}`: "tokens: is not a field of this call. ", `{"agent":1}`: "agent: must not be a JSON number. ", `[]`: "The body is not a JSON object of the form ",
	} {
		a := f.do("POST", Base+"/preflight", body)
		if got := f.refused(a, http.StatusBadRequest, "invalid_body")["detail"].(string); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want it to begin with %q", body, got, want)
		}
	}
}
