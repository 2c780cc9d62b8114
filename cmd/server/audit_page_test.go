package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"fleetglass/internal/testkit"
)

func TestTheAuditPageListsDecisionsAndLeadsOn(t *testing.T) {
	t.Parallel()
	r := start(t, settings(t))
	r.die("draft-8", "503 overloaded")
	testkit.Eventually(t, patience, func() error {
		if code, text := r.command("retry", "TASKS:1", "--reason", "<b>again</b>", "--as", "unchanged"); code != 0 && !strings.Contains(text, "in progress") {
			return fmt.Errorf("retry: exit code %d: %s", code, text)
		}
		return nil
	})
	page := func(path string) (status int, text string) {
		response := r.request(http.MethodGet, path, nil, nil)
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}
	_, all := page("/audit")
	for _, want := range []string{">retry<", "&lt;b&gt;again", `href="/operations/act-`, `href="/api/v1/audit?format=csv"`} {
		if !strings.Contains(all, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if _, none := page("/audit?actor=nobody"); !strings.Contains(none, "No record matches.") || strings.Contains(none, ">retry<") {
		t.Error("the filter of actors shows others")
	}
	if status, csv := page("/api/v1/audit?format=csv&action=retry"); status != http.StatusOK || !strings.HasPrefix(csv, "id,at,actor,") || strings.Count(csv, "\n") < 2 {
		t.Errorf("csv: %d: %s", status, csv)
	}
	if status, _ := page("/audit?cursor=x"); status != http.StatusBadRequest {
		t.Errorf("a cursor of nothing: %d", status)
	}
}
