package doctor

import (
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// deadLetterChecks are the traps of dead letters, of retries and of records.
func deadLetterChecks() []check {
	return []check{
		{
			code: "no_dlq", severity: Critical, find: noDLQ,
			title: "No stream takes dead letters",
			why:   "Nobody keeps what died: it is gone when it leaves the task stream.",
		},
		{
			code: "dlq_consumed", severity: Critical, find: consumedDLQ,
			title: "Reading a dead letter removes it",
			why:   "A dead letter is gone once anybody has read it, and a second reader is refused.",
		},
		{
			code: "dlq_expires", severity: Warning, find: expiringDLQ,
			title: "Dead letters expire",
			why:   "A dead letter that nobody triaged in time is deleted.",
		},
		{
			code: "dlq_nearly_full", severity: Warning, find: fullDLQ,
			title: "The dead letters are nearly full",
			why:   "At its limit the oldest dead letters are discarded, or new ones are refused.",
		},
		{
			code: "no_retry_stream", severity: Warning, find: noRetry,
			title: "No stream takes retries",
			why:   "A retry cannot wait until it is due.",
		},
		{
			code: "retry_backoff", severity: Warning, find: retryBackoff,
			title: "Retries have a backoff",
			why:   "A backoff makes a retry late: the broker adds its steps to the delay that was asked for.",
		},
		{
			code: "undeletable", severity: Warning, find: undeletable,
			title: "Messages cannot be deleted",
			why:   "A message that was moved to the dead letters stays where it was, and may be delivered again.",
		},
		{
			code: "records_go_early", severity: Warning, find: earlyRecords,
			title: "Records go before their tasks",
			why:   "A task may be delivered again after its idempotency record has gone: it then runs a second time.",
		},
		{
			code: "records_lag", severity: Warning, find: laggingRecords,
			title: "A replica that is behind denies records",
			why:   "A worker that asks such a replica is told that its task is not done, and runs it a second time.",
		},
		{
			code: "records_in_memory", severity: Critical, find: forgottenRecords,
			title: "Records are kept in memory",
			why:   "A restart of the broker forgets which tasks are done: those that are delivered again run a second time.",
		},
	}
}

// dlqs are the streams that take dead letters.
func (l look) dlqs() []Stream {
	return slices.DeleteFunc(slices.Clone(l.Streams), func(s Stream) bool {
		return !anyOverlap(s.Config.Subjects, []string{l.Contract.DLQSubject("*", ">")})
	})
}

func noDLQ(l look) []trap {
	if len(l.dlqs()) > 0 {
		return nil
	}
	return []trap{{resource: "stream " + fleet.StreamDLQ, what: "No stream takes " + l.Contract.DLQSubject("*", ">") + ".", fix: apply}}
}

func consumedDLQ(l look) []trap {
	return eachStream(l.dlqs(), func(s Stream) (string, string) {
		if s.Config.Retention == jetstream.LimitsPolicy {
			return "", ""
		}
		return "Its retention is not limits.", "The retention of a stream cannot be changed: copy its messages, then create it anew with retention limits."
	})
}

func expiringDLQ(l look) []trap {
	return eachStream(l.dlqs(), func(s Stream) (string, string) {
		if s.Config.MaxAge == 0 {
			return "", ""
		}
		return fmt.Sprintf("It deletes what is older than %s.", lifecycle.Lasting(s.Config.MaxAge)), "nats stream edit " + s.Config.Name + " --max-age 0s"
	})
}

func fullDLQ(l look) []trap {
	return eachStream(l.dlqs(), func(s Stream) (string, string) {
		if limit := s.Config.MaxMsgs; limit > 0 && float64(s.State.Msgs) >= nearShare*float64(limit) {
			return fmt.Sprintf("It holds %s of at most %s dead letters.", grouped(s.State.Msgs), grouped(limit)), fmt.Sprintf("nats stream edit %s --max-msgs %d", s.Config.Name, 10*limit)
		}
		return "", ""
	})
}

func (l look) retries() (Stream, bool) {
	subject := l.Contract.RetrySubject("*", ">")
	i := slices.IndexFunc(l.Streams, func(s Stream) bool { return anyOverlap(s.Config.Subjects, []string{subject}) })
	if i < 0 {
		return Stream{}, false
	}
	return l.Streams[i], true
}

func noRetry(l look) []trap {
	if _, there := l.retries(); there {
		return nil
	}
	return []trap{{resource: "stream " + fleet.StreamRetry, what: "No stream takes " + l.Contract.RetrySubject("*", ">") + ".", fix: apply}}
}

func retryBackoff(l look) []trap {
	s, there := l.retries()
	if !there {
		return nil
	}
	var out []trap
	for _, c := range s.Consumers {
		if len(c.Config.BackOff) > 0 {
			out = append(out, trap{
				resource: "consumer " + s.Config.Name + " " + c.Name, what: fmt.Sprintf("It has a backoff of %d steps.", len(c.Config.BackOff)),
				fix: edit(s.Config.Name, c.Name, "--backoff none"),
			})
		}
	}
	return out
}

func undeletable(l look) []trap {
	return eachStream(l.taskStreams(), func(s Stream) (string, string) {
		switch {
		case s.Config.Sealed:
			return "It is sealed.", "A sealed stream stays sealed: publish tasks to another one."
		case s.Config.DenyDelete:
			return "It denies deletions.", "Deletions cannot be allowed again: create the stream anew without deny_delete."
		}
		return "", ""
	})
}

// recordsStream is the stream behind the bucket of idempotency records.
const recordsStream = "KV_" + fleet.BucketIdempotency

func forgottenRecords(l look) []trap {
	if bucket, there := l.stream(recordsStream); !there || bucket.Config.Storage != jetstream.MemoryStorage {
		return nil
	}
	return []trap{{
		resource: "bucket " + fleet.BucketIdempotency, what: "It is kept in memory.",
		fix: "The storage of a bucket cannot be changed: copy its records, then create it anew with storage file.",
	}}
}

// earlyRecords finds a bucket that forgets a completion while its task may still come again: a message lives as long as its stream keeps it, and a
// retry waits before that (SPEC 4).
func earlyRecords(l look) []trap {
	bucket, there := l.stream(recordsStream)
	if !there || bucket.Config.MaxAge == 0 {
		return nil
	}
	var longest, wait time.Duration
	for _, s := range l.taskStreams() {
		if s.Config.MaxAge == 0 {
			return []trap{{resource: "bucket " + fleet.BucketIdempotency, what: fmt.Sprintf("It keeps records for %s, and stream %s keeps tasks for ever.", lifecycle.Lasting(bucket.Config.MaxAge), s.Config.Name),
				fix: "nats stream edit " + s.Config.Name + " --max-age 7d"}}
		}
		longest = max(longest, s.Config.MaxAge)
	}
	if retries, there := l.retries(); there {
		wait = retries.Config.MaxAge
	}
	if bucket.Config.MaxAge >= longest+wait {
		return nil
	}
	return []trap{{
		resource: "bucket " + fleet.BucketIdempotency,
		what:     fmt.Sprintf("It keeps records for %s. A task may come again for %s: %s in its stream, and %s before that as a retry.", lifecycle.Lasting(bucket.Config.MaxAge), lifecycle.Lasting(longest+wait), lifecycle.Lasting(longest), lifecycle.Lasting(wait)),
		fix:      fmt.Sprintf("nats stream edit %s --max-age %s", recordsStream, span(longest+wait+day)),
	}}
}

// laggingRecords finds a bucket whose replicas answer for its leader: one that is cut off does not know what was recorded meanwhile.
func laggingRecords(l look) []trap {
	bucket, there := l.stream(recordsStream)
	if !there || !bucket.Config.AllowDirect || bucket.Config.Replicas < 2 {
		return nil
	}
	return []trap{{
		resource: "bucket " + fleet.BucketIdempotency,
		what:     fmt.Sprintf("Each of its %d replicas answers a direct get (allow_direct), also one that is behind.", bucket.Config.Replicas),
		fix:      "nats stream edit " + recordsStream + " --no-allow-direct",
	}}
}
