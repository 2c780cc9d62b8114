package web

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"fleetglass/access"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
	"fleetglass/reveal"
	"fleetglass/views"
)

// maxBody is how much of a payload a page shows, in bytes.
const maxBody = 64 << 10

// payloadTab shows the body of one of the task's messages, the newest one unless the address names another.
func (w *Web) payloadTab(ctx context.Context, v *taskView) (views.PayloadView, error) {
	out := views.PayloadView{Missing: "No stored message of this task is known."}
	key := v.trace.Record.Summary.Message
	if k, err := lifecycle.ParseMessageKey(v.query.Get("message")); err == nil {
		key = k
	}
	messages := v.trace.Record.Messages
	if len(messages) > 1 {
		out.Messages = v.messageTabs(key)
	}
	at := slices.IndexFunc(messages, func(m lifecycle.MessageFacts) bool { return m.Key == key })
	if at < 0 {
		return out, nil
	}
	out.Key = views.Printable(key.String())
	body, err := w.cfg.Query.Payload(ctx, key)
	if errors.Is(err, lifecycle.ErrNotFound) {
		out.Missing = "The body was never seen, or is no longer kept."
		return out, nil
	}
	if err != nil {
		return out, err
	}
	if stored := messages[at].Stored; stored != nil {
		out.Hash = stored.PayloadHash
	}
	fillPayload(&out, body)
	if who := access.From(ctx); w.cfg.Mask != nil && w.cfg.Reveal.May(who) {
		out.Reveal = &views.RevealForm{Message: key.String(), Task: v.id, Least: reveal.MinReason, Most: reveal.MaxReason}
	}
	return out, nil
}

// messageTabs are links to the payloads of all messages of the task.
func (v *taskView) messageTabs(current lifecycle.MessageKey) []views.Tab {
	var out []views.Tab
	for i, m := range v.trace.Record.Messages {
		href := v.address(url.Values{"message": {m.Key.String()}})
		out = append(out, views.Tab{Href: href, Label: fmt.Sprintf("Message %d", i+1), Current: m.Key == current})
	}
	return out
}

func fillPayload(out *views.PayloadView, body lifecycle.Payload) {
	out.Missing, out.At, out.Size, out.Truncated = "", body.At, max(body.Size, int64(len(body.Body))), body.Truncated
	out.Raw = "/payload?message=" + url.QueryEscape(body.Message.String())
	out.Body, out.More = views.PrettyJSON(body.Body, maxBody)
	out.Shown = min(int64(maxBody), int64(len(body.Body)))
	for _, name := range slices.Sorted(maps.Keys(body.Headers)) {
		for _, value := range body.Headers[name] {
			out.Headers = append(out.Headers, views.Header{Name: name, Value: value})
		}
	}
}

// payload is a body as it was captured, as plain text that no browser will run.
func (w *Web) payload(c *gin.Context) error {
	key, err := lifecycle.ParseMessageKey(c.Query("message"))
	if err != nil {
		return &lifecycle.FilterError{Parameter: "message", Detail: "is not <stream>:<sequence>"}
	}
	p, err := w.cfg.Query.Payload(c.Request.Context(), key)
	if err != nil {
		return err
	}
	h := c.Writer.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'")
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Content-Disposition", "inline; filename=payload.txt")
	c.Data(http.StatusOK, "text/plain; charset=utf-8", p.Body)
	return nil
}

// idempotencyTab is what is known about doing the task once.
func (w *Web) idempotencyTab(v *taskView) views.IdempotencyView {
	f := v.trace.Record.Facts
	out := views.IdempotencyView{Completion: f.Completion, Cases: lifecycle.Ledger(&f), Recorded: recordWords(f, w.health()), GoneAt: f.RecordGoneAt(), Others: map[string]string{}}
	for _, s := range f.Shared {
		out.Others[s.Task] = lifecycle.PageOfTask(s.Task)
	}
	var first string
	for _, m := range v.trace.Record.Messages {
		if m.Stored == nil {
			continue
		}
		row := views.KeyRow{Message: m.Key, Key: m.Stored.IdempotencyKey, Hash: m.Stored.PayloadHash, Generation: m.Stored.Generation}
		switch {
		case first == "":
			first = row.Hash
		case row.Hash == first:
			row.Same = "same payload as the first"
		default:
			row.Same, row.Tone = "another payload than the first", "warn"
		}
		out.Keys = append(out.Keys, row)
	}
	for _, id := range slices.Sorted(maps.Keys(f.Publishes)) {
		p := f.Publishes[id]
		row := views.PublishRow{MsgID: id, Attempts: len(p.Attempts()), Refused: p.Refused(), Unclear: p.Unclear(), Owner: p.Owner, Stored: len(p.Stored), Caught: len(p.Caught()), At: p.FirstAt()}
		if p.Owner != "" {
			row.OwnerHref = lifecycle.PageOfTask(p.Owner)
		}
		out.Publishes = append(out.Publishes, row)
	}
	return out
}

// recordWords says why a task may have no completion record here.
func recordWords(f lifecycle.TaskFacts, parts []health.Part) string {
	if len(f.Erased) > 0 {
		return "One was deleted or has expired, and was not read before."
	}
	for _, p := range parts {
		if strings.Contains(p.Name, "idempotency") && p.State != health.NotConfigured {
			return "The idempotency store was read. It has no record of this task."
		}
	}
	return "Fleetglass does not read the idempotency store here. Only what agents report is known."
}

// relatedTab is what stands in connection with the task.
func (w *Web) relatedTab(ctx context.Context, v *taskView) (views.RelatedView, error) {
	s := v.trace.Summary
	out := views.RelatedView{Agent: s.Agent}
	for _, m := range v.trace.Messages {
		row := views.RelatedMessage{Key: m.Facts.Key, State: m.Verdict.State, Rule: m.Verdict.Rule}
		if st := m.Facts.Stored; st != nil {
			row.Subject, row.RetryOf, row.Generation, row.At = st.Subject, st.RetryOf, st.Generation, st.At
			if out.Trace == "" {
				out.Trace = st.TraceParent
			}
		}
		href, err := w.taskOf(ctx, row.RetryOf)
		if err != nil {
			return out, err
		}
		row.RetryHref = href
		out.Messages = append(out.Messages, row)
	}
	if s.Agent == "" {
		return out, nil
	}
	near, err := w.cfg.Query.Neighbours(ctx, s, relatedRows)
	if err != nil {
		return out, err
	}
	out.NearHref, out.Nearby = address("/tasks", near.Filter.Values()), rows(near.Rows, v.snapshot)
	return out, nil
}

// taskOf is the page of the task that a message belongs to, empty when it is not known.
func (w *Web) taskOf(ctx context.Context, message string) (string, error) {
	key, err := lifecycle.ParseMessageKey(message)
	if err != nil {
		return "", nil // No message is named.
	}
	id, err := w.cfg.Query.TaskOf(ctx, key)
	if errors.Is(err, lifecycle.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return lifecycle.PageOfTask(id), nil
}

// maxJSON is how much of the API's answer a page shows, in bytes.
const maxJSON = 256 << 10

// jsonTab is what the API says about the task.
func (w *Web) jsonTab(ctx context.Context, v *taskView) (views.JSONView, error) {
	out := views.JSONView{Href: "/api/v1/tasks/" + url.PathEscape(v.id), Why: "Open it to read the answer."}
	if w.cfg.TaskJSON == nil {
		return out, nil
	}
	text, err := w.cfg.TaskJSON(ctx, v.id)
	if err != nil {
		return out, err
	}
	out.Text, out.More = views.PrettyJSON(text, maxJSON)
	return out, nil
}
