package views

import (
	"fmt"
	"strings"
	"testing"

	"fleetglass/lifecycle"
)

func TestWhatWasNotReportedIsAWord(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		used     lifecycle.ModelTotal
		attempts int
		want     string
	}{
		{lifecycle.ModelTotal{}, 2, "cost not reported"},
		{lifecycle.ModelTotal{Attempts: 1, InputTokens: 1200}, 1, "cost not reported, 1,200 tokens in"},
		{lifecycle.ModelTotal{Attempts: 1, Cost: 1_120_000, InputTokens: 212_431}, 4, "$1.12 reported for 1 of 4 attempts, 212,431 tokens in"},
		{lifecycle.ModelTotal{Attempts: 2, Cost: 300, OutputTokens: 7}, 2, "under $0.01 reported, 7 tokens out"},
	} {
		var said []string
		for _, p := range usedParts(tc.used, tc.attempts) {
			said = append(said, strings.TrimSpace(fmt.Sprint(p.Value, " ", p.Name)))
		}
		if got := strings.Join(said, ", "); got != tc.want {
			t.Errorf("%+v of %d attempts: %q, want %q", tc.used, tc.attempts, got, tc.want)
		}
	}
}
