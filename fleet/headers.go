package fleet

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Headers of a task (SPEC 1).
const (
	HeaderMsgID          = "Nats-Msg-Id"
	HeaderTaskID         = "X-Task-ID"
	HeaderIdempotencyKey = "X-Idempotency-Key" // <task id>-<version>.
	HeaderTaskType       = "X-Task-Type"
	HeaderCreatedAt      = "X-Created-At"
	HeaderMaxRetries     = "X-Max-Retries"
	HeaderRetryStrategy  = "X-Retry-Strategy"
	HeaderTraceParent    = "traceparent"
	HeaderPublisher      = "X-Publisher" // Optional: who publishes, by its own word.
)

// Headers that Fleetglass adds to what it sends.
const (
	HeaderRetryOf         = "X-Retry-Of" // <stream>:<seq>.
	HeaderRetryGeneration = "X-Retry-Generation"
	HeaderTriageAction    = "X-Triage-Action"
	HeaderTargetModel     = "X-Target-Model"
	HeaderModifications   = "X-Modifications" // JSON.
)

// Headers of a dead-letter entry.
const (
	HeaderDLQPrefix     = "X-DLQ-" // Of all of them.
	HeaderDLQStream     = "X-DLQ-Stream"
	HeaderDLQSeq        = "X-DLQ-Seq"
	HeaderDLQConsumer   = "X-DLQ-Consumer"
	HeaderDLQSubject    = "X-DLQ-Subject"
	HeaderDLQPath       = "X-DLQ-Path"
	HeaderDLQCategory   = "X-DLQ-Category"
	HeaderDLQDetail     = "X-DLQ-Detail"
	HeaderDLQReason     = "X-DLQ-Reason"
	HeaderDLQDeliveries = "X-DLQ-Deliveries"
	HeaderDLQFailedAt   = "X-DLQ-Failed-At"   // RFC 3339.
	HeaderDLQMsgID      = "X-DLQ-Msg-Id"      // The Nats-Msg-Id that the message had: the entry has one of its own.
	HeaderDLQWhyMissing = "X-DLQ-Why-Missing" // Why the body is not the original one; absent where it is.
)

// Headers that the broker adds to a republished message.
const (
	HeaderNatsStream       = "Nats-Stream"
	HeaderNatsSubject      = "Nats-Subject"
	HeaderNatsSequence     = "Nats-Sequence"
	HeaderNatsTimeStamp    = "Nats-Time-Stamp"      // RFC 3339 with nanoseconds.
	HeaderNatsRollup       = "Nats-Rollup"          // The message removes the older ones of its subject ("sub"), or all of its stream ("all").
	HeaderNatsSchedule     = "Nats-Schedule"        // When the broker publishes the message to another subject: "@at …", "@every …" or as a cron table says.
	HeaderNatsTarget       = "Nats-Schedule-Target" // The subject that a schedule is published to.
	HeaderNatsTTL          = "Nats-TTL"             // How long the stream keeps the message: a duration, a number of seconds, or "never".
	HeaderNatsLastSequence = "Nats-Last-Sequence"
	HeaderNatsMsgSize      = "Nats-Msg-Size" // Bytes of the body that a headers-only republish left out.
)

// HeaderValue is the first value of a header. Names are matched exactly, and where none is, without regard to case: some clients
// rewrite them.
func HeaderValue(headers map[string][]string, name string) string {
	if v := headers[name]; len(v) > 0 {
		return v[0]
	}
	found, value := "", ""
	for k, v := range headers {
		if len(v) > 0 && strings.EqualFold(k, name) && (found == "" || k < found) {
			found, value = k, v[0]
		}
	}
	return value
}

// brokersHeader is the first value of a header by which the broker itself acts. It knows no other spelling of the name.
func brokersHeader(headers map[string][]string, name string) string {
	if v := headers[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// EscapesCapture reports whether a message has a header by which its own stream was asked for something that the capture streams do not do, or do not have. They refuse
// it, so that neither OBS_PUB nor OBS_RAW stores its copy although TASKS stored the message. Such a publish is seen by a plain subscription to
// obs.pub.> and obs.raw.>, or later by the gap it leaves in the sequence of OBS_PUB.
func EscapesCapture(headers map[string][]string) bool {
	for name := range headers {
		if slices.ContainsFunc(demanding, func(begins string) bool {
			return len(name) >= len(begins) && strings.EqualFold(name[:len(begins)], begins)
		}) {
			return true
		}
	}
	return false
}

// demanding are the beginnings of the names of such headers: expectations of the stream, rollups, atomic batches, counters, schedules and what they
// published, and what a stream gathered from another.
var demanding = []string{"Nats-Expected-", HeaderNatsRollup, "Nats-Batch-Id", "Nats-Incr", "Nats-Schedule", "Nats-Stream-Source"}

// Bounds of the headers that Fleetglass keeps of one message. The broker itself allows megabytes.
const (
	maxHeaders     = 64
	maxHeaderBytes = 16 << 10
)

// LimitHeaders bounds the headers of a message to 64 names and 16 KiB in all, so that one message cannot bloat the store. The contract's own
// headers are kept first, then the others by name. It returns the map itself when nothing had to go, and otherwise how many names
// were dropped.
func LimitHeaders(headers map[string][]string) (kept map[string][]string, dropped int) {
	if len(headers) <= maxHeaders && headerBytes(headers) <= maxHeaderBytes {
		return headers, 0
	}
	names := slices.SortedFunc(maps.Keys(headers), func(a, b string) int {
		return cmp.Or(cmp.Compare(headerRank(a), headerRank(b)), cmp.Compare(a, b))
	})
	kept = map[string][]string{}
	left := maxHeaderBytes
	for _, name := range names {
		size := headerBytes(map[string][]string{name: headers[name]})
		if len(kept) == maxHeaders || size > left {
			dropped++
			continue
		}
		kept[name], left = headers[name], left-size
	}
	return kept, dropped
}

func headerRank(name string) int {
	lower := strings.ToLower(name)
	if strings.HasPrefix(lower, "nats-") || strings.HasPrefix(lower, "x-") || lower == HeaderTraceParent {
		return 0
	}
	return 1
}

func headerBytes(headers map[string][]string) int {
	n := 0
	for name, values := range headers {
		for _, v := range values {
			n += len(name) + len(v) + 4
		}
	}
	return n
}
