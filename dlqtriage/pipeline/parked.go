package pipeline

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// Headers of a parked message, beside those of the message that will be published.
const (
	headerEffect = "X-Retry-Effect"
	headerClaim  = "X-Retry-Claim" // The token of the claim that is handed over.
	headerDue    = "X-Retry-Due"   // RFC 3339.
	headerWillID = "X-Retry-Message-ID"
)

// headerStatus is by what the client knows the broker's own word in a message without a body: who reads RETRY would not be given it, or would be told that the
// consumer is gone.
const headerStatus = "Status"

// parked is what a parked message says.
type parked struct {
	effect string
	action string
	token  uint64
	due    lifecycle.Micros
}

// park writes the message that waits in RETRY. It has everything that will be published, for people; only the effect counts.
func park(c fleet.Contract, e decision.Claimed, d dlqtriage.Delivery, again bool) (*nats.Msg, error) {
	agent, taskType, ok := c.ParseTaskSubject(d.Message.Subject)
	if !ok {
		return nil, fmt.Errorf("%q is not the subject of a task", d.Message.Subject)
	}
	m := nats.NewMsg(c.RetrySubject(agent, taskType))
	m.Data = d.Message.Payload
	for name, value := range d.Message.Headers {
		if !strings.EqualFold(name, headerStatus) {
			m.Header.Set(name, value)
		}
	}
	m.Header.Set(headerWillID, d.Message.MessageID())
	m.Header.Set(fleet.HeaderMsgID, parkedID(e, again))
	m.Header.Set(fleet.HeaderTriageAction, e.Action)
	m.Header.Set(headerEffect, e.ID)
	m.Header.Set(headerClaim, strconv.FormatUint(e.Token, 10))
	m.Header.Set(headerDue, d.DueAt.Time().Format(time.RFC3339Nano))
	return m, nil
}

// parkedID is the message id: one for each effect, so that a relay that dies after it parked parks nothing more. Where the message did not
// come in time it is taken for lost, and the claim makes another id.
func parkedID(e decision.Claimed, again bool) string {
	if again {
		return "retry:" + e.ID + ":" + strconv.FormatUint(e.Token, 10)
	}
	return "retry:" + e.ID
}

// readParked reads what park wrote. It is false for a message that somebody else put there.
func readParked(h nats.Header) (p parked, ok bool) {
	token, err := strconv.ParseUint(h.Get(headerClaim), 10, 64)
	due, dueErr := time.Parse(time.RFC3339Nano, h.Get(headerDue))
	p = parked{effect: h.Get(headerEffect), action: h.Get(fleet.HeaderTriageAction), token: token, due: lifecycle.MicrosOf(due)}
	return p, err == nil && dueErr == nil && token > 0 && p.effect != ""
}
