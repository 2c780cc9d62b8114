package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"fleetglass/access"
	"fleetglass/fleet"
	"fleetglass/internal/httperr"
	"fleetglass/internal/routes"
	"fleetglass/lifecycle"
)

// ReportsAccepted says what became of reports.
type ReportsAccepted struct {
	Accepted int             `json:"accepted" doc:"Reports of the request." example:"1"`
	New      int             `json:"new" doc:"Of these, reports that were not known before." example:"1"`
	Events   []AcceptedEvent `json:"events" nullable:"false" doc:"In the order of the request."`
}

// AcceptedEvent is a report as it is kept.
type AcceptedEvent struct {
	TaskID string `json:"task_id" example:"blog-post-118"`
	ID     string `json:"id" doc:"The id among the task's events." example:"5f0c2b1a9d8e7f60"`
	Kind   string `json:"kind" example:"checkpoint"`
}

const reportsDetail = "For runtimes without NATS: a CloudEvents 1.0 event in structured or binary form, or a batch of at most 1,000. All of a " +
	"request are stored, or none. A report that is sent again, with the same source, id and time, changes nothing; one that says something else under them is kept as another report, " +
	"whatever the Idempotency-Key; with the same key it gets the reply of the first. A report without a time, or with one that is ahead of this " +
	"server's clock, gets the time of its arrival, so it counts again when it is sent again. A token that is bound to agents reports for these only: another agent in a report is answered 403, with the place that names it, and " +
	"nothing of the request is stored. What a token reports that is bound to none stands in its name (reported_by of the event)."

// maxReports bounds a batch.
const maxReports = 1000

// ReportsInput declares the headers of the call. Its body is read in the handler, because it has several forms.
type ReportsInput struct {
	IdempotencyKey  string `header:"Idempotency-Key" doc:"Optional: the events' own ids make the call idempotent. Another report under the same key is refused."`
	XIdempotencyKey string `header:"X-Idempotency-Key" doc:"Not read here: it is the task's own key, and the same in all its reports."`
	ContentType     string `header:"Content-Type" hidden:"true"`
}

type reportsReply struct {
	Status int
	Body   ReportsAccepted
}

func (a *API) describeReports() {
	register(a, call{
		id: "post-reports", does: routes.Deed{Action: "report"}, needs: access.Report, method: http.MethodPost, path: Base + "/reports", tag: "reports", summary: "Report about tasks",
		status: http.StatusAccepted, keys: keyReport, detail: reportsDetail, example: exampleAccepted(), body: reportsBody(),
		failures: []httperr.Code{httperr.InvalidBody, httperr.InvalidReport, httperr.Forbidden, httperr.BodyTooLarge, httperr.UnsupportedMediaType},
	}, a.postReports)
}

// reportsBody documents the forms of the body.
func reportsBody() *huma.RequestBody {
	event := &huma.Schema{
		Type: huma.TypeObject, Required: []string{"specversion", "id", "source", "type", "subject"},
		Properties: map[string]*huma.Schema{
			"specversion": {Type: huma.TypeString, Enum: []any{"1.0"}},
			"id":          {Type: huma.TypeString, Description: "Unique within the source."},
			"source":      {Type: huma.TypeString, Format: "uri-reference"},
			"type":        {Type: huma.TypeString, Description: "fleet.lifecycle.<kind>.v1", Examples: []any{"fleet.lifecycle.checkpoint.v1"}},
			"subject":     {Type: huma.TypeString, Description: "The task id."},
			"time":        {Type: huma.TypeString, Format: "date-time"},
			"data":        {Type: huma.TypeObject, Description: "The lease fields and what the kind adds."},
		},
	}
	example := exampleReportEvent()
	return &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
		cloudEvent:         {Schema: event, Example: example},
		cloudEventBatch:    {Schema: &huma.Schema{Type: huma.TypeArray, Items: event}, Example: []any{example}},
		"application/json": {Schema: &huma.Schema{OneOf: []*huma.Schema{event, {Type: huma.TypeArray, Items: event}}}, Example: example},
	}}
}

// Media types of CloudEvents in structured JSON form.
const (
	cloudEvent      = "application/cloudevents+json"
	cloudEventBatch = "application/cloudevents-batch+json"
)

func (a *API) postReports(ctx context.Context, in *ReportsInput) (*reportsReply, error) {
	r := requestOf(ctx)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, readProblem(err)
	}
	reports, err := splitReports(r.Header, in.ContentType, body)
	if err != nil {
		return nil, err
	}
	out := &reportsReply{Status: http.StatusAccepted, Body: ReportsAccepted{Accepted: len(reports), Events: []AcceptedEvent{}}}
	var batch lifecycle.Batch
	if batch.Events, err = a.decodeReports(ctx, reports); err != nil {
		return nil, err
	}
	for _, e := range batch.Events {
		out.Body.Events = append(out.Body.Events, AcceptedEvent{TaskID: e.TaskID, ID: e.ID.String(), Kind: string(e.Kind)})
	}
	done, err := a.cfg.Appender.Append(ctx, batch)
	if err != nil {
		return nil, err
	}
	out.Body.New = done.New
	return out, nil
}

