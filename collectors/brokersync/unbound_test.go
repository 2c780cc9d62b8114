package brokersync

import (
	"testing"
	"time"

	"fleetglass/lifecycle"
)

func TestReportsWithoutAMessageAreUnboundFromTheFirstThatALostMessageMayExplain(t *testing.T) {
	t.Parallel()
	claimed, completed := at(10*time.Second), at(20*time.Second)
	task := lifecycle.TaskFacts{ID: "T", Reports: []lifecycle.ReportFacts{{ClaimedAt: claimed, CompletedAt: completed}}}
	named := lifecycle.TaskFacts{ID: "T", Reports: []lifecycle.ReportFacts{{MsgID: "T:1", CompletedAt: completed}}}
	gap := func(from, to time.Duration) lifecycle.Gap {
		return lifecycle.Gap{Source: "OBS_PUB", From: at(from), To: at(to)}
	}
	for name, tt := range map[string]struct {
		task       lifecycle.TaskFacts
		generation int
		lost       []lifecycle.Gap
		want       lifecycle.Micros
	}{
		"nothing was lost":                         {task: task},
		"before the first report":                  {task: task, lost: []lifecycle.Gap{gap(6*time.Second, 8*time.Second)}, want: claimed},
		"between two reports":                      {task: task, lost: []lifecycle.Gap{gap(15*time.Second, 16*time.Second)}, want: completed},
		"after the last report":                    {task: task, lost: []lifecycle.Gap{gap(30*time.Second, 31*time.Second)}},
		"the gap is open":                          {task: task, lost: []lifecycle.Gap{{Source: "OBS_PUB", From: at(time.Second)}}, want: claimed},
		"before the message was stored":            {task: task, lost: []lifecycle.Gap{gap(time.Second, 3*time.Second)}},
		"before the message, which is a retry":     {task: task, generation: 1, lost: []lifecycle.Gap{gap(time.Second, 3*time.Second)}, want: claimed},
		"the report names its message":             {task: named, lost: []lifecycle.Gap{gap(6*time.Second, 8*time.Second)}},
		"the first of two gaps that may matter":    {task: task, lost: []lifecycle.Gap{gap(15*time.Second, 16*time.Second), gap(6*time.Second, 8*time.Second)}, want: claimed},
		"a clock that is up to two seconds behind": {task: task, lost: []lifecycle.Gap{gap(21*time.Second, 22*time.Second)}, want: completed},
	} {
		o := lifecycle.OpenMessage{Message: lifecycle.MessageFacts{Stored: &lifecycle.StoredFacts{At: at(5 * time.Second), Generation: tt.generation}}, Task: tt.task}
		if got := unboundSince(o, tt.lost); got != tt.want {
			t.Errorf("%s: reports are unbound since %d, want %d", name, got, tt.want)
		}
	}
}
