package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheDocumentsAreUpToDate(t *testing.T) {
	t.Parallel()
	for name, want := range documents() {
		got, err := os.ReadFile("../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("docs/%s is not what the lifecycle package says; run make generate (-want +got):\n%s", name, diff)
		}
	}
}
