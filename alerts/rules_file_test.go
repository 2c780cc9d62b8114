package alerts_test

import (
	"strings"
	"testing"
	"time"

	"fleetglass/alerts"
)

func TestAFileOfRulesGoesOverTheBuiltInOnes(t *testing.T) {
	t.Parallel()
	rules, err := alerts.ParseRules([]byte(`# Ours.
rules:
  stale: {for: 30s, severity: critical}
  pending_queue_age:
    threshold: 30m
  outcome_unknown: {enabled: false}
`))
	if err != nil {
		t.Fatal(err)
	}
	of := func(id alerts.RuleID) alerts.Rule {
		r, found := rules.Of(id)
		if !found {
			t.Fatalf("no rule %s", id)
		}
		return r
	}
	if r := of(alerts.RuleStale); r.For != 30*time.Second || r.Severity != alerts.Critical || r.Off {
		t.Errorf("stale: %+v", r)
	}
	if r := of(alerts.RuleQueueAge); r.Threshold != 30*time.Minute {
		t.Errorf("queue age: %+v", r)
	}
	if !of(alerts.RuleUnknown).Off || len(rules) != len(alerts.Defaults()) {
		t.Errorf("%d rules: %+v", len(rules), rules)
	}
	for _, empty := range []string{"", "# nothing\n", "rules: {}\n"} {
		if rules, err := alerts.ParseRules([]byte(empty)); err != nil || len(rules) != len(alerts.Defaults()) {
			t.Errorf("%q: %d rules, %v", empty, len(rules), err)
		}
	}
}

func TestAFileOfRulesIsRefusedWithEverythingThatIsWrongWithIt(t *testing.T) {
	t.Parallel()
	_, err := alerts.ParseRules([]byte(`rules:
  stail: {for: 30s}
  stale:
    for: soon
    severity: bad
    threshold: 1m
  zombie: {enabled: perhaps, colour: red}
  stuck: 5
  pending_queue_age: {threshold: 0s}
others: 1
`))
	if err == nil {
		t.Fatal("it was accepted")
	}
	for _, want := range []string{
		`line 2: "stail" is not a rule`, "line 4: stale.for is a time", "line 5: stale.severity is critical", "line 6: stale has no threshold",
		"line 7: zombie.enabled is true or false", "line 7: zombie.colour is not known", "line 8: stuck has names and values", "line 9: pending_queue_age.threshold is a time",
		`line 10: "others" is not known`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("it does not say %q:\n%v", want, err)
		}
	}
	if _, err := alerts.ParseRules([]byte("rules: [")); err == nil || !strings.Contains(err.Error(), "1") {
		t.Errorf("no YAML: %v", err)
	}
}
