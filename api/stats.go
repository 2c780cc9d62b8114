package api

import (
	"context"

	"fleetglass/alerts"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
	"fleetglass/query"
)

// FleetStats are the figures of SPEC 7.
type FleetStats struct {
	AsOf      Instant          `json:"as_of"`
	Gaps      []GapRef         `json:"gaps" nullable:"false"`
	States    map[string]int64 `json:"states" doc:"Tasks per state; every state is present."`
	Figures   Figures          `json:"figures"`
	Lag       []Lag            `json:"collector_lag" nullable:"false"`
	Alerts    map[string]int   `json:"alerts" doc:"Alerts that fire, by severity; every severity is present."`
	Firing    []AlertRef       `json:"firing" nullable:"false" doc:"The worst alerts that fire, at most 20; GET /api/v1/alerts has all."`
	Attention []Attention      `json:"attention" nullable:"false" doc:"What somebody should look at now, in order of harm, as the overview shows it. Alerts say the same once it lasts; more than four findings of one rule are one."`
	Truncated bool             `json:"truncated" doc:"More messages are open than are checked one by one: counts of leases are lower bounds."`
}

// AlertRef names an alert that fires.
type AlertRef struct {
	ID       string `json:"id" example:"stale-5f0c2b1a9d8e"`
	Rule     string `json:"rule" example:"stale"`
	Severity string `json:"severity" example:"warning"`
	What     string `json:"what" doc:"It may hold text of the fleet, which is untrusted."`
	Agent    Text   `json:"agent"`
	Self     string `json:"self"`
}

// Attention is one thing that somebody should look at.
type Attention struct {
	Rule     string      `json:"rule" example:"backlog_idle"`
	Harm     string      `json:"harm" doc:"What harm it does. The worst comes first." example:"standstill"`
	Severity string      `json:"severity" example:"critical"`
	What     string      `json:"what" doc:"What is so. It may hold text of the fleet, which is untrusted."`
	Why      string      `json:"why" doc:"What it means."`
	Next     string      `json:"next" doc:"What to do about it."`
	Count    int64       `json:"count" doc:"How many things it is about."`
	Since    Instant     `json:"since" doc:"Since when it is so; null where that is not known."`
	Agent    Text        `json:"agent"`
	TaskID   Text        `json:"task_id"`
	Do       AlertAction `json:"do" doc:"The one thing to do next."`
}

// attentionOf writes what somebody should look at.
func attentionOf(found []alerts.Finding) []Attention {
	out := []Attention{}
	for _, f := range found {
		out = append(out, Attention{
			Rule: string(f.Rule), Harm: string(f.Harm), Severity: string(f.Severity), What: f.What, Why: f.Why, Next: f.Next, Count: f.Count, Since: Instant(f.Since),
			Agent: Text(f.Labels.Agent), TaskID: Text(f.TaskID), Do: actionOf(f.Do, f.TaskID),
		})
	}
	return out
}

// maxFiring is how many alerts the figures name.
const maxFiring = 20

// firingOf names the alerts that fire, the worst first.
func firingOf(board query.Alerts) []AlertRef {
	out := []AlertRef{}
	for _, s := range board.All {
		if s.State == alerts.StateFiring && len(out) < maxFiring {
			out = append(out, AlertRef{ID: s.ID, Rule: string(s.Rule), Severity: string(s.Severity), What: s.What, Agent: Text(s.Labels.Agent), Self: alertPath(s.ID)})
		}
	}
	return out
}

// Figures are the metrics about the fleet.
type Figures struct {
	PendingQueueAge           Figure `json:"pending_queue_age" doc:"Age of the oldest message that no worker has now."`
	InFlight                  Figure `json:"in_flight" doc:"Messages that a worker holds."`
	StaleInFlight             Figure `json:"stale_in_flight" doc:"How many of these leases have something wrong."`
	LeaseRenewalFailures      Figure `json:"lease_renewal_failures" doc:"Attempts whose lease ran out without an answer."`
	DuplicatesCaughtByStream  Figure `json:"duplicates_caught_by_stream" doc:"Publishes that the stream caught as duplicates."`
	DuplicateDeliveryAttempts Figure `json:"duplicate_delivery_attempts" doc:"Deliveries of work that had already had its effect."`
	DuplicatesExecuted        Figure `json:"duplicates_reached_execution" doc:"How many of these ran again."`
	IdempotencyKeyReuse       Figure `json:"idempotency_key_reuse" doc:"Further payloads under an idempotency key that was used before."`
	ReceiptMissingRecoveries  Figure `json:"receipt_missing_recoveries" doc:"Attempts that announced an effect, reported no receipt, and were followed by another. Not known where agents report nothing."`
	Quarantined               Figure `json:"quarantined" doc:"Dead letters that a decision keeps apart, now."`
	OutboundSendRetries       Figure `json:"outbound_send_retries" doc:"Outgoing messages that agents announced again. Not known where agents report nothing."`
	RecoveryTimeAfterRestart  Figure `json:"recovery_time_after_restart" doc:"After the latest restart that is over: until it was known what became of every message in hand."`
	MissedMessageIncidents    Figure `json:"missed_message_incidents" doc:"What somebody outside waits for in vain: accepted tasks and announced messages of tasks that ended without completing. Not known where agents report nothing."`
	Published                 Figure `json:"published" doc:"Messages stored."`
	Completed                 Figure `json:"completed" doc:"Messages acknowledged."`
	Died                      Figure `json:"died" doc:"Tasks that ended exhausted, dead-lettered or unknown."`
	DLQRate                   Figure `json:"dlq_rate" doc:"Dead-lettered tasks by published messages."`
	UndecodableLines          Figure `json:"undecodable_lines" doc:"Lines that could not be decoded and are in quarantine."`
	OpenGaps                  Figure `json:"open_gaps" doc:"Gaps whose lines were not read again."`
}

