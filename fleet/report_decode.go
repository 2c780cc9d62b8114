package fleet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"fleetglass/lifecycle"
)

// ReportOrigin is where a report came from. What the report says itself comes first where it says it.
type ReportOrigin struct {
	Source string           // Required. Capture stream, or another name for the way that it came.
	Seq    uint64           // Sequence in the capture stream; zero for none.
	At     lifecycle.Micros // Required. When it arrived: the time of a report that carries none.
	Agent  string           // The agent as the subject names it; empty when nothing names it.
	Agents []string         // The only agents that its sender may report for; empty for any.
	By     string           // Who sent it, where nothing proves that to be the agent; empty where the way that it came does.
	Raw    []byte           // The line, kept with each event; empty keeps the report's own bytes.
}

const (
	reportTypePrefix = "fleet.lifecycle."
	reportTypeSuffix = ".v1"
	maxReports       = 1000     // In one batch.
	maxReportRaw     = 64 << 10 // Bytes of a report that are kept.
)

// reportKinds are the kinds by their name in the type of a report (SPEC 1).
var reportKinds = map[string]lifecycle.Kind{
	"ingress_acked": lifecycle.ReportIngressAcked, "claimed": lifecycle.ReportClaimed, "accepted": lifecycle.ReportAccepted,
	"heartbeat": lifecycle.ReportHeartbeat, "step_intent": lifecycle.ReportStepIntent, "step_receipt": lifecycle.ReportStepReceipt,
	"checkpoint": lifecycle.ReportCheckpoint, "completed": lifecycle.ReportCompleted, "failed": lifecycle.ReportFailed,
	"duplicate_caught": lifecycle.ReportDuplicateCaught, "publish_duplicate": lifecycle.ReportPublishDuplicate,
	"outbound_intent": lifecycle.ReportOutboundIntent, "outbound_sent": lifecycle.ReportOutboundSent,
}

