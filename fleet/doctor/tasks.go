package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// taskChecks are the traps of streams that take tasks.
func taskChecks() []check {
	return []check{
		{
			code: "no_task_stream", severity: Critical, find: noTasks,
			title: "No stream takes tasks",
			why:   "Tasks that are published are stored nowhere.",
		},
		{
			code: "nobody_takes", severity: Critical, find: orphans,
			title: "Messages that no consumer takes",
			why:   "No consumer's filter matches these messages: no worker gets them until one does.",
		},
		{
			code: "copy_empties_queue", severity: Critical, find: copies,
			title: "A copy empties the queue",
			why:   "A message that no worker's filter matches is deleted from a work queue as soon as it was copied.",
		},
		{
			code: "tasks_in_memory", severity: Critical, find: inMemory,
			title: "Tasks are kept in memory",
			why:   "A restart of the broker loses every task that waits.",
		},
		{
			code: "one_replica", severity: Warning, find: oneReplica,
			title: "Tasks have one replica",
			why:   "When the server that holds it is away nobody can publish or take tasks, and when its disk is lost the tasks are.",
		},
		{
			code: "limit_drops_tasks", severity: Warning, find: nearLimit,
			title: "A limit is about to drop tasks",
			why:   "At its limit the stream discards its oldest messages, also tasks that no worker has had.",
		},
		{
			code: "limit_refuses_tasks", severity: Warning, find: nearRefusal,
			title: "A limit is about to refuse tasks",
			why:   "The stream refuses messages at its limit: what is published then is not stored, and only its publisher is told.",
		},
		{
			code: "tasks_expire_early", severity: Warning, find: earlyExpiry,
			title: "Tasks expire before their attempts are over",
			why:   "A task leaves the stream by its age while a worker has it, or before its last attempt: nobody knows what became of it.",
		},
		{
			code: "untaken_dropped", severity: Warning, find: droppedUntaken,
			title: "Tasks without a consumer are dropped",
			why:   "The stream keeps a task only where a consumer takes it: what is published for another agent is acknowledged to its publisher and gone at once.",
		},
		{
			code: "short_duplicate_window", severity: Warning, find: shortWindow,
			title: "The duplicate window is too short",
			why:   "A publisher that repeats a publish later than that is not recognised: the task is stored twice, and only an idempotency record can stop the second run.",
		},
		{
			code: "several_takers", severity: Warning, find: sharedSubjects,
			title: "Several workers take the same tasks",
			why:   "The stream gives each task to every one of them, so that a task is done several times.",
		},
		{
			code: "headers_only", severity: Info, find: headersOnly,
			title: "Bodies of tasks are not recorded",
			why:   "The body of a task is gone once its worker has acknowledged or given it up: it can neither be shown nor sent again.",
		},
		{
			code: "batches_unseen", severity: Info, find: unseenBatches,
			title: "Atomic batches are not recorded",
			why:   "Capture streams do not see the publishes of an atomic batch. Tasks are read from their stream while they are there; what is gone before leaves a gap.",
		},
		{
			code: "rollups_allowed", severity: Warning, find: rollups,
			title: "Publishers may delete tasks",
			why:   "A publish with Nats-Rollup deletes the older tasks of its subject, or all tasks of the stream, those of other agents included. Capture does not see it.",
		},
		{
			code: "schedules_undeduplicated", severity: Info, find: schedules,
			title: "Scheduled tasks have no message id",
			why:   "The broker strips the message id of a schedule when it fires, so nothing recognises a second publish of the same task. Such a stream allows rollups too: a publisher may delete older tasks, and capture does not see it.",
		},
	}
}

func noTasks(l look) []trap {
	if len(l.taskStreams()) > 0 {
		return nil
	}
	return []trap{{resource: "stream " + fleet.StreamTasks, what: "No stream takes " + l.Contract.TaskSubjects() + ".", fix: "fleetglass provision --apply"}}
}

// named is how many subjects a finding names.
const named = 3

func orphans(l look) []trap {
	return eachStream(l.taskStreams(), func(s Stream) (string, string) {
		var subjects []string
		var messages uint64
		for _, subject := range slices.Sorted(maps.Keys(s.Waiting)) {
			if !slices.ContainsFunc(s.Consumers, func(c Consumer) bool { return l.works(s, c) && takes(c.Config, subject) }) {
				subjects, messages = append(subjects, subject), messages+s.Waiting[subject]
			}
		}
		if len(subjects) == 0 {
			return "", ""
		}
		agent, _, _ := l.Contract.ParseTaskSubject(subjects[0])
		wait := "messages wait"
		if messages == 1 {
			wait = "message waits"
		}
		return fmt.Sprintf("%s %s under %s.", grouped(messages), wait, few(subjects)),
			fmt.Sprintf("nats consumer add %s %s --filter '%s' --pull --ack explicit %s --max-deliver 3 --max-pending 1 --sample 100 --defaults",
				s.Config.Name, fleet.WorkerName(agent), l.Contract.TaskSubject(agent, ">"), longer(nil, l.Heartbeat))
	})
}

