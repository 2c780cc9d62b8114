package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
)

// Payload is the body of a stored message, with its headers.
type Payload struct {
	TaskID       string              `json:"task_id" example:"blog-post-118"`
	Stream       string              `json:"stream" example:"TASKS"`
	Seq          Sequence            `json:"seq" example:"1042"`
	PublishedAt  Instant             `json:"published_at"`
	Headers      map[string][]string `json:"headers" doc:"Untrusted."`
	SizeBytes    int64               `json:"size_bytes" doc:"Of the whole body." example:"512"`
	Truncated    bool                `json:"truncated" doc:"Only the beginning of the body is kept."`
	Body         string              `json:"body" doc:"Untrusted."`
	BodyEncoding string              `json:"body_encoding" enum:"utf-8,base64" doc:"base64 when the body is not text."`
	AsOf         Instant             `json:"as_of"`
}

const payloadDetail = "The newest message, or the one that stream and seq name. The answer is JSON. Where Accept prefers application/octet-stream it " +
	"is the bytes themselves, as a download."

// PayloadQuery is the query of the payload call.
type PayloadQuery struct {
	TaskPathInput
	Accept string `header:"Accept" hidden:"true"`
	Stream string `query:"stream" doc:"Stream of the message; with seq."`
	Seq    string `query:"seq" doc:"Sequence of the message; with stream."`
}

const octets = "application/octet-stream"

// shapePayload documents the download beside the JSON.
func shapePayload(op *huma.Operation) {
	op.Responses["200"].Content[octets] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
}

// payloadReply writes either form; its headers keep browsers from doing anything with the bytes but saving them.
type payloadReply struct {
	Status       int
	ContentType  string `header:"Content-Type"`
	Disposition  string `header:"Content-Disposition"`
	NoSniff      string `header:"X-Content-Type-Options"`
	Policy       string `header:"Content-Security-Policy"`
	CacheControl string `header:"Cache-Control"`
	Vary         string `header:"Vary"`
	Truncated    string `header:"X-Truncated"`
	Body         any
}

func (a *API) getPayload(ctx context.Context, in *PayloadQuery) (*payloadReply, error) {
	record, _, err := a.cfg.Query.Task(ctx, in.TaskID)
	if err != nil {
		return nil, err
	}
	key, err := in.message(record)
	if err != nil {
		return nil, err
	}
	p, err := a.cfg.Query.Payload(ctx, key)
	if err != nil {
		return nil, err
	}
	out := &payloadReply{
		Status: http.StatusOK, NoSniff: "nosniff", Policy: "default-src 'none'; sandbox", CacheControl: "private, no-cache", Vary: "Accept",
	}
	if prefers(in.Accept, octets, "application/json") {
		out.ContentType, out.Body = octets, p.Body
		out.Disposition = `attachment; filename="payload-` + strconv.FormatUint(key.Seq, 10) + `.bin"`
		if p.Truncated {
			out.Truncated = "true"
		}
		return out, nil
	}
	out.ContentType, out.Body = "application/json", a.payloadOf(in.TaskID, p)
	return out, nil
}

// message finds which message of the task is asked for.
func (q *PayloadQuery) message(r lifecycle.TaskRecord) (lifecycle.MessageKey, error) {
	if q.Stream == "" && q.Seq == "" {
		if r.Summary.Message.IsZero() {
			return lifecycle.MessageKey{}, httperr.New(httperr.NotFound, nil).WithDetail("No stored message of this task is known.")
		}
		return r.Summary.Message, nil
	}
	key, err := lifecycle.ParseMessageKey(q.Stream + ":" + q.Seq)
	if err != nil {
		return key, &lifecycle.FilterError{Parameter: "seq", Detail: "must name a message together with stream"}
	}
	for _, m := range r.Messages {
		if m.Key == key {
			return key, nil
		}
	}
	return key, httperr.New(httperr.NotFound, nil).WithDetail("The task has no such message.")
}

func (a *API) payloadOf(taskID string, p lifecycle.Payload) Payload {
	out := Payload{
		TaskID: taskID, Stream: p.Message.Stream.String(), Seq: Sequence(p.Message.Seq), PublishedAt: Instant(p.At), Headers: p.Headers,
		SizeBytes: p.Size, Truncated: p.Truncated, AsOf: Instant(a.now()),
	}
	if out.Headers == nil {
		out.Headers = map[string][]string{}
	}
	out.Body, out.BodyEncoding = bytesAsText(p.Body)
	return out
}
