package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"fleetglass/lifecycle"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Report is one thing that an agent chooses to say about a task (SPEC 1, report). [DecodeReports] reads it back.
type Report struct {
	Kind   lifecycle.Kind // Required. One of the report kinds.
	TaskID string         // Required.
	At     time.Time      // Optional; default now.
	Data   ReportData
}

// ReportData is the data of a report. All fields are optional; their meaning is that of SPEC 1.
type ReportData struct {
	MessageID          string  `json:"message_id,omitempty"` // Nats-Msg-Id of the message.
	StepID             string  `json:"step_id,omitempty"`
	Attempt            int     `json:"attempt,omitempty"`
	LeaseOwner         string  `json:"lease_owner,omitempty"`
	LeaseVersion       uint64  `json:"lease_version,omitempty"` // The fencing token.
	LeaseExpiresAt     Instant `json:"lease_expires_at,omitzero"`
	HeartbeatAt        Instant `json:"heartbeat_at,omitzero"`
	InputHash          string  `json:"input_hash,omitempty"`
	Status             string  `json:"status,omitempty"` // queued, in_flight, completing, completed, failed, quarantined.
	ResultRef          string  `json:"result_ref,omitempty"`
	CompletedAt        Instant `json:"completed_at,omitzero"`
	Reason             string  `json:"reason,omitempty"`
	Tool               string  `json:"tool,omitempty"`
	StepClass          string  `json:"step_class,omitempty"`
	IdempotencyKey     string  `json:"idempotency_key,omitempty"`
	CanonicalInputHash string  `json:"canonical_input_hash,omitempty"`
	Model              string  `json:"model,omitempty"`
	InputTokens        int64   `json:"input_tokens,omitempty"`
	OutputTokens       int64   `json:"output_tokens,omitempty"`
	CostUSD            float64 `json:"cost_usd,omitempty"`
	RecordsMS          float64 `json:"records_ms,omitempty"` // Milliseconds that the delivery waited for idempotency records: completed, duplicate_caught.
}

// ReporterConfig is what a [Reporter] needs.
type ReporterConfig struct {
	JetStream jetstream.JetStream // Required.
	Contract  Contract            // Required.
	Agent     string              // Required. Who reports.
	Now       func() time.Time    // Optional; default time.Now.
}

// Reporter sends reports. It is safe for concurrent use.
type Reporter struct{ cfg ReporterConfig }

// NewReporter checks the configuration.
func NewReporter(cfg ReporterConfig) (*Reporter, error) {
	if cfg.JetStream == nil || !ValidToken(cfg.Agent) || cfg.Contract.Validate() != nil {
		return nil, errors.New("reporter: JetStream, Contract and a valid Agent are required")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Reporter{cfg}, nil
}

// Report sends one report and waits until it is stored. Its id is derived from what it says, so that sending it again, with the same
// time, is harmless. It errors when the broker does not store it; reports are a courtesy, so callers log that and go on.
func (r *Reporter) Report(ctx context.Context, report Report) error {
	name := reportName(report.Kind)
	if name == "" || report.TaskID == "" {
		return fmt.Errorf("report: kind %q and task %q are required", report.Kind, report.TaskID)
	}
	if report.At.IsZero() {
		report.At = r.cfg.Now()
	}
	body, id, err := r.encode(name, report)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	msg := nats.NewMsg(r.cfg.Contract.ReportSubject(r.cfg.Agent, name))
	msg.Data = body
	msg.Header.Set(HeaderMsgID, id)
	if _, err := r.cfg.JetStream.PublishMsg(ctx, msg); err != nil {
		return fmt.Errorf("report %s: %w", name, err)
	}
	return nil
}

func (r *Reporter) encode(name string, report Report) (body []byte, id string, err error) {
	data, err := json.Marshal(report.Data)
	if err != nil {
		return nil, "", err
	}
	id = Key(r.cfg.Agent, name, report.TaskID, strconv.FormatInt(report.At.UnixMicro(), 10), string(data))
	e := event.New()
	e.SetID(id)
	e.SetSource("/agents/" + r.cfg.Agent)
	e.SetType(reportTypePrefix + name + reportTypeSuffix)
	e.SetSubject(report.TaskID)
	e.SetTime(report.At.UTC())
	if err := e.SetData(event.ApplicationJSON, json.RawMessage(data)); err != nil {
		return nil, "", err
	}
	body, err = json.Marshal(e)
	return body, id, err
}

// reportName is the name of a kind of report on the wire; empty for any other kind.
func reportName(kind lifecycle.Kind) string {
	for name, k := range reportKinds {
		if k == kind {
			return name
		}
	}
	return ""
}