// few names the first subjects, and how many more there are.
func few(subjects []string) string {
	if len(subjects) <= named {
		return strings.Join(subjects, ", ")
	}
	return fmt.Sprintf("%s and %d more subjects", strings.Join(subjects[:named], ", "), len(subjects)-named)
}

func filtersOf(cfg jetstream.ConsumerConfig) []string {
	if cfg.FilterSubject != "" {
		return []string{cfg.FilterSubject}
	}
	return cfg.FilterSubjects
}

func takes(cfg jetstream.ConsumerConfig, subject string) bool {
	filters := filtersOf(cfg)
	return len(filters) == 0 || anyOverlap(filters, []string{subject})
}

func anyOverlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(x string) bool {
		return slices.ContainsFunc(b, func(y string) bool { return fleet.SubjectMatches(x, y) })
	})
}

func copies(l look) []trap {
	return eachStream(l.Streams, func(s Stream) (string, string) {
		for _, from := range originsOf(s.Config) {
			origin, there := l.stream(from)
			if there && takesTasks(l.Contract, origin.Config) && origin.Config.Retention == jetstream.WorkQueuePolicy {
				return fmt.Sprintf("It copies %s, which is a work queue.", from), "Remove the mirror or source, and read " + fleet.CapturePub + " instead."
			}
		}
		return "", ""
	})
}

// originsOf are the streams that a stream copies.
func originsOf(cfg jetstream.StreamConfig) []string {
	var out []string
	if cfg.Mirror != nil {
		out = append(out, cfg.Mirror.Name)
	}
	for _, source := range cfg.Sources {
		out = append(out, source.Name)
	}
	return out
}

func inMemory(l look) []trap {
	streams := l.taskStreams()
	for _, name := range []string{fleet.StreamRetry, fleet.StreamDLQ} {
		if s, there := l.stream(name); there {
			streams = append(streams, s)
		}
	}
	return eachStream(streams, func(s Stream) (string, string) {
		if s.Config.Storage != jetstream.MemoryStorage {
			return "", ""
		}
		return "It is kept in memory.", "The storage of a stream cannot be changed: drain it, then create it anew with storage file."
	})
}

func oneReplica(l look) []trap {
	several := slices.ContainsFunc(l.Streams, func(s Stream) bool { return s.Config.Replicas > 1 || s.Servers > 1 })
	return eachStream(l.taskStreams(), func(s Stream) (string, string) {
		if !several || s.Config.Replicas > 1 {
			return "", ""
		}
		return "It has one replica, and the cluster has several servers.", "nats stream edit " + s.Config.Name + " --replicas 3"
	})
}

// nearShare is the share of a limit from which the doctor speaks.
const nearShare = 0.8

func nearLimit(l look) []trap { return l.nearBounds(false) }

func nearRefusal(l look) []trap { return l.nearBounds(true) }

// nearBounds finds streams of tasks near a limit at which they refuse what is new, or else discard what is old.
func (l look) nearBounds(refuse bool) []trap {
	return eachStream(l.taskStreams(), func(s Stream) (string, string) {
		cfg, waiting := s.Config, l.waiting(s)
		refuses := cfg.Discard == jetstream.DiscardNew
		if limit := cfg.MaxMsgsPerSubject; limit > 0 && (refuses && cfg.DiscardNewPerSubject) == refuse {
			for _, subject := range slices.Sorted(maps.Keys(s.Waiting)) {
				if n := min(s.Waiting[subject], waiting); isNear(n, limit) {
					return fmt.Sprintf("%s of at most %s messages wait under %s.", grouped(n), grouped(limit), subject), editStream(s, fmt.Sprintf("--max-msgs-per-subject %d", 10*limit))
				}
			}
		}
		switch {
		case refuses != refuse:
		case isNear(waiting, cfg.MaxMsgs):
			return fmt.Sprintf("%s of at most %s messages wait in it.", grouped(waiting), grouped(cfg.MaxMsgs)), editStream(s, fmt.Sprintf("--max-msgs %d", 10*cfg.MaxMsgs))
		case s.State.Msgs > 0 && isNear(uint64(float64(s.State.Bytes)*float64(waiting)/float64(s.State.Msgs)), cfg.MaxBytes):
			return fmt.Sprintf("It holds %s of at most %s bytes.", grouped(s.State.Bytes), grouped(cfg.MaxBytes)), editStream(s, fmt.Sprintf("--max-bytes %d", 2*cfg.MaxBytes))
		}
		return "", ""
	})
}

