package dlqtriage_test

import (
	"strings"
	"testing"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

func TestAnEntryIDNamesItsMessageAndFitsIntoAPath(t *testing.T) {
	t.Parallel()
	for _, stream := range []lifecycle.StreamID{
		{Name: "TASKS"}, {Name: "TASKS", Epoch: 1_700_000_000_000_000}, {Domain: "hub", Name: "TASKS"}, {Account: "A.B", Domain: "hub", Name: "TASKS"}, {Account: "A", Name: "TASKS"},
	} {
		key := lifecycle.MessageKey{Stream: stream, Seq: 18_446_744_073_709_551_615}
		id := dlqtriage.EntryID(key)
		if strings.ContainsAny(id, "/?#% ") {
			t.Errorf("EntryID(%+v) = %q, which does not fit into a path", key, id)
		}
		if got, err := dlqtriage.ParseEntryID(id); err != nil || got != key {
			t.Errorf("ParseEntryID(%q) = %+v, %v, want %+v", id, got, err, key)
		}
	}
	for _, wrong := range []string{"", "TASKS", "TASKS:0", "TASKS:x", ":5"} {
		if got, err := dlqtriage.ParseEntryID(wrong); err == nil {
			t.Errorf("ParseEntryID(%q) = %v, want an error", wrong, got)
		}
	}
}
