package alerts_test

import (
	"testing"

	"fleetglass/alerts"
	"fleetglass/lifecycle"
)

// by is a look of one of several replicas.
func (m *memory) by(t *testing.T, replica string, now lifecycle.Micros, found ...alerts.Finding) {
	t.Helper()
	m.commit(t, alerts.Step(m.board, alerts.Observed{At: now, By: replica, Findings: found}, alerts.Defaults()))
}

// A replica knows of its own parts alone: that those of another one work says nothing of them.
func TestWhatIsDownInOneReplicaIsNotResolvedByAnother(t *testing.T) {
	t.Parallel()
	for _, rule := range []alerts.RuleID{alerts.RulePartDown, alerts.RuleCollectorLag, alerts.RuleFeedSilent} {
		t.Run(string(rule), func(t *testing.T) {
			t.Parallel()
			var m memory
			down := finding(rule, "acks")
			at := second
			for ; at <= 100*second; at += second {
				m.by(t, "a", at, down)
				m.by(t, "b", at+second/2)
			}
			same(t, "while one has it", m.told(), []string{"1 firing 0"})
			m.by(t, "a", at)
			same(t, "once that one has it no more", m.told(), []string{"1 firing 0", "2 resolved 0"})
		})
	}
}

// Whoever is killed cannot say that its parts work again.
func TestWhatWasDownInAReplicaThatIsGoneIsResolved(t *testing.T) {
	t.Parallel()
	var m memory
	down := finding(alerts.RulePartDown, "acks")
	at := second
	for ; at <= 40*second; at += second {
		m.by(t, "a", at, down)
	}
	for ; at <= 60*second; at += second {
		m.by(t, "b", at)
	}
	same(t, "soon after", m.told(), []string{"1 firing 0"})
	for ; at <= 100*second; at += second {
		m.by(t, "b", at)
	}
	same(t, "a while later", m.told(), []string{"1 firing 0", "2 resolved 0"})
}
