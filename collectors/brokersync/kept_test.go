package brokersync

import (
	"testing"

	"fleetglass/lifecycle"
)

// Of two consumers that take a message, a report says nothing of the one whose worker did not make it: no lease of that one counts from it.
func TestAReportSpeaksOfTheConsumerOfItsWorker(t *testing.T) {
	t.Parallel()
	consumer := func(name string) Consumer {
		return Consumer{ConsumerState: lifecycle.ConsumerState{Stream: lifecycle.StreamID{Name: "TASKS"}, Name: name}}
	}
	v := view{Observation: Observation{Kept: true, Consumers: []Consumer{consumer("a-second-task-worker"), consumer("a-task-worker")}}}
	key := lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: 1}
	task := lifecycle.TaskFacts{Reports: []lifecycle.ReportFacts{{Agent: "a", MsgID: "T1", Attempt: 1, ClaimedAt: 2}}}
	names := func(c string) lifecycle.ConsumerFacts { return lifecycle.ConsumerFacts{Consumer: c, Worker: "a"} } // As the synchronizer names the agent that a message is for.
	known := []lifecycle.ConsumerFacts{names("a-second-task-worker"), names("a-task-worker")}
	stored := &lifecycle.StoredFacts{At: 1, MsgID: "T1", Subject: "genbrain.agents.a.tasks.work"}
	open, _ := v.partsOfOpen([]lifecycle.OpenMessage{{Message: lifecycle.MessageFacts{Key: key, Stored: stored, Consumers: known}, Task: task}})
	if len(open) != 2 || len(open[0].Task.Reports) != 0 || len(open[1].Task.Reports) != 1 {
		t.Errorf("%+v", open)
	}
}
