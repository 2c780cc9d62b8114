package publishes

import (
	"fmt"

	"fleetglass/collectors"
	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// SourceAttempts is the name of the source that reads publish attempts.
const SourceAttempts = "attempts"

// DecodeAttempt turns a captured publish attempt into a PublishAttempted event. Whether the stream stored it is judged by comparison. An
// attempt without any id of its own adds nothing: it cannot be told from the stored message. It errors when the subject is not one
// under which attempts are captured.
func DecodeAttempt(line collectors.Line, streams collectors.Streams, into *lifecycle.Batch) error {
	subject, ok := streams.Contract.SubjectOfCapture(line.Subject)
	if !ok {
		return fmt.Errorf("subject %q is not that of a captured publish", line.Subject)
	}
	e, ok := attempt(streams.Contract, subject, line.Headers, line.Body)
	if !ok {
		return nil
	}
	l := line.Event(lifecycle.PublishAttempted, lifecycle.Observed)
	e.ID, e.At, e.Source, e.SourceSeq = l.ID, l.At, l.Source, l.SourceSeq
	into.Events = append(into.Events, e)
	return nil
}

// attempt is the event of a publish, without id, time and source. It is not ok when the publish names no task.
func attempt(contract fleet.Contract, subject string, headers map[string][]string, body []byte) (lifecycle.Event, bool) {
	none := lifecycle.MessageKey{}
	task := fleet.ReadTask(headers, body, none)
	if task.ID == none.String() {
		return lifecycle.Event{}, false
	}
	agent, taskType, ok := contract.ParseTaskSubject(subject)
	if !ok {
		taskType = task.Type
	}
	return lifecycle.Event{
		Kind: lifecycle.PublishAttempted, Provenance: lifecycle.Observed, TaskID: task.ID, Agent: agent,
		Detail: lifecycle.Detail{MsgID: task.MsgID, Subject: subject, Type: taskType, PayloadHash: task.PayloadHash},
	}, true
}
