package deadletters

import (
	"strings"

	"fleetglass/collectors"
	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// BodyLimit is how much of the body of an entry is kept, bytes.
const BodyLimit = 8 << 20

// Decode turns an entry into a DeadLettered event about the message that died, and keeps the entry's own body and headers as a payload under the
// entry's own key, so that nobody can replace what is stored of another message. An entry that does not say which message it is about, or
// names one that the stream does not have, stands for itself. Lines on other subjects are ignored. It errors where the place of the message
// cannot be a broker's.
func Decode(line collectors.Line, streams collectors.Streams, into *lifecycle.Batch) error {
	place, ok := strings.CutPrefix(line.Subject, streams.Contract.Prefix+".dlq.")
	if !ok {
		return nil
	}
	own, err := streams.Message("", line.Source.Name, line.At, line.Seq)
	if err != nil {
		return err
	}
	c, err := readClaim(line)
	if err != nil {
		return err
	}
	about, err := c.about(own, line, streams)
	if err != nil {
		return err
	}
	agent, category, _ := strings.Cut(place, ".")
	e := c.event(line, about)
	of, taskType, _ := streams.Contract.ParseTaskSubject(c.subject)
	e.Agent, e.Detail.Type = firstText(of, agent), taskType
	e.Detail.Entry, e.Detail.Category = own.String(), firstText(c.category, category)
	into.Events = append(into.Events, e)
	into.Payloads = append(into.Payloads, payloadOf(own, line))
	return nil
}

// about is the message that the entry speaks of.
func (c claim) about(own lifecycle.MessageKey, line collectors.Line, streams collectors.Streams) (lifecycle.MessageKey, error) {
	if c.stream == "" || c.seq == 0 {
		return own, nil
	}
	at := line.At
	if c.failedAt.Known() {
		at = c.failedAt
	}
	key, err := streams.Message("", c.stream, at, c.seq)
	if err != nil {
		return key, err
	}
	if _, beyond := streams.Beyond(key); beyond {
		return own, nil
	}
	return key, nil
}

func (c claim) event(line collectors.Line, about lifecycle.MessageKey) lifecycle.Event {
	e := line.Event(lifecycle.DeadLettered)
	e.Message, e.TaskID, e.Consumer = about, c.taskID, c.consumer
	e.Detail = lifecycle.Detail{
		Naming: lifecycle.Naming{MsgID: c.msgID, Subject: c.subject},
		Ending: lifecycle.Ending{Reason: c.reason},
		DeadLetter: lifecycle.DeadLetter{
			Path: c.path, CategoryDetail: c.detail, Deliveries: c.deliveries, FailedAt: c.failedAt, OfTask: c.taskID,
		},
	}
	e.Raw = line.Raw()
	return e
}

func payloadOf(own lifecycle.MessageKey, line collectors.Line) lifecycle.Payload {
	kept := line.Body[:min(len(line.Body), BodyLimit)]
	return lifecycle.Payload{
		Message: own, Headers: line.Headers, Body: kept, Size: int64(len(line.Body)), At: line.At, Truncated: len(kept) < len(line.Body),
		Hash: fleet.Fingerprint(line.Body),
	}
}

func firstText(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
