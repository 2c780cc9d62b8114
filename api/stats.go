package api

import (
	"context"
	"time"

	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

// FleetStats are the figures of SPEC 7.
type FleetStats struct {
	AsOf      Instant          `json:"as_of"`
	Gaps      []GapRef         `json:"gaps" nullable:"false"`
	States    map[string]int64 `json:"states" doc:"Tasks per state; every state is present."`
	Figures   Figures          `json:"figures"`
	Lag       []Lag            `json:"collector_lag" nullable:"false"`
	Truncated bool             `json:"truncated" doc:"More messages are open than were looked at; counts of leases read: at least."`
}

// Figures are the metrics about the fleet.
type Figures struct {
	PendingQueueAge           Figure `json:"pending_queue_age" doc:"Age of the oldest message that nobody has taken."`
	InFlight                  Figure `json:"in_flight" doc:"Messages in a worker's hands."`
	StaleInFlight             Figure `json:"stale_in_flight" doc:"Of these, those with something wrong."`
	LeaseRenewalFailures      Figure `json:"lease_renewal_failures" doc:"Attempts whose lease ran out without an answer."`
	DuplicatesCaughtByStream  Figure `json:"duplicates_caught_by_stream" doc:"Publishes that the stream caught as duplicates."`
	DuplicateDeliveryAttempts Figure `json:"duplicate_delivery_attempts" doc:"Deliveries of work that had already had its effect."`
	DuplicatesExecuted        Figure `json:"duplicates_reached_execution" doc:"Of these, the ones that ran again."`
	IdempotencyKeyReuse       Figure `json:"idempotency_key_reuse" doc:"Payloads beyond the first under one idempotency key."`
	ReceiptMissingRecoveries  Figure `json:"receipt_missing_recoveries"`
	Quarantined               Figure `json:"quarantined" doc:"Tasks set aside by a decision."`
	OutboundSendRetries       Figure `json:"outbound_send_retries"`
	RecoveryTimeAfterRestart  Figure `json:"recovery_time_after_restart"`
	MissedMessageIncidents    Figure `json:"missed_message_incidents" doc:"Messages that a user noticed missing."`
	Published                 Figure `json:"published" doc:"Messages stored."`
	Completed                 Figure `json:"completed" doc:"Messages acknowledged."`
	Died                      Figure `json:"died" doc:"Tasks that ended exhausted, dead-lettered or unknown."`
	DLQRate                   Figure `json:"dlq_rate" doc:"Dead-lettered tasks by published messages."`
	UndecodableLines          Figure `json:"undecodable_lines" doc:"Lines that could not be read and are kept aside."`
	OpenGaps                  Figure `json:"open_gaps" doc:"Gaps that are not repaired."`
}

// Figure is a number with its unit, or the reason why there is none.
type Figure struct {
	Value  *float64 `json:"value" doc:"Null: not known; reason says why." example:"3"`
	Unit   string   `json:"unit" example:"messages"`
	Window Text     `json:"window" doc:"The span that a count covers; null for what is so now." example:"24h"`
	Reason Text     `json:"reason"`
}

// Lag is how far a collector is behind its source.
type Lag struct {
	Source  string `json:"source" example:"publishes"`
	State   string `json:"state" example:"ok"`
	LagMS   *int64 `json:"lag_ms" doc:"Null while it has not reported."`
	Pending uint64 `json:"pending" doc:"Lines waiting at its source."`
}

func figure(value float64, unit string) Figure { return Figure{Value: &value, Unit: unit} }

func daily(n int64, unit string) Figure {
	f := figure(float64(n), unit)
	f.Window = "24h"
	return f
}

func untold(unit, reason string) Figure { return Figure{Unit: unit, Reason: Text(reason)} }

const notTriage = "Needs triage decisions, which are not taken here yet."

func (a *API) fleetStats(ctx context.Context, _ *struct{}) (*reply[FleetStats], error) {
	now := a.now()
	l, err := a.fleet.load(ctx, now)
	if err != nil {
		return nil, err
	}
	_, undecodable, err := a.cfg.Store.Quarantine(ctx, 1)
	if err != nil {
		return nil, err
	}
	gaps, err := a.cfg.Store.Gaps(ctx, now.Add(-recently), now+1, maxGaps)
	if err != nil {
		return nil, err
	}
	body := FleetStats{
		AsOf: Instant(now), Gaps: refsOf(gaps), States: l.states(), Figures: figuresOf(l), Lag: lagOf(a.cfg.Health.Health()), Truncated: l.held.cut,
	}
	body.Figures.UndecodableLines = figure(float64(undecodable), "lines")
	body.Figures.OpenGaps = daily(int64(len(body.Gaps)), "gaps")
	if len(body.Gaps) > maxGapRefs {
		body.Gaps = body.Gaps[:maxGapRefs]
	}
	return &reply[FleetStats]{Status: 200, CacheControl: "no-cache", Body: body}, nil
}

// figuresOf computes the figures that the rollups and the leases tell.
func figuresOf(l load) Figures {
	published, dead := l.total(lifecycle.MetricPublished, ""), l.total(lifecycle.MetricDied, string(lifecycle.StateDeadLettered))
	executed := l.layer(lifecycle.LayerExecution)
	f := Figures{
		PendingQueueAge:           pendingAge(l),
		InFlight:                  figure(float64(len(l.held.leases)), "messages"),
		StaleInFlight:             figure(float64(l.stale()), "messages"),
		LeaseRenewalFailures:      daily(l.total(lifecycle.MetricFailedAttempts, string(lifecycle.EndTimedOut)), "attempts"),
		DuplicatesCaughtByStream:  daily(l.layer(lifecycle.LayerStream), "publishes"),
		DuplicateDeliveryAttempts: daily(l.layer(lifecycle.LayerIdempotency)+l.layer(lifecycle.LayerUnknown)+executed, "deliveries"),
		DuplicatesExecuted:        daily(executed, "deliveries"),
		IdempotencyKeyReuse:       daily(l.layer(lifecycle.LayerConflict), "payloads"),
		ReceiptMissingRecoveries:  untold("recoveries", notTriage),
		Quarantined:               untold("tasks", notTriage),
		OutboundSendRetries:       untold("messages", "Only agents that report outgoing messages could tell."),
		RecoveryTimeAfterRestart:  untold("seconds", "No recovery scan has been measured."),
		MissedMessageIncidents:    untold("incidents", "Nobody can report one here yet."),
		Published:                 daily(published, "messages"),
		Completed:                 daily(l.total(lifecycle.MetricCompleted, ""), "messages"),
		Died:                      daily(l.total(lifecycle.MetricDied, ""), "tasks"),
		DLQRate:                   untold("ratio", "Nothing was published in the last 24 hours."),
	}
	if published > 0 {
		f.DLQRate = figure(float64(dead)/float64(published), "ratio")
	}
	f.DLQRate.Window = "24h"
	return f
}

// total adds a metric up over all agents; an empty label means all labels.
func (l load) total(metric lifecycle.Metric, label string) int64 {
	var sum int64
	for _, tally := range l.byAgent {
		for c, n := range tally {
			if c.Metric == metric && (label == "" || c.Label == label) {
				sum += n
			}
		}
	}
	return sum
}

func (l load) layer(layer lifecycle.Layer) int64 {
	return l.total(lifecycle.MetricDuplicates, string(layer))
}

// states counts tasks per state; every state is present.
func (l load) states() map[string]int64 {
	out := map[string]int64{}
	for _, s := range lifecycle.States() {
		out[string(s)] = l.total(lifecycle.MetricState, string(s))
	}
	return out
}

// pendingAge is zero when nothing waits: that is known.
func pendingAge(l load) Figure {
	var age time.Duration
	for _, at := range l.held.oldest {
		age = max(age, l.now.Sub(at))
	}
	return figure(age.Seconds(), "seconds")
}

func (l load) stale() int {
	n := 0
	for _, lease := range l.held.leases {
		if lease.Stale != "" {
			n++
		}
	}
	return n
}

func lagOf(parts []health.Part) []Lag {
	out := []Lag{}
	for _, p := range parts {
		if p.Kind == "collector" {
			lag := knownMilliseconds(p.Lag, p.State != health.Starting)
			out = append(out, Lag{Source: p.Name, State: string(p.State), LagMS: lag, Pending: p.Pending})
		}
	}
	return out
}
