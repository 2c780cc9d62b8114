package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/lifecycle"
)

// works reports whether workers take tasks through a consumer. In a work queue every consumer does, but for one by which the broker copies it ([fleet.IsCopier]).
func (l look) works(s Stream, c Consumer) bool {
	copies := c.Config.AckPolicy == jetstream.AckFlowControlPolicy
	return l.Contract.IsWorker(c.Name) || s.Config.Retention == jetstream.WorkQueuePolicy && !copies
}

// workerChecks are the traps of workers' consumers (NATS.md, "Timers and configuration traps").
func workerChecks() []check {
	return []check{
		{
			code: "heartbeat_late", severity: Warning, find: lateHeartbeats,
			title: "The first wait is shorter than a heartbeat",
			why: "The first wait is over before a worker speaks for the first time. The broker gives the task to another worker while the first one is at " +
				"work, and a late heartbeat does not take that back. A backoff replaces the ack wait.",
		},
		{
			code: "nak_delay_late", severity: Info, find: lateNakDelays,
			title: "Delays of naks are late",
			why:   "The broker counts the delay of a nak from the first step of the backoff. A later attempt comes back late: by as much as its own step is longer than the first.",
		},
		{
			code: "nak_ignores_backoff", severity: Info, find: fastNaks,
			title: "Plain naks ignore the backoff",
			why: "A nak without a delay ignores the backoff: the task is delivered again at once, and all attempts may be used up within milliseconds. Workers " +
				"should nak with a delay.",
		},
		{
			code: "deliver_for_ever", severity: Warning, find: endlessDeliveries,
			title: "Attempts have no end",
			why:   "A task that can never succeed is delivered again for ever. It holds its worker, and never becomes a dead letter.",
		},
		{
			code: "ack_not_explicit", severity: Critical, find: implicitAcks,
			title: "Tasks are acknowledged without being done",
			why:   "Tasks are acknowledged that no worker finished: a crash loses them.",
		},
		{
			code: "not_all_delivered", severity: Critical, find: skippedTasks,
			title: "Waiting tasks are skipped",
			why:   "Tasks that were stored before the consumer was created are never delivered.",
		},
		{
			code: "consumer_expires", severity: Warning, find: expiringConsumers,
			title: "A worker's consumer expires",
			why:   "The broker deletes the consumer while its worker is away. Its attempts are forgotten, and tasks in hand start anew at attempt 1.",
		},
		{
			code: "acks_not_sampled", severity: Info, find: unsampled,
			title: "Acknowledgements are not confirmed",
			why: "The broker does not confirm acknowledgements by itself, so each is a claim until the stream shows it. A worker that creates its consumer " +
				"anew without sample_freq removes it.",
		},
		{
			code: "consumer_paused", severity: Warning, find: paused,
			title: "A worker is paused",
			why:   "Its tasks wait until the pause is over.",
		},
		{
			code: "filter_takes_nothing", severity: Warning, find: deafConsumers,
			title: "A filter takes nothing",
			why:   "Its worker never gets a task.",
		},
		{
			code: "memory_consumer", severity: Warning, find: forgetful,
			title: "Attempts are kept in memory",
			why:   "A restart of the broker forgets which attempts were made: tasks in hand are delivered again as attempt 1.",
		},
	}
}

func lateHeartbeats(l look) []trap {
	return l.eachWorker(func(stream string, c Consumer) (string, string) {
		first, from := c.Config.AckWait, "ack wait"
		if len(c.Config.BackOff) > 0 {
			first, from = c.Config.BackOff[0], "backoff"
		}
		if first <= 0 || first > l.Heartbeat {
			return "", ""
		}
		return fmt.Sprintf("Attempt 1 has %s, from the %s. Workers send a heartbeat every %s.", lifecycle.Lasting(first), from, lifecycle.Lasting(l.Heartbeat)), edit(stream, c.Name, longer(c.Config.BackOff, l.Heartbeat))
	})
}

// longer are the flags that give every attempt more than two heartbeats of time. The nats command line makes linear backoffs only.
func longer(backoff []time.Duration, heartbeat time.Duration) string {
	least := 2*heartbeat + heartbeat/2
	if len(backoff) == 0 {
		return "--wait " + span(least)
	}
	return fmt.Sprintf("--backoff linear --backoff-steps %d --backoff-min %s --backoff-max %s", len(backoff), span(least), span(max(least, slices.Max(backoff))))
}

