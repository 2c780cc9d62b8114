package web

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"fleetglass/access"
	"fleetglass/dlqtriage"
	"fleetglass/fleet"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

// maxEdited is the largest body that can be edited on a page, in bytes.
const maxEdited = 256 << 10

// panelOrder is the order of the forms. The one of a retry that is edited follows the retry; discard stands apart.
var panelOrder = []dlqtriage.ActionKind{
	dlqtriage.ActionRetry, dlqtriage.ActionReassign, dlqtriage.ActionDefer, dlqtriage.ActionQuarantine, dlqtriage.ActionReclassify, dlqtriage.ActionReopen, dlqtriage.ActionDiscard,
}

// actionPanel is what can be done about the entry; nil where this server acts on none. List is as in [views.ActionTyped].
func (w *Web) actionPanel(ctx context.Context, d query.EntryDetail, list string) *views.ActionPanel {
	if w.cfg.Actions == nil {
		return nil
	}
	off := w.mayNot(ctx, access.TriagePropose)
	if d.Status == dlqtriage.StatusActing {
		return views.EntryActions(views.Denial{Say: "An action on it has not ended. The page shows when it has."}, nil)
	}
	if off.Say != "" {
		return views.EntryActions(off, nil)
	}
	var forms []views.ActionForm
	for _, kind := range panelOrder {
		if !kind.AppliesTo(d.Status) {
			continue
		}
		typed := untyped(kind, d)
		typed.List = list
		forms = append(forms, w.actionForm(ctx, d, typed))
		if kind == dlqtriage.ActionRetry && uneditable(d) == "" {
			typed.As = dlqtriage.AsEdited
			forms = append(forms, w.actionForm(ctx, d, typed))
		}
	}
	advised := d.Plan.Against(dlqtriage.ActionRetry, dlqtriage.AsPlan) == ""
	slices.SortStableFunc(forms, func(a, b views.ActionForm) int { return cmp.Compare(panelRank(a, advised), panelRank(b, advised)) })
	return views.EntryActions(views.Denial{}, forms)
}

// panelRank puts the retries behind the other decisions where none is advised: one that is edited first, then those against which something speaks.
func panelRank(f views.ActionForm, advised bool) int {
	switch k := f.Typed.Kind; {
	case k == dlqtriage.ActionReclassify || k == dlqtriage.ActionReopen || k == dlqtriage.ActionDiscard:
		return 3
	case f.Against != "":
		return 2
	case k == dlqtriage.ActionRetry && !advised:
		return 1
	}
	return 0
}

// taskActions is the panel of the dead letter of a task: of the newest, where several of its messages died; nil where none did.
func (w *Web) taskActions(ctx context.Context, task string) (*views.ActionPanel, error) {
	if w.cfg.Actions == nil {
		return nil, nil
	}
	entries, err := w.cfg.Query.EntriesOf(ctx, task)
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	found, err := w.cfg.Query.Entry(ctx, entries[len(entries)-1].ID)
	if err != nil {
		return nil, err
	}
	out := w.actionPanel(ctx, found, "")
	out.Heading, out.Folded = "Dead letter: what you can do", true
	out.Href, out.Link = entryAddress(found.ID), "Why it died, the plan, and what was done"
	out.Note = views.StatusAndTime(found.Entry)
	return out, nil
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
		Href: entryAddress(d.ID), Revision: d.Revision, Typed: typed, Uneditable: uneditable(d), Off: w.mayNot(ctx, access.TriagePropose).Say != "",
		Against: d.Plan.Against(typed.Kind, typed.As),
	}
	policy := w.cfg.Actions.Policy()
	for _, a := range policy.Agents {
		out.Agents = append(out.Agents, a.Name)
	}
	if typed.As != dlqtriage.AsEdited {
		return out
	}
	for _, m := range policy.Models {
		out.Models = append(out.Models, m.Name)
	}
	out.Locked = locked(d)
	if fits, err := policy.Preflight(dlqtriage.PreflightRequest{Agent: d.Agent, Model: modelOf(d), Payload: typed.Payload}); err == nil {
		out.Preflight = &fits
	}
	return out
}

// modelOf is the model that the payload names; empty for none.
func modelOf(d query.EntryDetail) string {
	var task struct {
		Model string `json:"model"`
	}
	if d.Payload == nil || json.Unmarshal(d.Payload.Body, &task) != nil {
		return ""
	}
	return task.Model
}

// locked are the headers of the message that no edit changes.
func locked(d query.EntryDetail) []views.Param {
	var out []views.Param
	if d.Payload == nil {
		return nil
	}
	for _, name := range dlqtriage.LockedHeaders() {
		if value := fleet.HeaderValue(d.Payload.Headers, name); value != "" {
			out = append(out, views.Param{Name: name, Value: value})
		}
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
func (w *Web) mayNot(ctx context.Context, needs access.Scope) views.Denial {
	who := access.From(ctx)
	err := w.cfg.Access.Authorize(who, needs)
	switch {
	case err == nil:
		return views.Denial{}
	case w.cfg.Access.ReadOnly && needs.Changes(): // Also for who lacks the scope: access would change nothing.
		return views.Denial{Say: "This server is in read-only mode: nothing can be changed here."}
	}
	return views.Denial{Say: "You may not do this: it needs the scope " + string(needs) + ".", Ask: w.accessRequest(who, needs.Carried())}
}

// accessRequest is what to send to whoever gives access.
func (w *Web) accessRequest(who access.Principal, needs access.Scope) string {
	return fmt.Sprintf("Request for access: %s needs the scope %s in Fleetglass%s. Now: %s.", cmp.Or(who.Name, "somebody"), needs, within(w.cfg.Environment), scopeWords(who.Scopes))
}

func within(environment string) string {
	if environment == "" {
		return ""
	}
	return " (" + environment + ")"
}

func scopeWords(scopes []access.Scope) string {
	if len(scopes) == 0 {
		return "no scope"
	}
	var words []string
	for _, s := range scopes {
		words = append(words, string(s))
	}
	return strings.Join(words, ", ")
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
