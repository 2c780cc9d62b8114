package lifecycle

import (
	"strings"
	"testing"
	"time"
)

func TestAReportLeavesOutTimesThatAreNone(t *testing.T) {
	t.Parallel()
	text := Report(Trace{Running: 2 * time.Second, Unsplit: 1100 * time.Millisecond})
	if !strings.Contains(text, "| Running | 2 s |") || !strings.Contains(text, "(delivery not observed) | 1.1 s |") || strings.Contains(text, "| Waiting |") {
		t.Errorf("got %s", text)
	}
}
