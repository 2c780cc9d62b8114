package monitor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

const (
	pageSize = 200
	// Actor is who copies, in records.
	Actor = "dlq-monitor"
	// mostPlanned bounds what is remembered of plans. What is forgotten is decided again, which changes nothing.
	mostPlanned = 10_000
	// always is after everything that died, by whichever clock.
	always = lifecycle.Micros(math.MaxInt64)
)

// job is the body of an effect.
type job struct {
	Message lifecycle.MessageKey `json:"message"`
}

// plan looks at each dead message that has no entry, and makes an effect of it. Only of what died before the moment up to which the queue was read
// is it known that it has none.
func (m *Monitor) plan(ctx context.Context) error {
	read := m.cfg.ReadTo()
	if len(m.planned) > mostPlanned {
		clear(m.planned)
	}
	for after := (*dlqtriage.EntryCursor)(nil); ; {
		page, err := m.cfg.Store.Uncopied(ctx, always, after, pageSize)
		if err != nil {
			return fmt.Errorf("look for dead messages without an entry: %w", err)
		}
		if err := m.look(ctx, page); err != nil {
			return err
		}
		for _, e := range page {
			if e.FailedAt >= read {
				continue
			}
			if err := m.planOne(ctx, e); err != nil {
				return err
			}
		}
		if len(page) < pageSize {
			return nil
		}
		last := page[len(page)-1]
		after = &dlqtriage.EntryCursor{FailedAt: last.FailedAt, ID: last.ID}
	}
}

func (m *Monitor) planOne(ctx context.Context, e dlqtriage.Entry) error {
	if m.planned[e.Key] == e.FailedAt || m.early(e) {
		return nil
	}
	err := m.cfg.Step.Do("decide", func() error { _, err := m.cfg.Store.Decide(ctx, m.decision(e)); return err })
	if err != nil && !errors.Is(err, decision.ErrConflict) { // Another replica plans the same death.
		return fmt.Errorf("plan the copy of %s: %w", e.Key, err)
	}
	m.planned[e.Key] = e.FailedAt
	return nil
}

// early reports whether a worker may still come for a message that no consumer takes.
func (m *Monitor) early(e dlqtriage.Entry) bool {
	return e.Path == dlqtriage.PathFilterRejected && e.FailedAt.Add(m.cfg.OrphanAfter) > m.cfg.now()
}

// decision plans the copy of one death. It has a subject of its own: what people decide about the message has another revision.
func (m *Monitor) decision(e dlqtriage.Entry) decision.Decision {
	id := "copy " + e.Key.String() + " " + strconv.FormatInt(int64(e.FailedAt), 10)
	body, err := json.Marshal(job{Message: e.Key})
	if err != nil { // Cannot happen: a key is text.
		panic(err)
	}
	now := m.cfg.now()
	return decision.Decision{ID: id, Subject: decision.Subject(id), At: now, Change: decision.Change{
		Effects: []decision.Effect{{ID: id, Queue: Queue, Due: now, Body: body}},
		Audit: []decision.AuditRecord{{
			ID: id, At: now, Actor: Actor, Via: "auto", Action: "copy", Target: e.ID, Outcome: decision.Allowed, Reason: "it died and has no dead-letter entry",
		}},
	}}
}
