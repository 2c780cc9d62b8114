//go:build linux

package bench

import (
	"os"
	"runtime/debug"
	"strings"
	"testing"
)

// How the program shares its memory (cmd/server/memory.go): ingest is measured in this process with the same settings.
const (
	heapTarget  = 184 << 20
	heapPercent = 200
)

// shareMemory sets the collector of garbage as the program does, until the test ends. Where the environment says something else, that
// counts here as there.
func shareMemory(t testing.TB) {
	t.Helper()
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	percent, limit := debug.SetGCPercent(heapPercent), debug.SetMemoryLimit(heapTarget)
	t.Cleanup(func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	})
}

func TestMemoryIsSharedAsTheProgramDoes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../cmd/server/memory.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"const heapTarget = 184 << 20", "debug.SetGCPercent(200)", "debug.SetMemoryLimit(heapTarget)"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("cmd/server/memory.go does not say %q any more: measure ingest with what it says now", want)
		}
	}
}
