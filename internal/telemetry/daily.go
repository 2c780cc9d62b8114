package telemetry

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"fleetglass/lifecycle"
)

// The counters about the fleet begin anew at midnight UTC: Prometheus takes that for a restart, and reading one day of rollups
// stays cheap however long the history is.
var dailyDescs = map[lifecycle.Metric]*prometheus.Desc{
	lifecycle.MetricPublished:      dailyDesc("fleetglass_messages_published_total", "Stored task messages, since midnight UTC.", "agent"),
	lifecycle.MetricCompleted:      dailyDesc("fleetglass_tasks_completed_total", "Completed tasks, since midnight UTC.", "agent"),
	lifecycle.MetricFailedAttempts: dailyDesc("fleetglass_attempts_failed_total", "Attempts that ended without success, since midnight UTC.", "agent", "how"),
	lifecycle.MetricDied:           dailyDesc("fleetglass_tasks_died_total", "Tasks that ended without completing, since midnight UTC.", "agent", "state"),
	lifecycle.MetricDuplicates:     dailyDesc("fleetglass_duplicates_total", "Findings of the duplicate ledger, since midnight UTC.", "agent", "layer"),
	lifecycle.MetricRenewalsFailed: dailyDesc("fleetglass_lease_renewals_failed_total",
		"Attempts that had sent heartbeats and lost their lease without an answer, since midnight UTC: the heartbeats stopped, or came late.", "agent", "category"),
	lifecycle.MetricKeysReused: dailyDesc("fleetglass_idempotency_keys_reused_total",
		"Stored messages with the idempotency key of an earlier message of their task, by what they hold against it, since midnight UTC.", "agent", "category"),
	lifecycle.MetricNoReceipt: dailyDesc("fleetglass_receipt_missing_recoveries_total",
		"Attempts that announced an effect, reported no receipt, and were followed by another, by class of the effect, since midnight UTC.", "agent", "category"),
	lifecycle.MetricSentAgain: dailyDesc("fleetglass_outbound_send_retries_total",
		"Outgoing messages that agents report to send again, since midnight UTC.", "agent"),
	lifecycle.MetricMissed: dailyDesc("fleetglass_missed_messages_total",
		"What somebody outside waits for in vain: accepted tasks and announced messages of tasks that ended without completing, since midnight UTC.", "agent", "category"),
}

func dailyDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// labelled are the metrics whose rollup label is one of a few words. Others have none, or task types, which are not bounded.
func labelled(m lifecycle.Metric) bool {
	switch m {
	case lifecycle.MetricPublished, lifecycle.MetricCompleted, lifecycle.MetricSentAgain:
		return false
	}
	return true
}

func (f *Fleet) today(ctx context.Context, s *sampler) error {
	today, err := f.ask.Today(ctx)
	if err != nil {
		return fmt.Errorf("ask for today's counts: %w", err)
	}
	sums := map[dailyKey]float64{}
	for cell, n := range today.Tally {
		key := dailyKey{metric: cell.Metric, agent: s.agent(cell.Agent)}
		if labelled(cell.Metric) {
			key.label = cell.Label
		}
		sums[key] += float64(n)
	}
	f.daily.begin(today.Midnight)
	for key, sum := range sums {
		labels := []string{key.agent}
		if labelled(key.metric) {
			labels = append(labels, key.label)
		}
		s.metrics = append(s.metrics, prometheus.MustNewConstMetric(dailyDescs[key.metric], prometheus.CounterValue, f.daily.rise(key, sum), labels...))
	}
	return nil
}

type dailyKey struct {
	metric       lifecycle.Metric
	agent, label string
}

// dailyCounters keep counters from falling within a day: late facts may correct a count downwards, and Prometheus would take that
// for a restart and count everything again.
type dailyCounters struct {
	day    lifecycle.Micros
	values map[dailyKey]float64
}

func (d *dailyCounters) begin(day lifecycle.Micros) {
	if day != d.day || d.values == nil {
		d.day, d.values = day, map[dailyKey]float64{}
	}
}

func (d *dailyCounters) rise(key dailyKey, value float64) float64 {
	d.values[key] = max(d.values[key], value)
	return d.values[key]
}
