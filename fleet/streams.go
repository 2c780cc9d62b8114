package fleet

import (
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Bodies says whether captured publishes carry the body of the task.
type Bodies string

// The choices for [Streams.Bodies].
const (
	BodiesAsIs  Bodies = ""        // What TASKS does already; with bodies where it does not republish yet.
	BodiesKept  Bodies = "kept"    // With bodies: a task that is gone from TASKS can be shown and sent again.
	HeadersOnly Bodies = "headers" // The privacy choice: a body is gone once its task is acknowledged or terminated.
)

const (
	day = 24 * time.Hour

	// CaptureKept is how long the capture streams keep the lines of the broker.
	CaptureKept = day

	mib = 1 << 20
	// shortWindow is the broker's default for deduplication, stated so that a plan can compare it.
	shortWindow = 2 * time.Minute
	// LeastWindow is the shortest window for deduplication that a broker accepts.
	LeastWindow = 100 * time.Millisecond
)

// Streams says how the streams of a fleet are to be set up.
type Streams struct {
	Contract        Contract      // Required.
	Replicas        int           // Optional; default that of TASKS where it exists, else 1.
	Bodies          Bodies        // Optional; default [BodiesAsIs].
	Pulls           bool          // Optional; default false. Capture pull requests too (OBS_PULL).
	RecordRetention time.Duration // Optional; default [RecordRetention]. How long idempotency records are kept in KV.
	DLQAgents       []string      // Optional; agents with a dead-letter stream of their own, instead of one stream for all.
	Others          []string      // Optional; default none. Further streams that take tasks of the fleet; [NewPlan] finds them.
	Shards          int           // Optional; default 1. Into how many shards the lines of each capture stream are cut; see [ValidShards].
	Readers         bool          // Optional; default false. Make the durables too, so that the observer need not be allowed to.
	By              string        // Optional; default [ReaderPrefix]. Begins the names of the durables; see [DurablePrefix].

	// deduping says that the broker drops repeated publishes from every stream, as one before nats-server 2.14 does; [NewPlan] asks it. From a stream
	// that has a source a later one drops none.
	deduping bool

	// Streams that take dead-letter entries and have names of the fleet's own: how those are read that keep what was read, and those that drop it. queued
	// says that they leave nothing to DLQ. [NewPlan] finds them.
	queues  []Reader
	emptied []string
	queued  bool
}

func (s Streams) withDefaults() Streams {
	if s.Replicas < 1 {
		s.Replicas = 1
	}
	if s.RecordRetention <= 0 {
		s.RecordRetention = RecordRetention
	}
	return s
}

// Configs is the recommended configuration of every stream, in the order in which they must be created: the capture streams first, so
// that nothing published to a new TASKS goes unseen.
func (s Streams) Configs() []jetstream.StreamConfig {
	s = s.withDefaults()
	configs := s.captures()
	configs = append(configs, s.tasks())
	configs = append(configs, s.dlqs()...)
	configs = append(configs, s.retry(), s.records())
	for i := range configs {
		configs[i].Storage, configs[i].Replicas = jetstream.FileStorage, s.Replicas
	}
	return configs
}

func (s Streams) captures() []jetstream.StreamConfig {
	undeduped := []*jetstream.StreamSource{{Name: CaptureNone}}
	var window time.Duration
	if s.deduping {
		window = LeastWindow
	}
	configs := []jetstream.StreamConfig{
		{Name: CaptureNone, Subjects: []string{"obs.none"}, MaxMsgs: 1, MaxBytes: mib},
		{Name: CapturePub, Subjects: []string{pubPrefix + ".>"}, Sources: undeduped, Duplicates: window, AllowMsgTTL: true, MaxAge: CaptureKept, MaxBytes: 512 * mib},
		{Name: CaptureRaw, Subjects: []string{rawPrefix + ".>"}, Sources: undeduped, Duplicates: window, AllowMsgTTL: true, MaxAge: CaptureKept, MaxBytes: 256 * mib},
		{Name: CaptureAck, Subjects: s.perStream(ackSubjects), MaxAge: CaptureKept, MaxBytes: 256 * mib},
		{Name: CaptureEvt, Subjects: s.perStream(eventSubjects), MaxAge: CaptureKept, MaxBytes: 256 * mib},
	}
	if s.Pulls {
		configs = append(configs, jetstream.StreamConfig{
			Name: CapturePull, Subjects: s.perStream(pullSubjects), MaxAge: time.Hour, MaxBytes: 64 * mib,
		})
	}
	for i := range configs {
		configs[i].NoAck = true
		if len(configs[i].Sources) == 0 {
			configs[i].Duplicates = shortWindow
		}
	}
	configs = append(configs, jetstream.StreamConfig{
		Name: CaptureReport, Subjects: []string{s.Contract.Prefix + ".lifecycle.>"}, MaxAge: 7 * day, MaxBytes: 256 * mib,
		Duplicates: shortWindow,
	})
	for i := range configs {
		configs[i].SubjectTransform = s.Contract.shardTransform(configs[i].Name, s.Shards)
	}
	return configs
}

// perStream are the subjects that concern TASKS, and then those that concern each of the other streams of tasks.
func (s Streams) perStream(subjects func(stream string) []string) []string {
	out := subjects(StreamTasks)
	for _, name := range s.Others {
		out = append(out, subjects(name)...)
	}
	return out
}

// ackSubjects are both forms of the acknowledgement subject, in their exact lengths: the shorter patterns overlap and are refused.
func ackSubjects(stream string) []string {
	return []string{"$JS.ACK." + stream + ".*.*.*.*.*.*", "$JS.ACK.*.*." + stream + ".*.*.*.*.*.>"}
}

// eventSubjects are those of advisories and ack metrics.
func eventSubjects(stream string) []string {
	return []string{
		"$JS.EVENT.ADVISORY.CONSUMER.*." + stream + ".*", "$JS.EVENT.ADVISORY.STREAM.*." + stream, "$JS.EVENT.METRIC.CONSUMER.ACK." + stream + ".*",
	}
}

func pullSubjects(stream string) []string {
	return []string{"$JS.API.CONSUMER.MSG.NEXT." + stream + ".*"}
}

// Captures reports whether the subjects of OBS_ACK or OBS_EVT cover what concerns a stream.
func Captures(capture, stream string, subjects []string) bool {
	needed := ackSubjects(stream)[0]
	if capture == CaptureEvt {
		needed = eventSubjects(stream)[0]
	}
	return slices.ContainsFunc(subjects, func(subject string) bool { return subjectsOverlap(subject, needed) })
}

func (s Streams) tasks() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: StreamTasks, Subjects: []string{s.Contract.TaskSubjects()}, Retention: jetstream.WorkQueuePolicy,
		MaxAge: 7 * day, Duplicates: time.Hour, MaxMsgsPerSubject: 1000, AllowDirect: true, RePublish: s.republish(),
	}
}