func isNear(n uint64, limit int64) bool { return limit > 0 && float64(n) >= nearShare*float64(limit) }

// waiting is how many messages of a stream are still to be done: all that it holds, but for one that keeps what was done.
func (l look) waiting(s Stream) uint64 {
	if s.Config.Retention != jetstream.LimitsPolicy {
		return s.State.Msgs
	}
	var n uint64
	for _, c := range s.Consumers {
		if l.works(s, c) {
			n += c.Waiting
		}
	}
	return min(n, s.State.Msgs)
}

// earlyExpiry finds streams that keep a task for less time than all its attempts may take.
func earlyExpiry(l look) []trap {
	return eachStream(l.taskStreams(), func(s Stream) (string, string) {
		for _, c := range s.Consumers {
			if attempts := attemptsTake(c.Config); l.works(s, c) && s.Config.MaxAge > 0 && attempts > s.Config.MaxAge {
				return fmt.Sprintf("It keeps a task for %s. All attempts of %s take up to %s.", lifecycle.Lasting(s.Config.MaxAge), c.Name, lifecycle.Lasting(attempts)),
					editStream(s, "--max-age "+span(max(7*day, 2*attempts)))
			}
		}
		return "", ""
	})
}

func droppedUntaken(l look) []trap {
	return eachStream(l.taskStreams(), func(s Stream) (string, string) {
		if s.Config.Retention != jetstream.InterestPolicy {
			return "", ""
		}
		return "Its retention is interest.", "Create the consumer of each agent before anybody publishes tasks for it, or create the stream anew with retention work queue."
	})
}

func unseenBatches(l look) []trap {
	return eachStream(l.taskStreams(), func(s Stream) (string, string) {
		if !s.Config.AllowAtomicPublish {
			return "", ""
		}
		return "It takes atomic batches.", "Publish tasks one by one where their publish attempts matter."
	})
}

func rollups(l look) []trap {
	return eachStream(l.taskStreams(), func(s Stream) (string, string) {
		if !s.Config.AllowRollup || s.Config.DenyPurge || s.Config.AllowMsgSchedules { // Schedules bring rollups with them, and are a finding of their own.
			return "", ""
		}
		return "It allows rollups.", "nats stream edit " + s.Config.Name + " --no-allow-rollup"
	})
}

func schedules(l look) []trap {
	return eachStream(l.taskStreams(), func(s Stream) (string, string) {
		if !s.Config.AllowMsgSchedules {
			return "", ""
		}
		return "It takes schedules.", "Delay tasks through " + fleet.StreamRetry + ", from which they are published with a message id."
	})
}

// shortWindow finds streams that forget message ids before the last attempt of a task is over: a publisher that waits for its task repeats it then.
func shortWindow(l look) []trap {
	return eachStream(l.taskStreams(), func(s Stream) (string, string) {
		for _, c := range s.Consumers {
			if attempts := attemptsTake(c.Config); l.works(s, c) && s.Config.Duplicates > 0 && attempts > s.Config.Duplicates {
				return fmt.Sprintf("It remembers message ids for %s. All attempts of %s take up to %s.", lifecycle.Lasting(s.Config.Duplicates), c.Name, lifecycle.Lasting(attempts)),
					fmt.Sprintf("nats stream edit %s --dupe-window %s", s.Config.Name, span(2*attempts))
			}
		}
		return "", ""
	})
}

func sharedSubjects(l look) []trap {
	return eachStream(l.taskStreams(), func(s Stream) (string, string) {
		if s.Config.Retention == jetstream.WorkQueuePolicy { // The broker itself refuses filters that overlap.
			return "", ""
		}
		for i, a := range s.Consumers {
			for _, b := range s.Consumers[i+1:] {
				if l.works(s, a) && l.works(s, b) && (len(filtersOf(a.Config)) == 0 || len(filtersOf(b.Config)) == 0 || anyOverlap(filtersOf(a.Config), filtersOf(b.Config))) {
					return fmt.Sprintf("Workers' consumers %s and %s take the same subjects.", a.Name, b.Name),
						"Give each worker's consumer a filter of its own, or tell with --worker-consumers which consumers only watch."
				}
			}
		}
		return "", ""
	})
}

func headersOnly(l look) []trap {
	return eachStream(l.taskStreams(), func(s Stream) (string, string) {
		if s.Config.RePublish == nil || !s.Config.RePublish.HeadersOnly {
			return "", ""
		}
		return "It republishes headers only.", "Keep it where privacy asks for it. Else republish with bodies: fleetglass provision --apply, without --headers-only."
	})
}
