package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"fleetglass/lifecycle"
	"fleetglass/query"
)

// RecoveryReport is the recovery report as JSON: the trace and the text that people read.
type RecoveryReport struct {
	TaskID         string                `json:"task_id" example:"blog-post-118"`
	AsOf           Instant               `json:"as_of"`
	Trace          Trace                 `json:"trace"`
	Recommendation Maybe[Recommendation] `json:"recommendation" doc:"Null while nothing is recommended."`
	Restarts       []Restart             `json:"restarts" nullable:"false" doc:"Those in which a message of it was in hand, the latest first."`
	Markdown       string                `json:"markdown" doc:"The same as text. Text from the fleet stands in code blocks and is untrusted."`
}

const markdown = "text/markdown"

const reportDetail = "What is known, how far the task got, what is in doubt, what recovery decides with its reasons, and what comes next. Markdown, or JSON where Accept prefers it."

func shapeReport(op *huma.Operation) {
	op.Responses["200"].Content[markdown] = &huma.MediaType{
		Schema: &huma.Schema{Type: huma.TypeString}, Example: "# Task `blog-post-118`\n\nState: **redelivered** (later attempt)\n",
	}
}

// ReportQuery is the query of the report call.
type ReportQuery struct {
	TaskPathInput
	Accept string `header:"Accept" hidden:"true"`
}

type reportReply struct {
	Status       int
	ContentType  string `header:"Content-Type"`
	NoSniff      string `header:"X-Content-Type-Options"`
	CacheControl string `header:"Cache-Control"`
	Vary         string `header:"Vary"`
	Body         any
}

func (a *API) getReport(ctx context.Context, in *ReportQuery) (*reportReply, error) {
	t, err := a.cfg.Query.Trace(ctx, in.TaskID)
	if err != nil {
		return nil, err
	}
	out := &reportReply{Status: http.StatusOK, NoSniff: "nosniff", CacheControl: "no-cache", Vary: "Accept"}
	text := a.cfg.Mask.Text(reportText(t))
	if prefers(in.Accept, "application/json", markdown) {
		out.ContentType = "application/json"
		out.Body = RecoveryReport{TaskID: t.Summary.TaskID, AsOf: Instant(t.AsOf), Trace: traceOf(t), Recommendation: recommendationOf(t.Recovery, t.Summary.TaskID), Restarts: restartsOf(t), Markdown: text}
		return out, nil
	}
	out.ContentType, out.Body = markdown+"; charset=utf-8", []byte(text)
	return out, nil
}

// reportText is the recovery report for people.
func reportText(t query.Trace) string {
	var sections []string
	if t.Recovery != nil {
		sections = append(sections, t.Recovery.Markdown(t.Summary.TaskID, lifecycle.PageOfTask))
	}
	for i := range t.Restarts {
		sections = append(sections, t.Restarts[i].Section(t.Summary.TaskID))
	}
	return lifecycle.Report(t.Trace, sections...)
}

func restartsOf(t query.Trace) []Restart {
	out := []Restart{}
	for i := range t.Restarts {
		out = append(out, restartOf(&t.Restarts[i], t.AsOf))
	}
	return out
}