// decodeReports reads all reports of a request. It errors with each that cannot be read, or that its sender may not make; the second goes into
// the audit.
func (a *API) decodeReports(ctx context.Context, reports []rawReport) ([]lifecycle.Event, error) {
	var events []lifecycle.Event
	who := access.From(ctx)
	invalid, foreign := httperr.New(httperr.InvalidReport, nil), httperr.New(httperr.Forbidden, nil)
	for _, report := range reports {
		e, err := a.cfg.Fleet.DecodeReport(report.json, who)
		var refused *fleet.ForeignReport
		switch {
		case errors.As(err, &refused):
			foreign.WithField(report.pointer+refused.Field, refused.Error())
		case err != nil:
			invalid.WithField(report.pointer, strings.TrimSpace(err.Error()))
		default:
			events = append(events, e)
		}
	}
	if len(foreign.Errors) > 0 {
		why := fmt.Errorf("%s: %s; it is bound to %s", foreign.Errors[0].Pointer, foreign.Errors[0].Detail, strings.Join(who.Agents, ", "))
		if a.cfg.Denied != nil {
			a.cfg.Denied(requestOf(ctx), "report", why)
		}
		return nil, foreign.WithDetail("This token may report for %s only. Nothing of the request was stored.", strings.Join(who.Agents, ", "))
	}
	if len(invalid.Errors) > 0 {
		return nil, invalid
	}
	return events, nil
}

// readProblem tells a body that is too large from one that did not arrive.
func readProblem(err error) error {
	if p := httperr.From(err); p.Code != httperr.Internal {
		return p
	}
	return httperr.New(httperr.RequestTimeout, err)
}

// rawReport is one report of a request and the place where it stood.
type rawReport struct {
	json    []byte
	pointer string
}

// splitReports tells the forms of CloudEvents over HTTP apart: binary, structured, and batched.
func splitReports(header http.Header, contentType string, body []byte) ([]rawReport, error) {
	mediaType, _, err := mime.ParseMediaType(contentType)
	if contentType == "" {
		mediaType, err = "application/json", nil
	}
	if err != nil {
		return nil, httperr.New(httperr.UnsupportedMediaType, err)
	}
	if header.Get("Ce-Id") != "" {
		return []rawReport{{binaryReport(header, mediaType, body), "/body"}}, nil
	}
	switch mediaType {
	case cloudEvent, cloudEventBatch, "application/json":
	default:
		return nil, httperr.New(httperr.UnsupportedMediaType, nil).WithDetail("Send %s, %s or application/json.", cloudEvent, cloudEventBatch)
	}
	if !utf8.Valid(body) {
		return nil, httperr.New(httperr.InvalidBody, errNotText).WithDetail("The body is not UTF-8.").WithField("/body", "not UTF-8")
	}
	text := bytes.TrimLeft(body, " \t\r\n")
	switch {
	case len(text) > 0 && text[0] == '[':
		return splitBatch(body)
	case len(text) == 0 || text[0] != '{' || !json.Valid(body):
		return nil, httperr.New(httperr.InvalidBody, nil).WithDetail("The body is neither a CloudEvent as a JSON object nor an array of them.").WithField("/body", "not a JSON object")
	}
	return []rawReport{{body, "/body"}}, nil
}

func splitBatch(body []byte) ([]rawReport, error) {
	var parts []json.RawMessage
	if err := json.Unmarshal(body, &parts); err != nil {
		return nil, httperr.New(httperr.InvalidBody, err).WithDetail("The batch is not a JSON array.").WithField("/body", "not a JSON array")
	}
	if len(parts) > maxReports {
		return nil, httperr.New(httperr.InvalidBody, nil).WithDetail("A batch holds at most %d reports.", maxReports)
	}
	out := make([]rawReport, len(parts))
	for i, part := range parts {
		out[i] = rawReport{part, "/body/" + strconv.Itoa(i)}
		if part[0] != '{' {
			return nil, httperr.New(httperr.InvalidReport, nil).WithField(out[i].pointer, "not a JSON object")
		}
	}
	return out, nil
}

// binaryReport writes an event whose attributes are headers in structured form.
func binaryReport(header http.Header, mediaType string, body []byte) []byte {
	event := map[string]any{"datacontenttype": mediaType}
	for name, values := range header {
		if attribute, ok := strings.CutPrefix(strings.ToLower(name), "ce-"); ok {
			event[attribute] = values[0]
		}
	}
	switch {
	case len(body) == 0:
	case json.Valid(body):
		event["data"] = json.RawMessage(body)
	default:
		event["data_base64"] = body
	}
	out, _ := json.Marshal(event) // Texts, bytes and valid JSON can always be written.
	return out
}
