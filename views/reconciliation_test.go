package views

import (
	"testing"
	"time"

	"fleetglass/lifecycle"
)

func TestAPeriodFromTheFirstInstantBeginsAtTheBeginning(t *testing.T) {
	t.Parallel()
	noon := lifecycle.MicrosOf(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	for from, want := range map[lifecycle.Micros]string{0: "The beginning", 1: "The beginning", noon: "20 Nov 2026 12:00"} {
		if got := periodStart(Env{Zone: time.UTC}, from); got != want {
			t.Errorf("a period from %d begins at %q, want %q", from, got, want)
		}
	}
}
