package monitor

import (
	"cmp"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"fleetglass/dlqtriage"
	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// MsgID is the message id of the entry of a message, dlq:<stream>:<seq>. A stream that was created anew has its epoch in it, because its sequences
// begin again.
func MsgID(k lifecycle.MessageKey) string {
	stream := lifecycle.StreamID{Name: k.Stream.Name, Epoch: k.Stream.Epoch}
	return "dlq:" + lifecycle.MessageKey{Stream: stream, Seq: k.Seq}.String()
}

// nobody stands in the subject of an entry whose agent is not known.
const nobody = "unknown"

// subject is where the entry is published.
func (m *Monitor) subject(c corpse, v dlqtriage.Verdict) string {
	agent := cmp.Or(c.entry.Agent, nobody)
	if !fleet.ValidToken(agent) {
		agent = nobody
	}
	return m.cfg.Contract.DLQSubject(agent, string(v.Category))
}

// message is the entry: the original body, the original headers without those that speak to the broker, and what is known of the death.
func (m *Monitor) message(c corpse, o found, v dlqtriage.Verdict) *nats.Msg {
	msg := nats.NewMsg(m.subject(c, v))
	msg.Data = o.body
	for name, values := range maps.All(o.headers) {
		if !strings.HasPrefix(strings.ToLower(name), "nats-") && !strings.HasPrefix(strings.ToLower(name), strings.ToLower(fleet.HeaderDLQPrefix)) {
			msg.Header[name] = values
		}
	}
	msg.Header[fleet.HeaderMsgID] = []string{MsgID(c.key)}
	e := c.entry
	for name, value := range map[string]string{
		fleet.HeaderDLQStream: c.key.Stream.Name, fleet.HeaderDLQSeq: strconv.FormatUint(c.key.Seq, 10), fleet.HeaderDLQConsumer: c.facts.Consumer,
		fleet.HeaderDLQSubject: cmp.Or(e.Subject, o.subject), fleet.HeaderDLQPath: string(pathOf(e, v)), fleet.HeaderDLQCategory: string(v.Category),
		fleet.HeaderDLQDetail: v.Detail, fleet.HeaderDLQReason: oneLine(reasonOf(c)), fleet.HeaderDLQDeliveries: strconv.Itoa(e.Deliveries),
		fleet.HeaderDLQFailedAt: e.FailedAt.Time().Format(time.RFC3339Nano), fleet.HeaderDLQMsgID: cmp.Or(e.MessageID, nats.Header(o.headers).Get(fleet.HeaderMsgID)), fleet.HeaderDLQWhyMissing: o.missing,
	} {
		if value != "" {
			msg.Header[name] = []string{value}
		}
	}
	if c.asked != nil {
		msg.Header[fleet.HeaderTriageAction] = []string{c.asked.action}
	}
	return msg
}

// pathOf is the path of the entry once it is known why it died.
func pathOf(e dlqtriage.Entry, v dlqtriage.Verdict) dlqtriage.Path {
	if e.Path == dlqtriage.PathTerminated && v.Detail == dlqtriage.DetailContextOverflow {
		return dlqtriage.PathContextOverflow
	}
	return e.Path
}

// reasonOf is why it died.
func reasonOf(c corpse) string {
	if c.asked != nil {
		return "quarantined in flight by " + c.asked.effect.Actor + ": " + c.asked.effect.Reason
	}
	return c.entry.Reason
}

// oneLine makes a text fit for a header, which ends with its line.
func oneLine(text string) string {
	return strings.TrimSpace(strings.NewReplacer("\r\n", " ⏎ ", "\n", " ⏎ ", "\r", " ⏎ ").Replace(text))
}
