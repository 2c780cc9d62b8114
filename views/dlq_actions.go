package views

import (
	"cmp"
	"strings"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// EntryActions is the panel of a message that died: a form for each action that applies to it. off says why the reader can do nothing; it is empty
// where something can be done.
func EntryActions(off Denial, forms []ActionForm) *ActionPanel {
	out := &ActionPanel{Off: off}
	for _, f := range forms {
		out.Actions = append(out.Actions, OfferedAction{
			ID: "act-" + f.name(), Icon: f.icon(), Name: f.title(), Means: f.means(), Apart: f.Typed.Kind == dlqtriage.ActionDiscard, Form: actionForm(f),
		})
	}
	return out
}

// ActionForm is the form of one action. It leads to a preview; nothing is done before that.
type ActionForm struct {
	Href       string // Where it is sent to.
	Revision   uint64 // Of the entry as it is shown.
	Typed      ActionTyped
	Agents     []string // Who can be chosen.
	Models     []string // Likewise.
	Uneditable string   // Why the payload cannot be edited here; empty where it can.
	Locked     []Param  // Headers that Fleetglass sets itself, with what they are now.
	Off        bool     // The reader may not even preview.
	Wrong      string   // Why it was refused; empty where it was not.
	Against    string   // Why it is not what to do first; empty where nothing speaks against it.

	Preflight *dlqtriage.Preflight // Whether the body fits as it is now; nil where nobody looked.
}

// ActionTyped is what the fields of the form hold, as texts.
type ActionTyped struct {
	Kind        dlqtriage.ActionKind
	Reason      string
	As          dlqtriage.RetryAs
	Payload     string
	Headers     string // Of a retry that is edited: a line for each header to change.
	Model       string // Likewise; empty for the model as it was.
	Agent       string
	Wait        string // Of defer: one of the Wait constants.
	Because     string
	Class       string // Of reclassify: category and detail with a slash between.
	Force       bool
	ForceReason string
	List        string // The query of the list beside which the entry stands, to come back there; empty on its own page.
}

// How long an entry is deferred.
const (
	WaitHuman = "human" // Until a person decides.
	WaitHour  = "1h"
	WaitDay   = "1d"
)

// ActionPage shows one action on one entry before it is taken, or after it was refused.
type ActionPage struct {
	dlqtriage.Entry
	Href     string // Of the entry.
	Back     string // Where the reader came from: the entry, or the list with the entry beside it.
	Form     ActionForm
	Original MessageText        // The message that died.
	Key      string             // Names the request, so that it acts once.
	Preview  *dlqtriage.Preview // Nil where the request itself is wrong.
	May      Denial             // Why the reader may only preview; empty where the reader may act.
	Until    lifecycle.Micros   // Of defer for a time.
	Broken   string             // Where an edited body is not JSON although the original is; empty where it is.
}

// params are the fields that were typed, for the hidden fields of the form that acts.
func (t ActionTyped) params() []Param {
	force := ""
	if t.Force {
		force = "on"
	}
	var out []Param
	for _, p := range []Param{
		{Name: "action", Value: string(t.Kind)}, {Name: "reason", Value: t.Reason}, {Name: "as", Value: string(t.As)}, {Name: "payload", Value: t.Payload},
		{Name: "headers", Value: t.Headers}, {Name: "model", Value: t.Model}, {Name: "agent", Value: t.Agent}, {Name: "wait", Value: t.Wait}, {Name: "because", Value: t.Because}, {Name: "class", Value: t.Class},
		{Name: "force", Value: force}, {Name: "force_reason", Value: t.ForceReason}, {Name: "list", Value: t.List},
	} {
		if p.Value != "" {
			out = append(out, p)
		}
	}
	return out
}

// ActionIcon is the icon of an action.
func ActionIcon(k dlqtriage.ActionKind) string {
	switch k {
	case dlqtriage.ActionRetry:
		return "retried"
	case dlqtriage.ActionReassign:
		return "reassigned"
	case dlqtriage.ActionDefer:
		return "deferred"
	case dlqtriage.ActionDiscard:
		return "discarded"
	case dlqtriage.ActionQuarantine:
		return "quarantined"
	case dlqtriage.ActionReclassify:
		return "book"
	}
	return "undo"
}

// actionMeans is what an action does, in one sentence.
func actionMeans(k dlqtriage.ActionKind) string {
	switch k {
	case dlqtriage.ActionRetry:
		return "Publish the message again."
	case dlqtriage.ActionReassign:
		return "Publish the message again for another agent."
	case dlqtriage.ActionDefer:
		return "Let it wait."
	case dlqtriage.ActionDiscard:
		return "Close it without doing anything. It can be opened again."
	case dlqtriage.ActionQuarantine:
		return "Keep it apart until somebody opens it again."
	case dlqtriage.ActionReclassify:
		return "Say why it died."
	}
	return "Take back what was decided: it is open again."
}

// ActionName is the name of an action as a button shows it.
func ActionName(k dlqtriage.ActionKind) string {
	if k == "" {
		return "Action"
	}
	return strings.ToUpper(string(k[:1])) + string(k[1:])
}

// changesWords say what an action changes that publishes nothing.
func changesWords(t ActionTyped) string {
	switch t.Kind {
	case dlqtriage.ActionDefer:
		if t.Wait == WaitHuman {
			return "It waits until a person decides."
		}
		return "It waits, and is open again then."
	case dlqtriage.ActionReclassify:
		category, detail, _ := strings.Cut(t.Class, "/")
		return "It counts as " + strings.ReplaceAll(cmp.Or(detail, category), "_", " ") + "."
	}
	return actionMeans(t.Kind)
}

// preflightTone is the colour of a verdict.
func preflightTone(v dlqtriage.PreflightVerdict) string {
	switch v {
	case dlqtriage.PreflightRefuse:
		return "bad"
	case dlqtriage.PreflightWarn:
		return "warn"
	}
	return "ok"
}

// edits reports whether the form is that of a retry whose message is edited first.
func (f ActionForm) edits() bool { return f.Typed.edits() }

func (t ActionTyped) edits() bool {
	return t.Kind == dlqtriage.ActionRetry && t.As == dlqtriage.AsEdited
}

// name is the name of the form in ids.
func (f ActionForm) name() string {
	if f.edits() {
		return "edit"
	}
	return string(f.Typed.Kind)
}

// title is the name of the form for people.
func (f ActionForm) title() string { return f.Typed.title() }

func (t ActionTyped) title() string {
	if t.edits() {
		return "Edit and retry"
	}
	return ActionName(t.Kind)
}

// means is what the form is for, and what speaks against it.
func (f ActionForm) means() string {
	means := actionMeans(f.Typed.Kind)
	if f.edits() {
		means = "Change the message, then publish it again."
	}
	return strings.TrimSpace(means + " " + f.Against)
}

// icon is the icon of the form.
func (f ActionForm) icon() string {
	if f.edits() {
		return "edit"
	}
	return ActionIcon(f.Typed.Kind)
}

// fieldID is the id of a field in the form of an action.
func (f ActionForm) fieldID(name string) string { return "act-" + f.name() + "-" + name }