// Figure is a number with its unit, or the reason why there is none.
type Figure struct {
	Value  *float64 `json:"value" doc:"Null when it is not known; reason says why." example:"3"`
	Unit   string   `json:"unit" example:"messages"`
	Window Text     `json:"window" doc:"The span that a count covers; null for a value of now." example:"24h"`
	Reason Text     `json:"reason"`
}

// Lag is how far a collector is behind its source.
type Lag struct {
	Source  string  `json:"source" example:"publishes"`
	State   string  `json:"state" example:"ok"`
	LagMS   *int64  `json:"lag_ms" doc:"Null while it looks at nothing: down, starting or not configured."`
	Pending *uint64 `json:"pending" doc:"Lines that wait at its source; null likewise."`
}

func figure(value float64, unit string) Figure { return Figure{Value: &value, Unit: unit} }

func daily(n int64, unit string) Figure {
	f := figure(float64(n), unit)
	f.Window = "24h"
	return f
}

func untold(unit, reason string) Figure { return Figure{Unit: unit, Reason: Text(reason)} }

// reported is a count of what agents report. Where none of them reported anything, nothing counted is no zero.
func reported(s query.Statistics, n int64, unit string) Figure {
	if n == 0 && s.Reported == 0 {
		return untold(unit, "No agent reported the end of an attempt in the last 24 hours, and only reports tell.")
	}
	return daily(n, unit)
}

func (a *API) fleetStats(ctx context.Context, _ *struct{}) (*reply[FleetStats], error) {
	s, err := a.cfg.Query.Statistics(ctx)
	if err != nil {
		return nil, err
	}
	board, err := a.cfg.Query.Alerts(ctx)
	if err != nil {
		return nil, err
	}
	found, err := a.cfg.Query.Findings(ctx)
	if err != nil {
		return nil, err
	}
	body := statsOf(s)
	body.Attention = attentionOf(found.Attention())
	body.Alerts, body.Firing = severitiesOf(board.Counts), firingOf(board)
	body.Lag = lagOf(a.cfg.Health.Health())
	return &reply[FleetStats]{Status: 200, CacheControl: "no-cache", Body: body}, nil
}

func statsOf(s query.Statistics) FleetStats {
	return FleetStats{
		AsOf: Instant(s.AsOf), Gaps: refsOf(s.OpenGaps[:min(len(s.OpenGaps), maxGapRefs)]), States: countsOf(s.States), Figures: figuresOf(s),
		Truncated: s.InFlight.Partial,
	}
}

// figuresOf writes the figures that are known, and why the others are not.
func figuresOf(s query.Statistics) Figures {
	executed, proved := s.Executed()
	f := Figures{
		PendingQueueAge:           figure(s.InFlight.OldestWaitingAge().Seconds(), "seconds"), // Zero when nothing waits: that is known.
		InFlight:                  figure(float64(s.InFlight.Held()), "messages"),
		StaleInFlight:             figure(float64(s.InFlight.Stale()), "messages"),
		LeaseRenewalFailures:      daily(s.TimedOut, "attempts"),
		DuplicatesCaughtByStream:  daily(s.Found[lifecycle.LayerStream], "publishes"),
		DuplicateDeliveryAttempts: daily(s.Found[lifecycle.LayerIdempotency]+s.Found[lifecycle.LayerUnknown]+executed, "deliveries"),
		DuplicatesExecuted:        daily(executed, "deliveries"),
		IdempotencyKeyReuse:       daily(s.Found[lifecycle.LayerConflict], "payloads"),
		ReceiptMissingRecoveries:  reported(s, s.NoReceipt, "recoveries"),
		Quarantined:               untold("tasks", "This server has no store of dead letters."),
		OutboundSendRetries:       reported(s, s.SentAgain, "messages"),
		RecoveryTimeAfterRestart:  untold("seconds", "No restart with messages in hand is over."),
		MissedMessageIncidents:    reported(s, s.Missed, "incidents"),
		Published:                 daily(s.Day.Published, "messages"),
		Completed:                 daily(s.Day.Completed, "messages"),
		Died:                      daily(s.Died, "tasks"),
		DLQRate:                   untold("ratio", "Nothing was published in the last 24 hours."),
		UndecodableLines:          figure(float64(s.Undecodable), "lines"),
		OpenGaps:                  daily(int64(len(s.OpenGaps)), "gaps"),
	}
	if !proved {
		f.DuplicatesExecuted = untold("deliveries", "Only completion records and reports of agents prove it: "+s.NotExecuted()+".")
	}
	if s.DLQRead {
		f.Quarantined = figure(float64(s.Quarantined), "tasks")
	}
	if s.Recovered != nil {
		f.RecoveryTimeAfterRestart = figure(s.Recovered.RecoveryTime(s.AsOf).Seconds(), "seconds")
	}
	if s.Day.Published > 0 {
		f.DLQRate = figure(float64(s.DeadLettered)/float64(s.Day.Published), "ratio")
	}
	f.DLQRate.Window = "24h"
	return f
}

func lagOf(parts []health.Part) []Lag {
	out := []Lag{}
	for _, p := range parts {
		if p.Kind == "collector" {
			out = append(out, Lag{Source: p.Name, State: string(p.State), LagMS: knownMilliseconds(p.Lag, p.Measured()), Pending: pendingOf(p)})
		}
	}
	return out
}