// DecodeReports reads a CloudEvents 1.0 event in JSON, or an array of them, and appends what they say to events. It is strict about what CloudEvents requires and about
// type and subject, which say the kind and the task, and lenient about data: fields that are missing, unknown or of another type than
// expected are left out. A report that speaks for an agent for which its sender may not errors with [*ForeignReport]. A time after the arrival cannot be, and counts as the arrival. It errors when any report of an array cannot be
// read, and then appends none. The same report, sent twice or by two ways, gives the same event when it carries a time; two that differ under one id give two.
func DecodeReports(events []lifecycle.Event, body []byte, from ReportOrigin) ([]lifecycle.Event, error) {
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	if len(trimmed) == 0 || trimmed[0] != '[' {
		e, err := decodeReport(body, from)
		if err != nil {
			return events, err
		}
		return append(events, e), nil
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(body, &parts); err != nil {
		return events, fmt.Errorf("decode batch of reports: %w", err)
	}
	if len(parts) > maxReports {
		return events, fmt.Errorf("decode batch of reports: %d are more than %d", len(parts), maxReports)
	}
	all := events
	for i, part := range parts {
		e, err := decodeReport(part, from)
		if err != nil {
			return events, fmt.Errorf("report %d of %d: %w", i+1, len(parts), err)
		}
		all = append(all, e)
	}
	return all, nil
}

func decodeReport(body []byte, from ReportOrigin) (lifecycle.Event, error) {
	ce, err := readCloudEvent(body)
	if err != nil {
		return lifecycle.Event{}, fmt.Errorf("decode CloudEvent: %w", err)
	}
	if err := ce.Validate(); err != nil {
		lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
		slices.Sort(lines) // The library says them in a random order.
		return lifecycle.Event{}, fmt.Errorf("decode CloudEvent: %s", strings.Join(lines, "; "))
	}
	if ce.SpecVersion() != event.CloudEventsVersionV1 {
		return lifecycle.Event{}, fmt.Errorf("decode CloudEvent: specversion %q, want %s", ce.SpecVersion(), event.CloudEventsVersionV1)
	}
	kind, ok := reportKinds[strings.TrimSuffix(strings.TrimPrefix(ce.Type(), reportTypePrefix), reportTypeSuffix)]
	if !ok || !strings.HasPrefix(ce.Type(), reportTypePrefix) || !strings.HasSuffix(ce.Type(), reportTypeSuffix) {
		return lifecycle.Event{}, fmt.Errorf("type %q is not %s<kind>%s of a known kind", oneLine(ce.Type(), maxTextRunes), reportTypePrefix, reportTypeSuffix)
	}
	task := cleanID(ce.Subject())
	if task == "" {
		return lifecycle.Event{}, fmt.Errorf("report %q has no subject: it names the task", oneLine(ce.ID(), maxTextRunes))
	}
	e := lifecycle.Event{
		At: firstKnown(lifecycle.MicrosOf(ce.Time()), from.At), Kind: kind,
		Provenance: lifecycle.Reported, Source: from.Source, SourceSeq: from.Seq, TaskID: task, Agent: from.Agent, Raw: from.Raw,
	}
	if len(e.Raw) == 0 {
		e.Raw = bytes.Clone(body[:min(len(body), maxReportRaw)])
	}
	fields := readFields(make(reportData, 0, 24), ce.Data())
	if err := nameAgent(&e, from.Agents, claimedAgents(ce, fields)); err != nil {
		return lifecycle.Event{}, err
	}
	readReportData(&e, ce, fields)
	e.ID = reportID(ce, &e, from)
	e.Detail.ReportedBy = from.By
	if kind == lifecycle.ReportCompleted {
		e.Detail.HeardAt = from.At
	}
	if from.At.Known() {
		e.At = min(e.At, from.At)
	}
	return e, nil
}

// readCloudEvent is json.Unmarshal without its second walk over the body. The event's own method reads it; that the body is JSON to its
// end is not said there.
func readCloudEvent(body []byte) (ce event.Event, err error) {
	if !json.Valid(body) {
		return ce, json.Unmarshal(body, &ce)
	}
	return ce, ce.UnmarshalJSON(body)
}

// readReportData fills what the data of a report says (SPEC 1, report kinds).
func readReportData(e *lifecycle.Event, ce event.Event, d reportData) {
	e.Attempt = int(d.count("attempt", maxRetryNum))
	e.Detail = lifecycle.Detail{
		Naming: lifecycle.Naming{MsgID: d.id("message_id"), IdempotencyKey: d.id("idempotency_key")},
		Ending: lifecycle.Ending{Reason: firstNonEmpty(d.text("reason"), d.text("error"))},
		LeaseReport: lifecycle.LeaseReport{
			LeaseOwner: d.id("lease_owner"), LeaseVersion: uint64(d.count("lease_version", maxExact)),
			LeaseExpiresAt: d.instant("lease_expires_at"),
		},
		StepReport: lifecycle.StepReport{
			StepID: d.id("step_id"), StepClass: d.text("step_class"), Tool: d.text("tool"),
			InputHash: inputHash(e.Kind, d),
		},
		OutcomeReport: lifecycle.OutcomeReport{
			Status: d.text("status"), ResultRef: d.text("result_ref"), RecordsWait: d.milliseconds("records_ms", lifecycle.MaxRecordsWait),
		},
		ModelUse: lifecycle.ModelUse{
			Model: d.text("model"), InputTokens: d.count("input_tokens", maxExact), OutputTokens: d.count("output_tokens", maxExact),
			CostUSD: d.number("cost_usd"),
		},
	}
	if !ce.Time().IsZero() {
		return
	}
	switch e.Kind { // The report has no time of its own; its data may say when.
	case lifecycle.ReportHeartbeat:
		e.At = firstKnown(d.instant("heartbeat_at"), e.At)
	case lifecycle.ReportCompleted:
		e.At = firstKnown(d.instant("completed_at"), e.At)
	}
}

// inputHash is the hash of the input that the report speaks of: a step's own, in reports of steps and outgoing messages, else the message's. Steps of one message may
// have the message's input or not.
func inputHash(k lifecycle.Kind, d reportData) string {
	switch k {
	case lifecycle.ReportStepIntent, lifecycle.ReportStepReceipt, lifecycle.ReportOutboundIntent, lifecycle.ReportOutboundSent:
		return d.id("canonical_input_hash")
	}
	return firstNonEmpty(d.id("canonical_input_hash"), d.id("input_hash"))
}

// agentOfSource reads the form that [Reporter] writes: /agents/<agent>.
func agentOfSource(source string) string {
	agent, ok := strings.CutPrefix(source, "/agents/")
	if !ok || !ValidToken(agent) {
		return ""
	}
	return cleanID(agent)
}

// maxExact is the largest count that is believed: beyond it numbers are not exact in JSON readers.
const maxExact = 1 << 53

// reportData reads fields whose type cannot be relied on.
type reportData []reportField

type reportField struct{ name, value []byte }

// readFields appends the fields of an object to d. Data that is none has no fields; the bytes stay in Raw.
func readFields(d reportData, data []byte) reportData {
	s := scanner{rest: data}
	s.object(func(name []byte, v *scanner) { d = append(d, reportField{name, v.rest}) })
	return d
}

// scalar is the text of a string or number; empty for anything else. Of several fields of one name the last counts.
func (d reportData) scalar(name string) string {
	for _, f := range slices.Backward(d) {
		if string(f.name) == name {
			s := scanner{rest: f.value}
			text, _ := s.scalar()
			return text
		}
	}
	return ""
}

func (d reportData) id(name string) string                { return cleanID(d.scalar(name)) }
func (d reportData) text(name string) string              { return oneLine(d.scalar(name), 4*maxTextRunes) }
func (d reportData) instant(name string) lifecycle.Micros { return ParseInstant(d.scalar(name)) }

// count is a whole number from 0 to limit; 0 for anything else.
func (d reportData) count(name string, limit int64) int64 {
	digits := d.scalar(name)
	if digits == "" {
		return 0
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > limit {
		return 0
	}
	return n
}

// milliseconds is a span of up to the limit that a number tells in milliseconds; 0 for anything else.
func (d reportData) milliseconds(name string, limit time.Duration) time.Duration {
	if ns := d.number(name) * float64(time.Millisecond); ns <= float64(limit) {
		return time.Duration(ns)
	}
	return 0
}

// number is a finite number that is not negative; 0 for anything else.
func (d reportData) number(name string) float64 {
	digits := d.scalar(name)
	if digits == "" {
		return 0
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil || !(f >= 0 && f <= 1e15) {
		return 0
	}
	return f
}
