package web

import (
	"strings"
	"testing"

	"fleetglass/lifecycle"
	"fleetglass/query"
)

func TestNobodySaysThatMessagesAreNotInTheQueueWhileItWasNotRead(t *testing.T) {
	t.Parallel()
	f := query.Finding{Kind: query.FindingAbandoned, Count: 2, State: lifecycle.StateExhausted}
	if got := attentionItem(f, 1); !strings.Contains(got.What, "not in the DLQ") {
		t.Errorf("read: %q", got.What)
	}
	f.Unread = true
	if got := attentionItem(f, 1); strings.Contains(got.What, "not in the DLQ") || !strings.Contains(got.Why, "is not known") {
		t.Errorf("not read: %q, %q", got.What, got.Why)
	}
}
