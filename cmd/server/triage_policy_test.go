package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fleetglass/internal/testkit"
)

// policyWithin is how soon a change of the policy file counts, with room for a loaded machine.
const policyWithin = 5 * time.Second

// policyShown is what the API says of the policy.
type policyShown struct {
	File    string `json:"file"`
	Problem string `json:"problem"`
	Policy  struct {
		Rules []struct {
			Name string `json:"name"`
		} `json:"rules"`
	} `json:"policy"`
}

func (r *running) policy() (got policyShown) {
	r.t.Helper()
	response := r.request(http.MethodGet, "/api/v1/triage/policy", nil, nil)
	body, err := io.ReadAll(response.Body)
	if err == nil {
		err = json.Unmarshal(body, &got)
	}
	if err != nil || response.StatusCode != http.StatusOK {
		r.t.Fatalf("the policy: %s %v", response.Status, err)
	}
	return got
}

func writePolicy(t *testing.T, file, rule string) {
	t.Helper()
	if err := os.WriteFile(file, []byte("rules:\n- "+rule+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestThePolicyFileIsFollowed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	writePolicy(t, file, "{name: first, category: transient, any: [x]}")
	r := start(t, settings(t, "--triage-policy", file))
	first := func(want, problem string) error {
		got := r.policy()
		if got.File != file || got.Policy.Rules[0].Name != want || !strings.Contains(got.Problem, problem) || (problem == "") != (got.Problem == "") {
			return fmt.Errorf("first rule %q, problem %q, file %q; want %q, %q", got.Policy.Rules[0].Name, got.Problem, got.File, want, problem)
		}
		return nil
	}
	if err := first("first", ""); err != nil {
		t.Fatal(err)
	}
	steps := []struct{ rule, want, problem string }{
		{"{name: second, category: transient, any: [x]}", "second", ""},
		{"{name: third, category: cosmic, any: [x]}", "second", "line 2: "},
		{"{name: fourth, category: permanent, any: [x]}", "fourth", ""},
	}
	for _, s := range steps {
		writePolicy(t, file, s.rule)
		testkit.Eventually(t, policyWithin, func() error { return first(s.want, s.problem) })
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, policyWithin, func() error { return first("fourth", "no such file") })
}

func TestAStartWithAPolicyThatCannotBeUsedIsRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	writePolicy(t, file, "{name: first, category: cosmic, any: ['(']}")
	for name, want := range map[string]string{file: "line 2", filepath.Join(t.TempDir(), "none.yaml"): os.ErrNotExist.Error()} {
		_, err := load([]string{"--triage-policy", name}, vars(), io.Discard)
		if err == nil || (!strings.Contains(err.Error(), want) && !errors.Is(err, os.ErrNotExist)) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
}
