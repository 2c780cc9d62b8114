package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheDocumentOfStatesIsUpToDate(t *testing.T) {
	t.Parallel()
	got, err := os.ReadFile("../../docs/states.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(document()), string(got)); diff != "" {
		t.Errorf("docs/states.md is not what the lifecycle package says; run make generate (-want +got):\n%s", diff)
	}
}
