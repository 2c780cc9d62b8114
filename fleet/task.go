package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"fleetglass/lifecycle"
)

// Task is what a message says about the task it carries. Every text is untrusted, but valid UTF-8 without control characters and
// bounded in length.
type Task struct {
	ID             string // Never empty: the first that exists of X-Task-ID, payload taskId, Nats-Msg-Id without :r<n>, the message key.
	MsgID          string // Nats-Msg-Id as sent; empty when the publisher set none.
	IdempotencyKey string // X-Idempotency-Key, else <task id>-<version> where the payload has a version, else empty.
	Type           string // X-Task-Type, else payload type, else empty: the subject knows.
	Generation     int    // 0 for the first message of a task; from X-Retry-Generation, else from the :r<n> of the message id.
	RetryOf        string // <stream>:<seq> of the message that this one retries; empty for none.
	TriageAction   string // The action that sent it; empty for none.
	TraceParent    string // W3C trace context; empty unless well formed.
	Publisher      string // Who published it: Fleetglass where an action sent it, else as X-Publisher says; empty where nothing says it.
	Title          string // A short human name found in the payload, one line of at most 120 runes; empty when there is none.
	CreatedAt      lifecycle.Micros
	TTL            time.Duration // Of Nats-TTL; zero for none, and where it is malformed; [lifecycle.NeverExpires].
	Schedule       string        // Of Nats-Schedule, as sent: when the broker publishes it to its target; empty for what is no schedule.
	Target         string        // Of Nats-Schedule-Target.
	Size           int64         // Body bytes, also when a headers-only republish left the body out.
	PayloadHash    string        // SHA-256 of the body, hex; empty when the body was left out.
}

const (
	maxIDBytes   = 200 // Longer ids are cut and marked with a hash, so that they stay distinct.
	maxTextRunes = 256
	maxTitle     = 120
	maxPublisher = 60
	maxRetryNum  = 1_000_000
)

// PublisherFleetglass is the publisher of retries and reassignments.
const PublisherFleetglass = "Fleetglass"

// ReadTask reads a task message leniently: whatever is missing or malformed is left out, and the id falls back to the message key.
// It is pure, never panics, and takes time linear in the body.
func ReadTask(headers map[string][]string, body []byte, key lifecycle.MessageKey) Task {
	get := func(name string) string { return HeaderValue(headers, name) }
	p := readPayload(body)
	msgID := cleanID(brokersHeader(headers, HeaderMsgID))
	base, suffixGeneration := SplitMsgID(msgID)
	t := Task{
		MsgID:        msgID,
		ID:           firstNonEmpty(cleanID(get(HeaderTaskID)), cleanID(p.taskID), base, key.String()),
		Type:         firstNonEmpty(oneLine(get(HeaderTaskType), maxTextRunes), oneLine(p.taskType, maxTextRunes)),
		Generation:   suffixGeneration,
		RetryOf:      oneLine(get(HeaderRetryOf), maxTextRunes),
		TriageAction: oneLine(get(HeaderTriageAction), maxTextRunes),
		TraceParent:  traceParent(get(HeaderTraceParent)),
		Title:        oneLine(p.title, maxTitle),
		CreatedAt:    firstKnown(ParseInstant(get(HeaderCreatedAt)), ParseInstant(p.createdAt)),
		TTL:          ReadTTL(headers),
		Schedule:     oneLine(brokersHeader(headers, HeaderNatsSchedule), maxTextRunes),
		Target:       oneLine(brokersHeader(headers, HeaderNatsTarget), maxTextRunes),
		Size:         int64(len(body)),
	}
	t.Publisher = publisherOf(get(HeaderPublisher))
	if t.TriageAction != "" {
		t.Publisher = PublisherFleetglass // A retry keeps the headers of the message that died, that of its publisher too.
	}
	if digits := get(HeaderRetryGeneration); digits != "" {
		if n, err := strconv.Atoi(digits); err == nil && n >= 0 && n <= maxRetryNum {
			t.Generation = n
		}
	}
	t.IdempotencyKey = cleanID(get(HeaderIdempotencyKey))
	if v := cleanID(p.version); t.IdempotencyKey == "" && v != "" {
		t.IdempotencyKey = cleanID(IdempotencyKey(t.ID, v))
	}
	if len(body) == 0 {
		if left, err := strconv.ParseInt(get(HeaderNatsMsgSize), 10, 64); err == nil && left > 0 {
			t.Size = left
			return t
		}
	}
	t.PayloadHash = Fingerprint(body)
	return t
}

// publisherOf is who publishes, by its own word: empty where that is the name by which Fleetglass's own messages are known.
func publisherOf(name string) string {
	seen := strings.Map(func(r rune) rune {
		if unseenRune(r) {
			return -1
		}
		return r
	}, name)
	if said := oneLine(seen, maxPublisher); !strings.EqualFold(said, PublisherFleetglass) {
		return said
	}
	return ""
}

// ReadTTL reads the Nats-TTL of a message as the broker does: a duration of at least a second, of which the whole seconds count, a number of seconds, or "never", which
// is [lifecycle.NeverExpires]. Anything else is zero: the message goes with the age of its stream.
func ReadTTL(headers map[string][]string) time.Duration {
	text := brokersHeader(headers, HeaderNatsTTL)
	if strings.EqualFold(text, "never") {
		return lifecycle.NeverExpires
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 && n < maxTTL/int64(time.Second) {
		return time.Duration(n) * time.Second
	}
	if d, err := time.ParseDuration(text); err == nil && d >= time.Second && d < time.Duration(maxTTL) {
		return d.Truncate(time.Second)
	}
	return 0
}

// maxTTL bounds the Nats-TTL that is believed, so that instants stay within range: a hundred years.
const maxTTL = int64(100 * 365 * 24 * time.Hour)

// Fingerprint is the SHA-256 of a body in hexadecimal. Two publishes of one key with different fingerprints are a conflict.
func Fingerprint(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// IdempotencyKey is the form of X-Idempotency-Key: <task id>-<version>.
func IdempotencyKey(taskID, version string) string { return taskID + "-" + version }

// SplitMsgID takes the generation suffix :r<n> off a message id. Without one the generation is 0.
func SplitMsgID(msgID string) (base string, generation int) {
	i := strings.LastIndex(msgID, ":r")
	if i <= 0 {
		return msgID, 0
	}
	digits := msgID[i+2:]
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || n > maxRetryNum || strconv.Itoa(n) != digits {
		return msgID, 0
	}
	return msgID[:i], n
}

// RetryMsgID is the message id of generation n of a task first published as msgID: inside the dedupe window the original id would be
// swallowed (NATS.md, "Replay trap"). A suffix that msgID already has is replaced.
func RetryMsgID(msgID string, generation int) string {
	base, _ := SplitMsgID(msgID)
	if generation < 1 {
		return base
	}
	return base + ":r" + strconv.Itoa(generation)
}

func firstNonEmpty(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}

func firstKnown(a, b lifecycle.Micros) lifecycle.Micros {
	if a.Known() {
		return a
	}
	return b
}
