package publishes

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"fleetglass/collectors"
	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// SourceStored is the name of the source that reads stored messages; its durable is what [collectors.PublishBarrier] watches.
const SourceStored = "publishes"

// DefaultBodyLimit is how much of a body is kept, bytes.
const DefaultBodyLimit = 8 << 20

// Config is how stored messages are read.
type Config struct {
	collectors.Config
	BodyLimit int // Optional; default 8 MiB. Bytes of a body that are kept.
}

// New returns the collector of OBS_PUB.
func New(cfg Config) (*collectors.Collector, error) {
	if cfg.BodyLimit <= 0 {
		cfg.BodyLimit = DefaultBodyLimit
	}
	decode := func(line collectors.Line, streams collectors.Streams, into *lifecycle.Batch) error {
		return Decode(line, streams, cfg.BodyLimit, into)
	}
	return collectors.New(cfg.Config, collectors.Source{Name: SourceStored, Stream: fleet.CapturePub, Decode: decode, Resolves: true})
}

// Decode turns a republished message into a Published event and its payload. Agent and type are the subject's; the time is the broker's
// own. It errors when the headers that the broker adds are missing or malformed, or cannot be true: such a line was not republished by a
// stream, but sent by somebody who may publish under obs.pub.
func Decode(line collectors.Line, streams collectors.Streams, bodyLimit int, into *lifecycle.Batch) error {
	o, err := readOrigin(line.Headers)
	if err != nil {
		return err
	}
	if streams.IsCopy(o.stream, line.Headers) {
		return nil
	}
	key, err := streams.Message("", o.stream, o.at, o.seq)
	if err != nil {
		return err
	}
	if err := o.believable(line, streams, key); err != nil {
		return err
	}
	headers := ownHeaders(line.Headers, len(line.Body) == 0)
	task := fleet.ReadTask(line.Headers, line.Body, key)
	agent, taskType, ok := streams.Contract.ParseTaskSubject(o.subject)
	if !ok {
		taskType = task.Type
	}
	e := line.Event(lifecycle.Published)
	e.At, e.TaskID, e.Message, e.Agent = o.at, task.ID, key, agent
	e.Detail = lifecycle.Detail{
		Naming: lifecycle.Naming{
			MsgID: task.MsgID, Subject: o.subject, Type: taskType, IdempotencyKey: task.IdempotencyKey, PayloadHash: task.PayloadHash,
		},
		Publication: lifecycle.Publication{
			Generation: task.Generation, RetryOf: task.RetryOf, TriageAction: task.TriageAction, TraceParent: task.TraceParent, Publisher: task.Publisher,
			Title: task.Title, Size: task.Size, TTL: task.TTL, Window: streams.LastSeq[o.stream].Window,
			Schedule: task.Schedule, Target: task.Target,
		},
		Timing: lifecycle.Timing{CreatedAt: task.CreatedAt},
	}
	into.Events = append(into.Events, e)
	into.Payloads = append(into.Payloads, payload(key, headers, line.Body, task, o.at, bodyLimit))
	return nil
}

func payload(key lifecycle.MessageKey, headers map[string][]string, body []byte, task fleet.Task, at lifecycle.Micros, limit int) lifecycle.Payload {
	kept := body[:min(len(body), limit)]
	return lifecycle.Payload{
		Message: key, Headers: headers, Body: kept, Size: task.Size, At: at, Truncated: int64(len(kept)) < task.Size, Hash: task.PayloadHash,
	}
}

// origin is what republish says about a message.
type origin struct {
	stream, subject string
	seq             uint64
	at              lifecycle.Micros
}

// clockLead is how far the clock of the server that stored a message may be ahead of that of the server that captured its line.
const clockLead = time.Minute

// believable errors when the broker cannot have stored what the line speaks of: later than the line itself was captured, in a stream that nobody
// knows, or beyond the end of the stream.
func (o origin) believable(line collectors.Line, streams collectors.Streams, key lifecycle.MessageKey) error {
	if line.At.Known() && o.at > line.At.Add(clockLead) {
		return fmt.Errorf("forged: message %s is said to be stored at %s, after its line was captured", key, o.at.Time().Format(time.RFC3339))
	}
	if streams.Unheard(key) {
		return fmt.Errorf("forged: no stream %s takes tasks or did", key.Stream.Name)
	}
	if last, beyond := streams.Beyond(key); beyond {
		return fmt.Errorf("forged: message %s does not exist: the stream ends at %d", key, last)
	}
	return nil
}

// added are the headers that republish appends. A publisher may have sent headers of the same names; the broker's own are the last.
var added = []string{
	fleet.HeaderNatsStream, fleet.HeaderNatsSubject, fleet.HeaderNatsSequence, fleet.HeaderNatsTimeStamp, fleet.HeaderNatsLastSequence,
}

func readOrigin(headers map[string][]string) (origin, error) {
	o := origin{stream: last(headers, fleet.HeaderNatsStream), subject: last(headers, fleet.HeaderNatsSubject)}
	if o.stream == "" || o.subject == "" {
		return o, errors.New("line was not republished by a stream: Nats-Stream or Nats-Subject is missing")
	}
	seq, err := strconv.ParseUint(last(headers, fleet.HeaderNatsSequence), 10, 64)
	if err != nil {
		return o, fmt.Errorf("read %s: %w", fleet.HeaderNatsSequence, err)
	}
	at, err := time.Parse(time.RFC3339Nano, last(headers, fleet.HeaderNatsTimeStamp))
	if err != nil {
		return o, fmt.Errorf("read %s: %w", fleet.HeaderNatsTimeStamp, err)
	}
	o.seq, o.at = seq, lifecycle.MicrosOf(at)
	return o, nil
}

func last(headers map[string][]string, name string) string {
	if v := headers[name]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

// ownHeaders is what the publisher sent: without what republish added. Only a republish without bodies adds a size.
func ownHeaders(headers map[string][]string, bodyless bool) map[string][]string {
	out := make(map[string][]string, len(headers))
	for name, values := range headers {
		out[name] = values
	}
	names := added
	if bodyless {
		names = append(names[:len(names):len(names)], fleet.HeaderNatsMsgSize)
	}
	for _, name := range names {
		if v := out[name]; len(v) > 1 {
			out[name] = v[:len(v)-1]
		} else {
			delete(out, name)
		}
	}
	return out
}
