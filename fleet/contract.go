package fleet

import (
	"cmp"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"fleetglass/lifecycle"
)

// DefaultPrefix is the first token of every subject unless configured otherwise.
const DefaultPrefix = "genbrain"

// Streams of the fleet.
const (
	StreamTasks = "TASKS" // Work queue of all agents.
	StreamDLQ   = "DLQ"   // Dead-letter entries.
	StreamRetry = "RETRY" // Retries that wait until they are due.
)

// Capture streams: what crosses the broker, recorded for Fleetglass (NATS.md, "Capture streams").
const (
	CaptureNone   = "OBS_NONE"   // An empty source; having one turns deduplication off on the streams that name it.
	CapturePub    = "OBS_PUB"    // Stored publishes, by republish.
	CaptureRaw    = "OBS_RAW"    // Every publish attempt, duplicates too, by an account self-import.
	CaptureAck    = "OBS_ACK"    // Acknowledgements: +ACK, -NAK, +WPI, +TERM, +NXT.
	CaptureEvt    = "OBS_EVT"    // Advisories and ack metrics.
	CapturePull   = "OBS_PULL"   // Optional: pull requests ("asked", not "delivered").
	CaptureReport = "OBS_REPORT" // What agents choose to report.
)

// First tokens of the subjects under which the capture streams record publishes.
const (
	pubPrefix = "obs.pub"
	rawPrefix = "obs.raw"
)

// BucketIdempotency is the KV bucket of idempotency records, one per task id.
const BucketIdempotency = "task-idempotency"

// Contract says how one fleet names things on the wire. The zero value is not usable; see [NewContract].
type Contract struct {
	Prefix  string // First token or tokens of every subject.
	Domain  string // JetStream domain of the streams; empty for the default.
	Account string // Account of the streams as shown in keys; empty for the one Fleetglass is configured for.
	Workers string // Patterns of the names of workers' consumers, separated by commas; empty for [DefaultWorkers].
}

// NewContract is the contract with this prefix, or with [DefaultPrefix] when it is empty.
func NewContract(prefix string) Contract {
	if prefix == "" {
		prefix = DefaultPrefix
	}
	return Contract{Prefix: prefix}
}

// StreamID is the identity of the first known incarnation of a stream of this fleet.
func (c Contract) StreamID(name string) lifecycle.StreamID {
	return lifecycle.StreamID{Account: c.Account, Domain: c.Domain, Name: name}
}

// TaskSubject is where a task of this type is published for this agent. A type may have several tokens.
func (c Contract) TaskSubject(agent, taskType string) string {
	return c.Prefix + ".agents." + agent + ".tasks." + taskType
}

// TaskSubjects matches the tasks of all agents.
func (c Contract) TaskSubjects() string { return c.TaskSubject("*", ">") }

// ParseTaskSubject splits a subject of the form that [Contract.TaskSubject] writes. It is not ok for any other subject.
func (c Contract) ParseTaskSubject(subject string) (agent, taskType string, ok bool) {
	rest, ok := strings.CutPrefix(subject, c.Prefix+".agents.")
	if !ok {
		return "", "", false
	}
	agent, rest, ok = strings.Cut(rest, ".")
	taskType, found := strings.CutPrefix(rest, "tasks.")
	if !ok || !found || agent == "" || taskType == "" {
		return "", "", false
	}
	return agent, taskType, true
}

// SubjectOfCapture turns the subject under which OBS_PUB or OBS_RAW recorded a publish back into the one it was published to. It is
// not ok for any other subject.
func (c Contract) SubjectOfCapture(subject string) (string, bool) {
	for _, prefix := range []string{rawPrefix, pubPrefix} {
		if rest, found := strings.CutPrefix(subject, prefix+"."); found {
			agent, taskType, ok := strings.Cut(rest, ".")
			return c.TaskSubject(agent, taskType), ok && agent != "" && taskType != ""
		}
	}
	return "", false
}

