package fleet

import (
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
	HeaderDLQStream     = "X-DLQ-Stream"
	HeaderDLQSeq        = "X-DLQ-Seq"
	HeaderDLQConsumer   = "X-DLQ-Consumer"
	HeaderDLQSubject    = "X-DLQ-Subject"
	HeaderDLQPath       = "X-DLQ-Path"
	HeaderDLQCategory   = "X-DLQ-Category"
	HeaderDLQDetail     = "X-DLQ-Detail"
	HeaderDLQReason     = "X-DLQ-Reason"
	HeaderDLQDeliveries = "X-DLQ-Deliveries"
	HeaderDLQFailedAt   = "X-DLQ-Failed-At"
)

// Headers that the broker adds to a republished message.
const (
	HeaderNatsStream       = "Nats-Stream"
	HeaderNatsSubject      = "Nats-Subject"
	HeaderNatsSequence     = "Nats-Sequence"
	HeaderNatsTimeStamp    = "Nats-Time-Stamp" // RFC 3339 with nanoseconds.
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
