package dlqtriage

import (
	"bytes"
	"encoding/json"
	"net/textproto"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"fleetglass/decision"
	"fleetglass/fleet"
	"fleetglass/lifecycle"
	"fleetglass/masking"
)

// Request asks for an action on one entry.
type Request struct {
	Entry    string         // Required. Its id.
	Action   ActionKind     // Required.
	Reason   string         // Required. 3 to 2,000 characters.
	Params   Params         //
	Actor    decision.Actor // Required.
	Key      string         // Required. Names the request: given again, with the same key, it is answered with what was decided the first time.
	Revision *uint64        // Optional. The revision of the entry that the actor saw; another one is refused as changed.
	Undoes   string         // Optional. The id of the action that is taken back; the request is refused as changed where it is not the last one.
}

// Params are the parameters of an action. Which of them count is the action's matter (API.md); what the action does not know must be absent.
type Params struct {
	As            RetryAs           `json:"as,omitempty"`
	Payload       json.RawMessage   `json:"payload,omitempty"` // With edited: in place of the payload.
	Headers       map[string]string `json:"headers,omitempty"` // With edited: beside the headers; an empty value takes one away.
	Modifications []Modification    `json:"modifications,omitempty"`
	Model         string            `json:"model,omitempty"`
	DelayMS       *int64            `json:"delay_ms,omitempty"`
	Force         bool              `json:"force,omitempty"` // In spite of what could be accepted; see [ObstacleCode.Forcible].
	ForceReason   string            `json:"force_reason,omitempty"`

	Agent    string           `json:"agent,omitempty"`
	Until    lifecycle.Micros `json:"until,omitempty"`
	To       string           `json:"to,omitempty"`
	Because  string           `json:"because,omitempty"`
	Category Category         `json:"category,omitempty"`
	Detail   string           `json:"detail,omitempty"`
}

// payload is what is published in place of the payload; nil where nothing is. A JSON text stands for itself, because not every payload is JSON.
func (p Params) payload() []byte {
	var text *string
	switch err := json.Unmarshal(p.Payload, &text); {
	case err != nil:
		return p.Payload
	case text == nil:
		return nil
	}
	return []byte(*text)
}

// Bounds of what a request says.
const (
	minReason = 3
	maxReason = 2000
	maxDelay  = 7 * 24 * time.Hour // Of a retry.
	maxEdited = 1 << 20            // Bytes of a payload.
)

// check reports all that is wrong with the request itself, whatever the entry.
func (r Request) check(p *Policy, now lifecycle.Micros) error {
	return together(checkAction(r.Action), checkReason(r.Reason), r.checkParams(p, now))
}

func checkReason(reason string) error {
	if n := utf8.RuneCountInString(strings.TrimSpace(reason)); n < minReason || n > maxReason {
		return refusePart(RefusedReason, "/reason", "An action needs a reason of 3 to 2,000 characters.")
	}
	return nil
}

func checkAction(a ActionKind) error {
	if a.Known() {
		return nil
	}
	return refusePart(RefusedAction, "/action", "There is no such action on a dead letter. Choose retry, reassign, defer, discard, quarantine, reclassify or reopen.")
}

func (r Request) checkParams(p *Policy, now lifecycle.Micros) error {
	switch r.Action {
	case ActionRetry:
		return r.Params.checkRetry(false, p)
	case ActionReassign:
		return r.Params.checkRetry(true, p)
	case ActionDefer:
		return r.Params.checkDefer(now)
	case ActionDiscard:
		if b := r.Params.Because; b != "" && b != BecauseObsolete && b != BecauseDuplicate && b != BecauseOther {
			return refuseParameter("because", "must be obsolete, duplicate or other")
		}
	case ActionReclassify:
		return r.Params.checkClass()
	}
	return nil
}

// masked names the parameter that holds what a page or an answer showed in the place of something hidden; empty for none.
func (p Params) masked() string {
	if bytes.Contains(p.payload(), []byte(masking.Placeholder)) {
		return "payload"
	}
	for _, value := range p.Headers {
		if strings.Contains(value, masking.Placeholder) {
			return "headers"
		}
	}
	return ""
}

func (p Params) checkRetry(reassign bool, policy *Policy) error {
	return together(
		p.checkAs(), p.checkAgent(reassign, policy),
		refuseIf(p.DelayMS != nil && (*p.DelayMS < 0 || *p.DelayMS > maxDelay.Milliseconds()), "delay_ms", "must be from 0 to 604,800,000, which is 7 days"),
		refuseIf(p.Force && utf8.RuneCountInString(strings.TrimSpace(p.ForceReason)) < minReason, "force_reason", "is needed with force: why you force it, in 3 characters or more"),
		refuseIf(len(p.Payload) > maxEdited, "payload", "is larger than 1 MiB"),
		p.checkHeaders(),
		refuseIf(slices.ContainsFunc(p.Modifications, func(m Modification) bool { return m.Type == "" }), "modifications", "each needs a type"),
	)
}

func (p Params) checkAs() error {
	switch {
	case p.As != "" && p.As != AsPlan && p.As != AsUnchanged && p.As != AsEdited:
		return refuseParameter("as", "must be plan, unchanged or edited")
	case p.As != AsEdited && (p.Payload != nil || p.Headers != nil || p.Modifications != nil):
		return refuseParameter("as", "must be edited where payload, headers or modifications are given")
	case p.As == AsEdited && p.masked() != "":
		return refuseParameter(p.masked(), "holds "+masking.Placeholder+", which stands for what is hidden: write the value itself, or retry with modifications, which keep the real one")
	}
	return nil
}

func (p Params) checkAgent(reassign bool, policy *Policy) error {
	switch {
	case reassign && p.Agent == "":
		return refusePart(RefusedAgent, "/params/agent", "Name the agent to reassign it to.")
	case p.Agent != "" && (!policy.KnowsAgent(p.Agent) || !fleet.ValidToken(p.Agent)):
		return refusePart(RefusedAgent, "/params/agent", "The triage policy has no agent of this name; GET /api/v1/triage/policy lists them.")
	}
	return nil
}

// checkHeaders refuses headers that are the broker's, or that say what Fleetglass itself says.
func (p Params) checkHeaders() error {
	for name, value := range p.Headers {
		switch lower := strings.ToLower(name); {
		case name == "" || strings.ContainsAny(name, ": \r\n\t") || strings.ContainsAny(value, "\r\n"):
			return refuseParameter("headers", "a name may hold no blank or colon, and a value no line break")
		case strings.HasPrefix(lower, "nats-") || ours(name):
			return refuseParameter("headers", textproto.CanonicalMIMEHeaderKey(name)+" is not yours to set: Fleetglass or the broker sets it")
		}
	}
	return nil
}

func (p Params) checkDefer(now lifecycle.Micros) error {
	return together(refuseIf(p.To != "" && p.To != ToHuman, "to", "must be human"), p.checkUntil(now))
}

func (p Params) checkUntil(now lifecycle.Micros) error {
	switch {
	case (p.To == "") == !p.Until.Known():
		return refuseParameter("until", "give either a time, or to: human")
	case p.Until.Known() && p.Until <= now:
		return refuseParameter("until", "must be in the future")
	}
	return nil
}

func (p Params) checkClass() error {
	if !p.Category.Known() {
		return refuseParameter("category", "must be transient, conditionally_recoverable, permanent or unclassified")
	}
	if row, known := DetailNamed(p.Detail); p.Detail != "" && known && row.Category != p.Category {
		return refuseParameter("detail", p.Detail+" belongs to "+string(row.Category))
	}
	return nil
}
