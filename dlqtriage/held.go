package dlqtriage

import (
	"context"
	"errors"
	"fmt"

	"fleetglass/decision"
	"fleetglass/lifecycle"
)

// FleetReader tells which task a message is of, and how the consumers are.
type FleetReader interface {
	TaskOf(ctx context.Context, k lifecycle.MessageKey) (string, error)
	Consumers(ctx context.Context) ([]lifecycle.ConsumerState, error)
	// Gaps is that of [lifecycle.FleetReader].
	Gaps(ctx context.Context, from, to lifecycle.Micros, limit int) ([]lifecycle.Gap, error)
}

// Held is a message that a worker has, or had until its deadline passed, as it is when somebody decides about it.
type Held struct {
	Key      lifecycle.MessageKey
	Revision uint64 // Of its subject, as it was before the rest was read.
	Task     lifecycle.TaskFacts
	Message  lifecycle.MessageFacts
	Lease    lifecycle.Lease
	InHand   bool // Somebody holds it, or it is overdue. Otherwise there is no lease to act on.
	Consumer *lifecycle.ConsumerState
	Recovery Recovery
}

// errNoFleet says that the service was made without what actions in flight need.
var errNoFleet = errors.New("this service does not act on messages in flight")

// Held reads what is known of a message in flight. It errors with lifecycle.ErrNotFound where no such message is known.
func (s *Actions) Held(ctx context.Context, key lifecycle.MessageKey) (h Held, err error) {
	if s.Fleet == nil {
		return h, errNoFleet
	}
	h.Key = key
	// The revision comes first: what is decided meanwhile is then found out when it is decided on it.
	if h.Revision, err = s.Decisions.Revision(ctx, decision.About(key)); err != nil {
		return h, err
	}
	at, err := s.moment(ctx) // Before what it is judged by is read.
	if err != nil {
		return h, err
	}
	id, err := s.Fleet.TaskOf(ctx, key)
	if err != nil {
		return h, fmt.Errorf("find the task of %s: %w", key, err)
	}
	record, err := s.Tasks.Task(ctx, id)
	if err != nil {
		return h, fmt.Errorf("read task: %w", err)
	}
	consumers, err := s.Fleet.Consumers(ctx)
	if err != nil {
		return h, fmt.Errorf("read consumers: %w", err)
	}
	for _, m := range record.Messages {
		if m.Key == key {
			held := s.Policy().HeldOf(m, record.Facts, consumerOf(m.Judged(record.Facts), consumers), at)
			held.Revision = h.Revision
			return held, nil
		}
	}
	return h, fmt.Errorf("message %s: %w", key, lifecycle.ErrNotFound)
}

// HeldOf is a message of a task at an instant; consumer is the one whose answers count, nil where it is not known. The lists of what is in flight and the
// previews of actions ask here, so that both offer and block the same. Revision is left at zero.
func (p *Policy) HeldOf(m lifecycle.MessageFacts, t lifecycle.TaskFacts, consumer *lifecycle.ConsumerState, at lifecycle.Moment) Held {
	judged := m.Judged(t)
	h := Held{Key: m.Key, Task: t, Message: judged, Consumer: consumer, Recovery: p.RecoveryOf(judged, t, false).Decide()}
	h.Lease, h.InHand = lifecycle.LeaseOf(lifecycle.OpenMessage{Message: m, Task: t}, consumer, lifecycle.Typical{}, at)
	return h
}

func consumerOf(m lifecycle.MessageFacts, all []lifecycle.ConsumerState) *lifecycle.ConsumerState {
	for i := range all {
		if all[i].Stream == m.Key.Stream && all[i].Name == m.Consumer {
			return &all[i]
		}
	}
	return nil
}

// The obstacles to actions on messages in flight.
const (
	BlockedNotHeld     ObstacleCode = "not_in_flight"         // No worker has it.
	BlockedNoConsumer  ObstacleCode = "consumer_unknown"      // Its consumer is gone or not known: nobody can hand it back.
	BlockedLastAttempt ObstacleCode = "no_attempt_left"       // Handed back, it is exhausted at once.
	BlockedWorkerAlive ObstacleCode = "worker_may_be_at_work" // Its lease is in order: handed back, two would work on it.
	BlockedDue         ObstacleCode = "already_due"           // The broker hands it to the next free worker anyway.
)

// Obstacles are what stands in the way of an action.
func (h *Held) Obstacles(a ActionKind) []Obstacle {
	out := []Obstacle{}
	add := func(is bool, code ObstacleCode, why string) {
		if is {
			out = append(out, Obstacle{code, why})
		}
	}
	if !h.InHand {
		return []Obstacle{{BlockedNotHeld, "No worker has it now: there is no lease to act on."}}
	}
	add(h.Lease.Acting != "", BlockedBusy, "An action on it has not ended.")
	switch a {
	case ActionRelease:
		h.releaseObstacles(add)
	case ActionQuarantine:
		add(h.Recovery.Rule == ruleRecorded, BlockedCompleted, "Its completion is recorded: a redelivery is skipped, so there is nothing to quarantine.")
	}
	return out
}

func (h *Held) releaseObstacles(add func(is bool, code ObstacleCode, why string)) {
	l := h.Lease
	_, known := h.ackSubject()
	add(!known, BlockedNoConsumer, "It cannot be handed back: its consumer is gone, or nobody knows which delivery its worker has.")
	add(l.MaxDeliver > 0 && l.Attempt >= l.MaxDeliver, BlockedLastAttempt, "It is the last attempt: handed back, it is exhausted at once. Quarantine it instead.")
	add(l.Due, BlockedDue, "It was handed back and is due: "+h.givenOut("")+", if none has it already.")
	add(l.Stale == lifecycle.StaleLease || l.Stale == lifecycle.StalePresumedDead, BlockedDue, "Its deadline has passed: "+h.givenOut(" anyway")+".")
	add(h.Recovery.Rule == ruleRecordGone, BlockedCompleted, "Its completion was recorded, and that record is gone: handed back, its work may be run again.")
	add(h.Recovery.Unknown, BlockedEffectsUnknown, "It may have had effects that nobody confirmed. "+h.Recovery.Reasons[0])
	add(l.Stale == "" && l.Resolved == nil && !l.Due, BlockedWorkerAlive, "No deadline of it is known to have passed: handed back, two workers might have it.")
}

// givenOut says to whom the broker gives the message next.
func (h *Held) givenOut(word string) string {
	if h.Lease.Awaits != "" {
		return "the broker gives it out" + word + " once " + h.Lease.Awaits
	}
	return "it goes to the next free worker" + word
}