func (s Streams) republish() *jetstream.RePublish {
	return &jetstream.RePublish{
		Source:      s.Contract.TaskSubjects(),
		Destination: pubPrefix + ".{{wildcard(1)}}.>",
		HeadersOnly: s.Bodies == HeadersOnly,
	}
}

// DLQStream is the name of an agent's own stream of dead-letter entries.
func DLQStream(agent string) string { return StreamDLQ + "_" + agent }

// dlqs are the streams of dead-letter entries: one for all agents, or one for each agent that has its own. Both kinds cannot be: their subjects
// would overlap.
func (s Streams) dlqs() []jetstream.StreamConfig {
	if s.queued {
		return nil
	}
	names := map[string]string{StreamDLQ: s.Contract.DLQSubjects()}
	if len(s.DLQAgents) > 0 {
		names = map[string]string{}
	}
	for _, agent := range s.DLQAgents {
		names[DLQStream(agent)] = s.Contract.Prefix + ".dlq." + agent + ".>"
	}
	var out []jetstream.StreamConfig
	for _, name := range slices.Sorted(maps.Keys(names)) {
		out = append(out, jetstream.StreamConfig{
			Name: name, Subjects: []string{names[name]}, MaxMsgs: 10_000, Duplicates: 5 * time.Minute, AllowDirect: true,
		})
	}
	return out
}

func (s Streams) retry() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: StreamRetry, Subjects: []string{s.Contract.Prefix + ".retry.>"}, MaxMsgs: 1000, MaxAge: day, AllowDirect: true,
		Duplicates: time.Hour,
	}
}

// recordsStream is the stream behind [BucketIdempotency].
const recordsStream = "KV_" + BucketIdempotency

// records is the KV bucket as the stream that it is. Its markers make the expiry of a record visible to watchers. Only its leader is asked: a
// replica that is behind would deny a record, and the task would run again.
func (s Streams) records() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: recordsStream, Subjects: []string{"$KV." + BucketIdempotency + ".>"}, MaxMsgsPerSubject: 5, MaxAge: s.RecordRetention,
		Discard: jetstream.DiscardNew, AllowRollup: true, DenyDelete: true, AllowMsgTTL: true,
		SubjectDeleteMarkerTTL: time.Hour, Duplicates: shortWindow,
	}
}
