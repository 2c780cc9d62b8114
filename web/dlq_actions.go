package web

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"fleetglass/access"
	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

// maxEdited is the largest body that can be edited on a page, in bytes.
const maxEdited = 256 << 10

// actionPanel is what can be done about the entry; nil where this server acts on none.
func (w *Web) actionPanel(ctx context.Context, d query.EntryDetail) *views.ActionPanel {
	if w.cfg.Actions == nil {
		return nil
	}
	out := &views.ActionPanel{Off: w.mayNot(ctx, access.TriagePropose)}
	if d.Status == dlqtriage.StatusActing {
		out.Off = "An action on it has not ended. Load the page again to see how far it is."
		return out
	}
	for _, kind := range dlqtriage.ActionKinds() {
		if kind.AppliesTo(d.Status) {
			out.Forms = append(out.Forms, w.actionForm(ctx, d, untyped(kind, d)))
		}
	}
	return out
}

// untyped is what a form holds before anybody typed.
func untyped(kind dlqtriage.ActionKind, d query.EntryDetail) views.ActionTyped {
	out := views.ActionTyped{Kind: kind}
	switch kind {
	case dlqtriage.ActionRetry, dlqtriage.ActionReassign:
		out.As = dlqtriage.AsPlan
		if d.Payload != nil && uneditable(d) == "" {
			out.Payload = string(d.Payload.Body)
		}
		out.Agent = d.Plan.TargetAgent
	case dlqtriage.ActionDefer:
		out.Wait = views.WaitHour
	case dlqtriage.ActionDiscard:
		out.Because = dlqtriage.BecauseObsolete
	case dlqtriage.ActionReclassify:
		out.Class = string(d.Category) + "/" + d.Detail
	}
	return out
}

func (w *Web) actionForm(ctx context.Context, d query.EntryDetail, typed views.ActionTyped) views.ActionForm {
	out := views.ActionForm{
		Href: entryAddress(d.ID), Revision: d.Revision, Typed: typed, Uneditable: uneditable(d), Off: w.mayNot(ctx, access.TriagePropose) != "",
	}
	for _, a := range w.cfg.Actions.Policy().Agents {
		out.Agents = append(out.Agents, a.Name)
	}
	return out
}

// uneditable says why a body cannot be edited in a text area, which keeps neither bytes that are no text nor carriage returns.
func uneditable(d query.EntryDetail) string {
	switch {
	case d.Payload == nil || d.Payload.Truncated:
		return "The body cannot be edited here: no whole copy of it is kept."
	case len(d.Payload.Body) > maxEdited:
		return "The body is too large to be edited here; the API takes it."
	case !utf8.Valid(d.Payload.Body) || strings.ContainsFunc(string(d.Payload.Body), lostInForms):
		return "The body is not plain text, so it cannot be edited here; the API takes it."
	}
	return ""
}

func lostInForms(r rune) bool { return r < ' ' && r != '\n' && r != '\t' }

// mayNot says why the reader may not do what needs the scope; empty where the reader may.
func (w *Web) mayNot(ctx context.Context, needs access.Scope) string {
	err := w.cfg.Access.Authorize(access.From(ctx), needs)
	switch {
	case err == nil:
		return ""
	case errors.Is(err, access.ErrReadOnly):
		return "This server is in read-only mode: nothing can be done here."
	}
	return "You may not do this: it needs the scope " + string(needs) + "."
}

// actionNeeds is the scope of an action itself, as the API asks for it.
func actionNeeds(kind dlqtriage.ActionKind) access.Scope {
	if kind == dlqtriage.ActionDiscard {
		return access.TriageDiscard
	}
	return access.TriageApply
}

// deferredUntil is when a deferral of the form ends; zero where a person decides.
func deferredUntil(wait string, now lifecycle.Micros) lifecycle.Micros {
	switch wait {
	case views.WaitHour:
		return now.Add(time.Hour)
	case views.WaitDay:
		return now.Add(24 * time.Hour)
	}
	return 0
}
