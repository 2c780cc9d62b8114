package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fleetglass/internal/testkit"
)

// alertsWithin is how soon an alert fires or ends after what it is about, with room for a loaded machine.
const alertsWithin = 30 * time.Second

// shownAlert is what the API says of an alert.
type shownAlert struct {
	ID, Rule, State, What, Runbook string
	Recurrence                     int
	Delivered                      []struct{ To, Status string }
}

// alerts asks the API for alerts.
func (r *running) alerts(query string) ([]shownAlert, error) {
	var list struct{ Data []shownAlert }
	err := r.get("/api/v1/alerts"+query, &list)
	return list.Data, err
}

func TestAMessageThatNobodyTakesFiresAnAlertOnceTheRulesFileSaysSo(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "rules.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("rules: {orphaned_message: {for: 1h}}\n")
	r := start(t, settings(t, "--alert-rules", file, "--dlq-monitor", "off"))
	if _, err := connectAgent(t, r.agents).js.Publish(t.Context(), "genbrain.agents.legal.tasks.review", []byte(`{"taskId":"alone"}`)); err != nil {
		t.Fatal(err)
	}
	listed := func(state string) error {
		found, err := r.alerts("?rule=orphaned_message&agent=legal")
		if err != nil || len(found) != 1 || found[0].State != state || found[0].Recurrence != 0 {
			return fmt.Errorf("alerts %+v, %w, want one that is %s", found, err, state)
		}
		return nil
	}
	rule := func(want string) error {
		var list struct {
			Data []struct {
				ID    string
				ForMS int64 `json:"for_ms"`
			}
		}
		if err := r.get("/api/v1/alert-rules?limit=200", &list); err != nil {
			return err
		}
		for _, l := range list.Data {
			if l.ID == "orphaned_message" && fmt.Sprint(l.ForMS) == want {
				return nil
			}
		}
		return fmt.Errorf("rules %+v", list.Data)
	}
	if err := rule("3600000"); err != nil {
		t.Error(err)
	}
	write("rules: {orphaned_message: {for: never}}\n")
	testkit.Eventually(t, alertsWithin, func() error {
		var text struct {
			Parts []struct{ Name, Detail string }
		}
		if err := r.get("/readyz", &text); err != nil || !strings.Contains(fmt.Sprint(text), "line 1: orphaned_message.for") {
			return fmt.Errorf("readyz says %+v, %w", text, err)
		}
		return nil
	})
	if err := rule("3600000"); err != nil {
		t.Error(err)
	}
	write("rules: {orphaned_message: {for: 0s}}\n")
	testkit.Eventually(t, alertsWithin, func() error { return listed("firing") })
}

func TestAStartWithAlertRulesThatCannotBeUsedIsRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, []byte("rules:\n  stail: {for: 1s}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := load([]string{"--alert-rules", file}, vars(), io.Discard)
	if err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("got %v", err)
	}
}