func lateNakDelays(l look) []trap {
	return l.eachWorker(func(stream string, c Consumer) (string, string) {
		b := c.Config.BackOff
		if len(b) < 2 || slices.Max(b) == slices.Min(b) {
			return "", ""
		}
		return fmt.Sprintf("Its backoff grows from %s to %s: a nak's delay may be late by %s.", lifecycle.Lasting(b[0]), lifecycle.Lasting(slices.Max(b)), lifecycle.Lasting(slices.Max(b)-b[0])),
			"Let workers ask for shorter delays, or give all steps of the backoff the same length."
	})
}

func fastNaks(l look) []trap {
	return l.eachWorker(func(_ string, c Consumer) (string, string) {
		if len(c.Config.BackOff) == 0 || c.Config.MaxDeliver <= 0 {
			return "", ""
		}
		return fmt.Sprintf("It has a backoff and %d attempts.", c.Config.MaxDeliver), `Let workers answer -NAK {"delay": nanoseconds}.`
	})
}

func endlessDeliveries(l look) []trap {
	return l.eachWorker(func(stream string, c Consumer) (string, string) {
		if c.Config.MaxDeliver > 0 || c.Config.AckPolicy != jetstream.AckExplicitPolicy {
			return "", ""
		}
		return "It has no max_deliver.", edit(stream, c.Name, "--max-deliver 3")
	})
}

func implicitAcks(l look) []trap {
	return l.eachWorker(func(stream string, c Consumer) (string, string) {
		if c.Config.AckPolicy == jetstream.AckExplicitPolicy {
			return "", ""
		}
		return fmt.Sprintf("Its ack policy is %s.", strings.ToLower(strings.TrimPrefix(c.Config.AckPolicy.String(), "Ack"))),
			"The policy of a consumer cannot be changed: create it anew with ack policy explicit when nothing is in hand."
	})
}

func skippedTasks(l look) []trap {
	return l.eachWorker(func(stream string, c Consumer) (string, string) {
		if c.Config.DeliverPolicy == jetstream.DeliverAllPolicy {
			return "", ""
		}
		return fmt.Sprintf("Its deliver policy is %s.", c.Config.DeliverPolicy), "The policy cannot be changed: create the consumer anew with deliver policy all."
	})
}

func expiringConsumers(l look) []trap {
	return l.eachWorker(func(stream string, c Consumer) (string, string) {
		switch {
		case c.Config.Durable == "":
			return "It is not durable.", "Create a durable consumer of a fixed name for the worker."
		case c.Config.InactiveThreshold > 0:
			return fmt.Sprintf("The broker deletes it after %s without a pull.", lifecycle.Lasting(c.Config.InactiveThreshold)), "Set inactive_threshold to 0 in the editor that this opens: " + edit(stream, c.Name, "--interactive")
		}
		return "", ""
	})
}

func unsampled(l look) []trap {
	return l.eachWorker(func(stream string, c Consumer) (string, string) {
		if f := strings.TrimSuffix(c.Config.SampleFrequency, "%"); f == "100" {
			return "", ""
		}
		return "Its sample_freq is not 100.", edit(stream, c.Name, "--sample 100")
	})
}

func paused(l look) []trap {
	return l.eachWorker(func(stream string, c Consumer) (string, string) {
		if !c.Paused {
			return "", ""
		}
		until := "."
		if c.Config.PauseUntil != nil {
			until = " until " + c.Config.PauseUntil.UTC().Format("2006-01-02 15:04:05 UTC") + "."
		}
		return "It is paused" + until, fmt.Sprintf("nats consumer resume %s %s", stream, c.Name)
	})
}

func deafConsumers(l look) []trap {
	return l.eachWorker(func(stream string, c Consumer) (string, string) {
		filters := filtersOf(c.Config)
		s, _ := l.stream(stream)
		if len(filters) == 0 || anyOverlap(filters, s.Config.Subjects) {
			return "", ""
		}
		return fmt.Sprintf("Its filter %s matches no subject of the stream.", strings.Join(filters, ", ")), edit(stream, c.Name, "--filter '"+l.Contract.TaskSubject("<agent>", ">")+"'")
	})
}

func forgetful(l look) []trap {
	return l.eachWorker(func(stream string, c Consumer) (string, string) {
		if s, _ := l.stream(stream); !c.Config.MemoryStorage || s.Config.Storage == jetstream.MemoryStorage {
			return "", ""
		}
		return "Its state is kept in memory, and the stream on disk.", "Create the consumer anew without mem_storage when nothing is in hand."
	})
}
