package web_test

import (
	"context"
	"strings"
	"testing"

	"fleetglass/fleet/doctor"
	"fleetglass/web/webtest"
)

func TestTheDoctorSaysAFixOnceAndACommandAsItIs(t *testing.T) {
	t.Parallel()
	const command, fix = "nats consumer add TASKS legal-task-worker --filter 'a.>' --pull --ack explicit", "Let workers ask for shorter delays."
	s := newSite(t, webtest.Rich(noon).Batch, func(c *setup) {
		c.Doctor = func(context.Context) (doctor.Report, error) {
			return doctor.Report{Findings: []doctor.Finding{
				{Code: "orphans", Severity: doctor.Critical, Resource: "stream TASKS", Fix: command},
				{Code: "delays", Severity: doctor.Info, Resource: "consumer TASKS a", Fix: fix}, {Code: "delays", Severity: doctor.Info, Resource: "consumer TASKS b", Fix: fix},
			}, At: noon}, nil
		}
	})
	doc := s.get(t, "/doctor", 200)
	if got := doc.Find("#orphans pre").Text(); got != command {
		t.Errorf("the command reads %q", got)
	}
	wants{"main > p.dim": "Commands change the broker"}.check(t, doc)
	healthy := newSite(t, webtest.Rich(noon).Batch, func(c *setup) {
		c.Doctor = func(context.Context) (doctor.Report, error) { return doctor.Report{At: noon}, nil }
	})
	if got := text(healthy.get(t, "/doctor", 200).Find("main > p.dim")); !strings.HasPrefix(got, "The broker was asked") {
		t.Errorf("without a command the page says %q", got)
	}
	wants{"#delays .body": fix, "#delays tbody p.soft2": "=0", "#delays tbody tr": "=2"}.check(t, doc)
}
