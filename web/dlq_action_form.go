package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"fleetglass/dlqtriage"
	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
	"fleetglass/views"
)

// maxActionForm bounds the body of an action's form, in bytes: an edited body takes up to three times its size.
const maxActionForm = 4 * maxEdited

// readAction reads the form of an action: what was typed, and what that asks for.
func (w *Web) readAction(c *gin.Context) (views.ActionTyped, dlqtriage.Request, error) {
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, maxActionForm)
	if err := c.Request.ParseForm(); err != nil {
		return views.ActionTyped{}, dlqtriage.Request{}, httperr.New(httperr.InvalidBody, err)
	}
	form := c.Request.PostForm
	revision, err := strconv.ParseUint(form.Get("revision"), 10, 64)
	if err != nil {
		return views.ActionTyped{}, dlqtriage.Request{}, httperr.New(httperr.InvalidBody, err).WithDetail("The form names no revision. Open the page of the entry again.")
	}
	typed := typedAction(form)
	return typed, dlqtriage.Request{
		Entry: rest(c, "/dlq/"), Action: typed.Kind, Reason: typed.Reason, Params: actionParams(typed, w.now()), Revision: &revision, Key: form.Get("key"),
		Actor: actor(c),
	}, nil
}

func typedAction(form url.Values) views.ActionTyped {
	return views.ActionTyped{
		Kind: dlqtriage.ActionKind(form.Get("action")), Reason: typedText(form.Get("reason")), As: dlqtriage.RetryAs(form.Get("as")), Payload: typedText(form.Get("payload")),
		Headers: typedText(form.Get("headers")), Model: form.Get("model"), Agent: form.Get("agent"), Wait: form.Get("wait"), Because: form.Get("because"), Class: form.Get("class"),
		Force: form.Get("force") != "", ForceReason: form.Get("force_reason"), List: form.Get("list"),
	}
}

// typedText takes back what browsers do to the ends of lines.
func typedText(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// actionParams are the parameters that the action takes; what else was typed does not count.
func actionParams(t views.ActionTyped, now lifecycle.Micros) dlqtriage.Params {
	switch t.Kind {
	case dlqtriage.ActionRetry:
		return retryParams(t)
	case dlqtriage.ActionReassign:
		p := retryParams(t)
		p.Agent = t.Agent
		return p
	case dlqtriage.ActionDefer:
		if t.Wait == views.WaitHuman {
			return dlqtriage.Params{To: dlqtriage.ToHuman}
		}
		return dlqtriage.Params{Until: deferredUntil(t.Wait, now)}
	case dlqtriage.ActionDiscard:
		return dlqtriage.Params{Because: t.Because}
	case dlqtriage.ActionReclassify:
		category, detail, _ := strings.Cut(t.Class, "/")
		return dlqtriage.Params{Category: dlqtriage.Category(category), Detail: detail}
	}
	return dlqtriage.Params{}
}

func retryParams(t views.ActionTyped) dlqtriage.Params {
	p := dlqtriage.Params{As: t.As, Force: t.Force}
	if t.Force {
		p.ForceReason = t.ForceReason
	}
	if t.As == dlqtriage.AsEdited {
		p.Payload, _ = json.Marshal(t.Payload) // A text can be written, and stands for itself.
		p.Headers, p.Model = typedHeaders(t.Headers), t.Model
	}
	return p
}

// typedHeaders reads a header from each line. A line without a colon has a name that no header can have, so that it is refused, not lost.
func typedHeaders(text string) map[string]string {
	var out map[string]string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		name, value, found := strings.Cut(line, ":")
		if !found {
			name = line + ":"
		}
		out[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return out
}

// brokenJSON says where an edited body is not JSON; empty where it is, where nothing was edited, or where the original is not JSON either.
func brokenJSON(original []byte, t views.ActionTyped) string {
	var syntax *json.SyntaxError
	var v any
	if t.As != dlqtriage.AsEdited || !json.Valid(original) || !errors.As(json.Unmarshal([]byte(t.Payload), &v), &syntax) {
		return ""
	}
	read := t.Payload[:max(0, int(syntax.Offset)-1)]
	line := strings.LastIndex(read, "\n") + 1
	return fmt.Sprintf("Line %d, character %d: %s", strings.Count(read, "\n")+1, utf8.RuneCountInString(read[line:])+1, syntax.Error())
}
