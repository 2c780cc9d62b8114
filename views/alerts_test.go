package views

import (
	"strings"
	"testing"

	"fleetglass/alerts"
)

// "Needs attention" and the board tell one age of one thing: since when it is so, not since when the rule's patience was over.
func TestAnAlertIsAsOldAsWhatItSays(t *testing.T) {
	t.Parallel()
	var r AlertRow
	r.Alert = alerts.Alert{StartedAt: 70}
	if got := r.soSince(); got != 70 {
		t.Errorf("of a finding without a beginning: since %d, want since it fires", got)
	}
	r.Since = 10
	if got := r.soSince(); got != 10 {
		t.Errorf("since %d, want since it is so", got)
	}
}

func TestAnAlertSaysHowOftenItCameBack(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{1: "came back once<", 2: "came back 2 times<"} {
		var row strings.Builder
		var r AlertRow
		r.Recurrence = n
		if err := alertWhat(r).Render(t.Context(), &row); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(row.String(), want) {
			t.Errorf("%d times: want %q in %s", n, want, row.String())
		}
	}
}