// WorkerName is the durable consumer through which an agent takes its tasks.
func WorkerName(agent string) string { return agent + lifecycle.WorkerSuffix }

// DefaultWorkers is the pattern of the names that [WorkerName] gives.
const DefaultWorkers = "*" + lifecycle.WorkerSuffix

// IsWorker reports whether a consumer is named as a worker's. It matters in streams that are no work queues: there other consumers may take
// the same messages, and only watch.
func (c Contract) IsWorker(consumer string) bool {
	for pattern := range strings.SplitSeq(cmp.Or(c.Workers, DefaultWorkers), ",") {
		if matched, err := path.Match(strings.TrimSpace(pattern), consumer); matched && err == nil {
			return true
		}
	}
	return false
}

// AgentOfWorker is the agent whose worker has this name; empty when it is not a worker's name.
func AgentOfWorker(consumer string) string { return lifecycle.AgentOfConsumer(consumer) }

// DLQSubject is where the dead-letter entry of an agent's task is published.
func (c Contract) DLQSubject(agent, category string) string {
	return c.Prefix + ".dlq." + agent + "." + category
}

// DLQSubjects matches all dead-letter entries, and what else is published under their prefix.
func (c Contract) DLQSubjects() string { return c.Prefix + ".dlq.>" }

// ParseDLQSubject splits a subject of the form that [Contract.DLQSubject] writes. The category may have several tokens.
func (c Contract) ParseDLQSubject(subject string) (agent, category string, ok bool) {
	return cutTwo(subject, c.Prefix+".dlq.")
}

// RetrySubject is where a retry waits until it is due.
func (c Contract) RetrySubject(agent, taskType string) string {
	return c.Prefix + ".retry." + agent + "." + taskType
}

// ParseRetrySubject splits a subject of the form that [Contract.RetrySubject] writes.
func (c Contract) ParseRetrySubject(subject string) (agent, taskType string, ok bool) {
	return cutTwo(subject, c.Prefix+".retry.")
}

// ReportSubject is where an agent reports an event of this kind (SPEC 1, report).
func (c Contract) ReportSubject(agent, kind string) string {
	return c.Prefix + ".lifecycle." + agent + "." + kind
}

// ParseReportSubject splits a subject of the form that [Contract.ReportSubject] writes.
func (c Contract) ParseReportSubject(subject string) (agent, kind string, ok bool) {
	return cutTwo(subject, c.Prefix+".lifecycle.")
}

func cutTwo(subject, prefix string) (first, rest string, ok bool) {
	tail, found := strings.CutPrefix(subject, prefix)
	first, rest, cut := strings.Cut(tail, ".")
	if !found || !cut || first == "" || rest == "" {
		return "", "", false
	}
	return first, rest, true
}

// Validate errors when the prefix cannot begin a subject: empty tokens, wildcards, spaces, control characters, or a reserved $.
func (c Contract) Validate() error {
	for token := range strings.SplitSeq(c.Prefix, ".") {
		if !ValidToken(token) || strings.HasPrefix(token, "$") {
			return fmt.Errorf("subject prefix %q: token %q is not usable", c.Prefix, token)
		}
	}
	for pattern := range strings.SplitSeq(c.Workers, ",") {
		if _, err := path.Match(strings.TrimSpace(pattern), ""); err != nil {
			return fmt.Errorf("workers' consumers %q: %q is not a pattern", c.Workers, pattern)
		}
	}
	if first, _, _ := strings.Cut(c.Prefix, "."); first == "obs" {
		return fmt.Errorf("subject prefix %q: obs is taken by the capture streams", c.Prefix)
	}
	return nil
}

// ValidToken reports whether text can be one token of a subject, such as an agent's name: not empty, no dot, wildcard, white space or
// control character. An agent's name is part of its worker's name too, which additionally forbids slashes.
func ValidToken(text string) bool {
	return text != "" && utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return strings.ContainsRune(`.*>/\`, r) || unicode.IsSpace(r) || unicode.IsControl(r)
	})
}
