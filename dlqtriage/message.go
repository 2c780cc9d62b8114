package dlqtriage

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"fleetglass/fleet"
)

// Message is what a retry publishes.
type Message struct {
	Subject string            `json:"subject"`
	Headers map[string]string `json:"headers"`
	Payload []byte            `json:"payload"`
}

// MessageID is its Nats-Msg-Id.
func (m Message) MessageID() string { return m.Headers[fleet.HeaderMsgID] }

// outgoing are the headers that Fleetglass sets on what it publishes.
var outgoing = []string{
	fleet.HeaderMsgID, fleet.HeaderTaskID, fleet.HeaderIdempotencyKey, fleet.HeaderRetryOf, fleet.HeaderRetryGeneration, fleet.HeaderTriageAction,
	fleet.HeaderTargetModel, fleet.HeaderModifications,
}

// LockedHeaders lists the headers that Fleetglass sets on what it publishes; no edit changes them.
func LockedHeaders() []string { return slices.Clone(outgoing) }

// ours reports whether Fleetglass sets the header.
func ours(name string) bool {
	return slices.ContainsFunc(outgoing, func(h string) bool { return strings.EqualFold(h, name) }) || strings.HasPrefix(strings.ToLower(name), "x-dlq-")
}

// retry is what is decided about a message that is published again.
type retry struct {
	agent         string
	model         string
	modifications []Modification
	payload       []byte // In place of the message's own; nil for that one.
	headers       map[string]string
	unchanged     bool
	action        string // The id of the action.
}

// message builds what is published, and says what differs from the message that died. The generation follows the highest that is known of
// the task, and so does the version where the payload changes: the same key with another payload must be refused (API.md).
func (k *Known) message(c fleet.Contract, r retry) (Message, []Difference, error) {
	payload, diff, err := k.rewrite(r)
	if err != nil {
		return Message{}, nil, err
	}
	generation := k.generations() + 1
	m := Message{Subject: k.subject(c, r.agent), Headers: k.headers(r), Payload: payload}
	m.Headers[fleet.HeaderMsgID] = fleet.RetryMsgID(k.firstMessageID(), generation)
	m.Headers[fleet.HeaderTaskID] = k.Entry.TaskID
	m.Headers[fleet.HeaderRetryOf] = k.Entry.Key.String()
	m.Headers[fleet.HeaderRetryGeneration] = strconv.Itoa(generation)
	m.Headers[fleet.HeaderTriageAction] = r.action
	if key := k.idempotencyKey(len(diff) > 0); key != "" {
		m.Headers[fleet.HeaderIdempotencyKey] = key
	}
	if r.model != "" {
		m.Headers[fleet.HeaderTargetModel] = r.model
	}
	if len(r.modifications) > 0 {
		text, err := json.Marshal(r.modifications)
		if err != nil {
			return Message{}, nil, err
		}
		m.Headers[fleet.HeaderModifications] = string(text)
	}
	return m, diff, nil
}

// rewrite is the payload as it is published, and how it differs. A payload that is no JSON object stays as it is: the headers say the rest.
func (k *Known) rewrite(r retry) ([]byte, []Difference, error) {
	before := k.Payload.Body
	if r.unchanged {
		return before, []Difference{}, nil
	}
	payload := before
	if r.payload != nil {
		payload = r.payload
	}
	change := Rewrite{Model: r.model, Modifications: r.modifications}
	if r.agent != k.Entry.Agent {
		change.Agent = r.agent
	}
	after, _, err := ModifyPayload(payload, change)
	if err == nil && len(DiffPayload(before, after)) > 0 {
		change.Version = k.version() + 1
		after, _, err = ModifyPayload(payload, change)
	}
	if errors.Is(err, ErrNotAnObject) {
		after, err = payload, nil
	}
	return after, DiffPayload(before, after), err
}

// subject is where the message is published: that of the message that died, unless another agent takes it.
func (k *Known) subject(c fleet.Contract, agent string) string {
	if agent == k.Entry.Agent && k.Entry.Subject != "" {
		return k.Entry.Subject
	}
	taskType := k.Entry.Type
	if _, fromSubject, ok := c.ParseTaskSubject(k.Entry.Subject); ok {
		taskType = fromSubject
	}
	return c.TaskSubject(agent, taskType)
}

// headers are those of the message that died, without what the broker or Fleetglass adds, and with the sender's edits.
func (k *Known) headers(r retry) map[string]string {
	out := map[string]string{}
	for name, values := range k.Payload.Headers {
		if len(values) > 0 && !strings.HasPrefix(strings.ToLower(name), "nats-") && !ours(name) {
			out[name] = values[0]
		}
	}
	for name, value := range r.headers {
		for there := range out {
			if strings.EqualFold(there, name) {
				delete(out, there)
			}
		}
		if value != "" {
			out[name] = value
		}
	}
	return out
}

// generations is the highest generation that is known of the task.
func (k *Known) generations() int {
	highest := k.Entry.Generation
	for _, m := range k.Record.Messages {
		highest = max(highest, m.Generation())
	}
	return highest
}

// firstMessageID is the message id of the task's first message, or what stands for it.
func (k *Known) firstMessageID() string {
	id, lowest := k.Entry.MessageID, k.Entry.Generation
	for _, m := range k.Record.Messages {
		if m.Stored != nil && m.Stored.MsgID != "" && (id == "" || m.Generation() < lowest) {
			id, lowest = m.Stored.MsgID, m.Generation()
		}
	}
	if id == "" {
		return k.Entry.TaskID
	}
	return id
}

// idempotencyKey is <task id>-<version>: that of the message that died, or that of the next version where the payload changed.
func (k *Known) idempotencyKey(changed bool) string {
	if changed {
		return fleet.IdempotencyKey(k.Entry.TaskID, strconv.FormatInt(k.version()+1, 10))
	}
	return fleet.HeaderValue(k.Payload.Headers, fleet.HeaderIdempotencyKey)
}

// version is the highest version that a message of the task is known to have, at least 1.
func (k *Known) version() int64 {
	highest := versionOf(k.Entry.TaskID, fleet.ReadTask(k.Payload.Headers, k.Payload.Body, k.Entry.Key).IdempotencyKey)
	for _, m := range k.Record.Messages {
		if m.Stored != nil {
			highest = max(highest, versionOf(k.Entry.TaskID, m.Stored.IdempotencyKey))
		}
	}
	return max(highest, 1)
}

func versionOf(taskID, key string) int64 {
	digits, _ := strings.CutPrefix(key, taskID+"-")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || digits == key {
		return 0
	}
	return n
}
