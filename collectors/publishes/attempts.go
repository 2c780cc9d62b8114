package publishes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fleetglass/collectors"
	"fleetglass/fleet"
	"fleetglass/internal/health"
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
	l := line.Event(lifecycle.PublishAttempted)
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
		Detail: lifecycle.Detail{Naming: lifecycle.Naming{MsgID: task.MsgID, Subject: subject, Type: taskType, PayloadHash: task.PayloadHash}},
	}, true
}

// AttemptsConfig is how publish attempts are seen.
type AttemptsConfig struct {
	collectors.Config
	Check time.Duration // Optional; default 1 s. How often it is checked whether OBS_RAW is fed, and how long a heard attempt is held.
}

// Attempts sees publish attempts: durably through OBS_RAW where the account feeds it, else by listening, which is best effort.
type Attempts struct {
	durable *collectors.Collector
	live    *listener // Nil for a shard that is not the first: one listens for all.
}

// NewAttempts validates the configuration and starts nothing.
func NewAttempts(cfg AttemptsConfig) (*Attempts, error) {
	cfg.Barrier = cfg.Barrier.Patient()
	durable, err := collectors.New(cfg.Config, collectors.Source{
		Name: SourceAttempts, Stream: fleet.CaptureRaw, Decode: DecodeAttempt, AfterPublishes: true, Optional: true,
	})
	if err != nil {
		return nil, err
	}
	a := &Attempts{durable: durable}
	if cfg.Shard.Index == 0 {
		a.live = newListener(cfg)
	}
	return a, nil
}

// Run works until ctx is done, then finishes what it has in hand and returns nil.
func (a *Attempts) Run(ctx context.Context) error {
	if a.live == nil {
		return a.durable.Run(ctx)
	}
	heard := make(chan error, 1)
	go func() { heard <- a.live.run(ctx) }()
	return errors.Join(a.durable.Run(ctx), <-heard)
}

// Health is one part: that of OBS_RAW, or best effort while attempts are only heard, or while OBS_RAW leaves some out.
func (a *Attempts) Health() []health.Part {
	if a.live == nil {
		return a.durable.Health()
	}
	if part, listening := a.live.health(); listening {
		return []health.Part{part}
	}
	parts := a.durable.Health()
	for i := range parts {
		if left := a.live.leavesOut(); left != "" && parts[i].State == health.OK {
			parts[i].State, parts[i].Detail = health.BestEffort, left
		}
	}
	return parts
}

// Stats counts what was read from OBS_RAW.
func (a *Attempts) Stats() collectors.Stats { return a.durable.Stats() }
